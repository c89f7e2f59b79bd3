import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { flatMapInSteps } from '../../encoding/steps.ts'
import { isMarked, markOf, unmark } from '../dialect/provider-mark.ts'

const sealedMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['thinking', ['signature']],
  ['signature_delta', ['signature']],
  ['redacted_thinking', ['data']],
  ['compaction', ['encrypted_content', 'signature']],
  ['compaction_delta', ['encrypted_content']],
])

const base64 = /^[\w+/=-]+$/

type Sealed = readonly [member: string, text: string]

const sealedIn = (block: JsonObject): readonly Sealed[] =>
  (sealedMembers.get(block['type']) ?? [])
    .map((member): Sealed => [member, asText(block[member])])
    .filter(([, text]) => base64.test(text) && !isMarked(text))

/** The bytes of a JSON text, with the provider's name before each of the texts: base64, which is written as it is. */
const withMarks = (provider: string, json: Uint8Array, all: readonly Sealed[]): Uint8Array => {
  if (all.length === 0) return json
  const written = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('latin1')
  const marked = all.reduce((text, [member, sealed]) => {
    const place = new RegExp(`("${member}"\\s*:\\s*")${sealed.replaceAll('+', '[+]')}"`, 'g')
    return text.replace(place, `$1${markOf(provider)}${sealed}"`)
  }, written)
  return Buffer.from(marked, 'latin1')
}

export const withEventMarks = (provider: string, { content_block, delta }: JsonObject, raw: Uint8Array): Uint8Array =>
  isObject(content_block) || isObject(delta)
    ? withMarks(provider, raw, [...sealedIn(asObject(content_block)), ...sealedIn(asObject(delta))])
    : raw

export const withAnswerMarks = (provider: string, { content }: JsonObject, raw: Uint8Array): Uint8Array =>
  withMarks(provider, raw, asArray(content).filter(isObject).flatMap(sealedIn))

export const markSignature = (provider: string, signature: string): string => markOf(provider) + signature

export const readCallSignature = (provider: string, signature: unknown): string | null =>
  unmark(provider, asText(signature)) || null

type Content = readonly unknown[]

const opened = (provider: string, block: JsonObject): JsonObject | null => {
  const members = (sealedMembers.get(block['type']) ?? []).filter((member) => typeof block[member] === 'string')
  const texts = members.map((member) => [member, unmark(provider, asText(block[member]))] as const)
  const isOwn = texts.every(([, text]) => text !== null && text !== '')
  return isOwn ? { ...block, ...Object.fromEntries(texts) } : null
}

const openedContent = (provider: string, block: JsonObject): Content => {
  const own = opened(provider, block)
  if (own !== null) return [own]
  const summary = block['type'] === 'compaction' ? asText(block['content']) : ''
  return summary === '' ? [] : [{ type: 'text', text: summary }]
}

/** The provider that searched seals what a citation points to; those that we write have no seal. */
const isUnsealedCitation = (citation: unknown): boolean => {
  const { type, encrypted_index } = asObject(citation)
  return type === 'web_search_result_location' && asText(encrypted_index) === ''
}

const withoutUnsealed = (block: JsonObject): JsonObject => {
  const { citations, ...rest } = block
  const kept = asArray(citations).filter((citation) => !isUnsealedCitation(citation))
  if (kept.length === asArray(citations).length) return block
  return kept.length === 0 ? rest : { ...rest, citations: kept }
}

const ownContent = (provider: string, block: unknown): Content => {
  if (!isObject(block)) return [block]
  if (sealedMembers.has(block['type'])) return openedContent(provider, block)
  if (block['type'] === 'text') return [withoutUnsealed(block)]
  if (block['type'] !== 'tool_use' || block['signature'] === undefined) return [block]
  const { signature: _ofAnotherFormat, ...call } = block
  return [call]
}

const ownMessage = (provider: string, message: unknown): readonly unknown[] => {
  const { content } = asObject(message)
  if (!Array.isArray(content)) return [message]
  const kept = content.flatMap((block) => ownContent(provider, block))
  return kept.length === 0 && content.length > 0 ? [] : [{ ...asObject(message), content: kept }]
}

/** Messages as the provider itself wrote them, without what others thought, and without what we wrote for those. */
export function* ownMessages(provider: string, messages: unknown): Generator<void, unknown> {
  return Array.isArray(messages)
    ? yield* flatMapInSteps(messages, (message: unknown) => ownMessage(provider, message))
    : messages
}
