import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Citation } from '../canonical/reply.ts'
import { groundingItemOf } from './generation.ts'
import type { GroundingUse } from './usage.ts'

type Range = NonNullable<Citation['range']>

const queriesOf = (metadata: JsonObject): readonly string[] =>
  asArray(metadata['webSearchQueries'])
    .map((query) => asText(query).trim())
    .filter((query) => query !== '')

/** A model that was given the tool and did not search answers with empty metadata. */
const hasSearched = (metadata: JsonObject): boolean =>
  queriesOf(metadata).length > 0 ||
  asArray(metadata['groundingChunks']).length > 0 ||
  isObject(metadata['searchEntryPoint'])

/** Google reports UTF-8 offsets; the result is a UTF-16 one. */
const characterAt = (text: string, byte: number): number => {
  const bytes = Buffer.from(text)
  return bytes.length === text.length ? byte : bytes.subarray(0, byte).toString().length
}

const isOnlyAt = (text: string, wanted: string, start: number): boolean =>
  start >= 0 && text.indexOf(wanted, start + 1) < 0

const offsetOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? Math.trunc(value) : 0)

/** A segment's range in the answer's text; its own text decides where the offset does not match it. */
const rangeOf = (text: string, segment: JsonObject): Range | null => {
  const wanted = asText(segment['text'])
  if (wanted === '') return null
  const reported = characterAt(text, offsetOf(segment['startIndex']))
  const start = text.startsWith(wanted, reported) ? reported : text.indexOf(wanted)
  return start === reported || isOnlyAt(text, wanted, start) ? { start, end: start + wanted.length } : null
}

const citationOf = (chunk: unknown, range: Range | null): readonly Citation[] => {
  const { uri, title } = asObject(asObject(chunk)['web'])
  if (asText(uri) === '') return []
  return [{ url: asText(uri), title: asText(title) === '' ? null : asText(title), citedText: null, range }]
}

export const groundingCitations = (metadata: JsonObject, text: string): readonly Citation[] => {
  const chunks = asArray(metadata['groundingChunks'])
  const supports = asArray(metadata['groundingSupports']).map(asObject)
  if (supports.length === 0) return chunks.flatMap((chunk) => citationOf(chunk, null))
  return supports.flatMap((support) => {
    const range = rangeOf(text, asObject(support['segment']))
    return asArray(support['groundingChunkIndices']).flatMap((index) =>
      citationOf(typeof index === 'number' ? chunks[index] : undefined, range),
    )
  })
}

export class GroundingNotes implements GroundingUse {
  readonly #upstreamModel: string
  readonly #queries = new Set<string>()
  #metadata: JsonObject = {}
  #isGrounded = false

  constructor(upstreamModel: string) {
    this.#upstreamModel = upstreamModel
  }

  get isGrounded(): boolean {
    return this.#isGrounded
  }

  /** One for the answer, or one for each query; Google charges a repeated query once, and an empty one not at all. */
  get toolCalls(): GroundingUse['toolCalls'] {
    if (!this.#isGrounded) return {}
    const item = groundingItemOf(this.#upstreamModel)
    const calls = item === 'grounded_prompt' ? 1 : this.#queries.size
    return calls === 0 ? {} : { [item]: calls }
  }

  note(metadata: unknown): void {
    if (!isObject(metadata) || !hasSearched(metadata)) return
    this.#isGrounded = true
    for (const query of queriesOf(metadata)) this.#queries.add(query)
    if (asArray(metadata['groundingChunks']).length > 0) this.#metadata = metadata
  }

  citations(text: string): readonly Citation[] {
    return groundingCitations(this.#metadata, text)
  }
}
