import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asText, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamDialect } from '../dialect/dialect.ts'
import { countTokens } from '../dialect/tokens.ts'

interface EmbeddingInput {
  /** How many vectors are asked for. */
  readonly count: number
  /** Null where token ids are given. */
  readonly texts: readonly string[] | null
  readonly tokenIds: number
}

export const readEmbeddingInput = ({ input }: JsonObject): EmbeddingInput => {
  if (typeof input === 'string') return { count: 1, texts: [input], tokenIds: 0 }
  const all = asArray(input)
  if (typeof all[0] === 'string') return { count: all.length, texts: all.map(asText), tokenIds: 0 }
  if (typeof all[0] === 'number') return { count: 1, texts: null, tokenIds: all.length }
  return { count: all.length, texts: null, tokenIds: all.reduce<number>((sum, ids) => sum + asArray(ids).length, 0) }
}

export const wantsBase64 = ({ body }: Pick<UpstreamCallRequest, 'body'>): boolean =>
  body['encoding_format'] === 'base64'

const floatBytes = 4

/** 32-bit floats, little-endian, as OpenAI's SDKs read them. */
const encodeBase64 = (values: readonly unknown[]): string => {
  const bytes = Buffer.alloc(floatBytes * values.length)
  for (const [index, value] of values.entries()) bytes.writeFloatLE(Number(value), floatBytes * index)
  return bytes.toString('base64')
}

const decodeBase64 = (text: string): readonly number[] => {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / floatBytes) }, (_, index) =>
    bytes.readFloatLE(floatBytes * index),
  )
}

/** `vector`: numbers or base64. Returns it in the format that was asked for. */
export const formatVector = (vector: unknown, base64: boolean): string | readonly unknown[] => {
  if (typeof vector === 'string') return base64 ? vector : decodeBase64(vector)
  return base64 ? encodeBase64(asArray(vector)) : asArray(vector)
}

export const usageOfPrompt = (total: number): Usage => usageOf({ total }, { total: 0 })

const usageOnWire = ({ promptTotal }: Usage): JsonObject => ({ prompt_tokens: promptTotal, total_tokens: promptTotal })

export const encodeEmbeddings = (json: JsonObject, usage: Usage): Uint8Array =>
  Buffer.from(JSON.stringify({ ...json, usage: usageOnWire(usage) }))

function* inLines(texts: readonly string[]): Generator<string, void> {
  for (const [place, text] of texts.entries()) {
    if (place > 0) yield '\n'
    yield text
  }
}

const countUsage = async (_target: Target, request: UpstreamCallRequest): Promise<Usage> => {
  const { texts, tokenIds } = readEmbeddingInput(request.body)
  return usageOfPrompt(texts === null ? tokenIds : await countTokens(inLines(texts), request))
}

export const noText: Delivered = { texts: [], reasoningTexts: [], charactersBeyond: 0, characters: 0 }

/** What all providers of embeddings have in common. The `json` of an answer without usage is the whole of it. */
export const embeddingsDialect = (
  dialect: Pick<UpstreamDialect, 'buildRequest' | 'readAnswer' | 'readRefusal'>,
): UpstreamDialect => ({
  ...dialect,
  completeAnswer: ({ json }: UpstreamAnswer, counted: Usage) => encodeEmbeddings(json, counted),
  openRelay: () => {
    throw new Error('embeddings are answered whole')
  },
  countUsage,
})
