import { asArray, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target } from '../dialect/dialect.ts'
import { isMarked, makerOf, markOf, unmark } from '../dialect/provider-mark.ts'

/** What a model needs back in the next turn, and no other provider may see: an item of reasoning has it, encoded. */
export type SealedReasoning =
  | { readonly type: 'thinking'; readonly text: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'call_signature'; readonly callId: string; readonly signature: string }

/** Of what is opened: ten times the longest thinking, encoded. */
const sealedCharactersMax = 4_000_000

const member = '"encrypted_content"'
const unmarked = /("encrypted_content"\s*:\s*")(?!gw1:|")/g

/** The bytes of a JSON text, with the name of its maker before all that it encrypted. Within a text quotes are escaped. */
export const withMarks = (target: Target, json: Uint8Array): Uint8Array => {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  if (!bytes.includes(member)) return json
  return Buffer.from(bytes.toString('latin1').replace(unmarked, `$1${markOf(makerOf(target))}`), 'latin1')
}

export const sealReasoning = (provider: string, reasoning: SealedReasoning): string =>
  markOf(provider) + Buffer.from(JSON.stringify(reasoning)).toString('base64url')

const isSealed = (value: unknown): value is JsonObject & SealedReasoning => {
  if (!isObject(value)) return false
  const { type, text, signature, data, callId } = value
  if (type === 'thinking') return typeof text === 'string' && typeof signature === 'string'
  if (type === 'redacted_thinking') return typeof data === 'string'
  return type === 'call_signature' && typeof callId === 'string' && typeof signature === 'string'
}

/** Null for another provider's, and for what we did not seal. */
export const openSealedReasoning = (provider: string, content: unknown): SealedReasoning | null => {
  const text = asText(content)
  const sealed = isMarked(text) && text.length <= sealedCharactersMax ? unmark(provider, text) : null
  const value = sealed === null ? null : parseJson(Buffer.from(sealed, 'base64url').toString())
  return isSealed(value) ? value : null
}

/**
 * An input as the provider gets it: what it encrypted itself as it wrote it, and without what others thought. Throws
 * `unsupported_parameter` for another's summary of what went before.
 */
export const withoutMarks = (provider: string, input: unknown): unknown => {
  if (!Array.isArray(input)) return input
  return asArray(input).flatMap((item, index) => {
    if (!isObject(item) || asText(item['encrypted_content']) === '') return [item]
    const content = unmark(provider, asText(item['encrypted_content']))
    if (content !== null) return [{ ...item, encrypted_content: content }]
    if (item['type'] === 'reasoning') return []
    throw unsupported(`input[${index}]`, 'was encrypted by another provider')
  })
}
