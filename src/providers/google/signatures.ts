import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { markOf, unmark } from '../dialect/provider-mark.ts'
import { openSealedReasoning, type SealedReasoning, sealReasoning } from '../openai-responses/sealed-reasoning.ts'

/** A signature is bytes in base64, which SDKs decode: so are ours. */
const encoded = (text: string): string => Buffer.from(text).toString('base64')

/** Of all that begins with a mark, in base64. */
const markedStart = 'Z3cxO'

/** Null for a signature that we did not write. */
const decoded = (signature: string): string | null =>
  signature.startsWith(markedStart) ? Buffer.from(signature, 'base64').toString() : null

/** As the provider needs it back; null where another one made it. */
export const ownSignature = (owner: string, signature: string): string | null => {
  const marked = decoded(signature)
  return marked === null ? signature : unmark(owner, marked)
}

const markPart = (owner: string, part: unknown): unknown => {
  const signature = asText(asObject(part)['thoughtSignature'])
  return signature === '' ? part : { ...asObject(part), thoughtSignature: encoded(markOf(owner) + signature) }
}

const markCandidate = (owner: string, candidate: unknown): unknown => {
  const { content } = asObject(candidate)
  if (!isObject(content) || !Array.isArray(content['parts'])) return candidate
  return {
    ...asObject(candidate),
    content: { ...content, parts: content['parts'].map((each) => markPart(owner, each)) },
  }
}

/** An answer of Google's, or an event of one, with the name of who made it before each signature. */
export const markSignatures = (owner: string, json: JsonObject): JsonObject =>
  Array.isArray(json['candidates'])
    ? { ...json, candidates: json['candidates'].map((candidate) => markCandidate(owner, candidate)) }
    : json

export const mayHaveSignatures = (text: string): boolean => text.includes('"thoughtSignature"')

const separator = ' '
const sealedMax = 64 // A caller's text may have millions of separators.

/** What a model of another format needs back, in the signature of the part after it. */
export const sealInSignature = (owner: string, sealed: readonly SealedReasoning[]): string =>
  encoded(sealed.map((each) => sealReasoning(owner, each)).join(separator))

/** Nothing for what another provider's model thought. */
export const openSignature = (owner: string, signature: unknown): readonly SealedReasoning[] =>
  asArray(decoded(asText(signature))?.split(separator, sealedMax)).flatMap(
    (each) => openSealedReasoning(owner, each) ?? [],
  )
