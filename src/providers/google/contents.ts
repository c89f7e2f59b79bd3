import { isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
import { eachInSteps, mapInSteps } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type {
  ConversationPart,
  ConversationTurn,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { generationOf } from './generation.ts'

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

type CallNames = Map<string, string>

/** Google's placeholder for an unknown signature, such as that of a call that another model made. */
const unknownSignature = 'skip_thought_signature_validator'

/** The media type must be sent with an address, which lacks it; Google's own files belong to the gateway's account. */
const refuseUrl = (): never => {
  throw unsupported('messages', 'names an image or a document by URL, which this model takes inline alone')
}

const inlineData = (mimeType: string, data: string): JsonObject => ({ inlineData: { mimeType, data } })

const textPart = (text: string): JsonObject => ({ text })

const imagePart = ({ source }: ImagePart): JsonObject =>
  'url' in source ? refuseUrl() : inlineData(source.mediaType, source.base64)

const documentText = (text: string, title: string | null): string => (title === null ? text : `${title}\n\n${text}`)

const documentPart = ({ source, title }: DocumentPart): JsonObject => {
  if ('url' in source) return refuseUrl()
  return 'text' in source ? textPart(documentText(source.text, title)) : inlineData(source.mediaType, source.base64)
}

const callPart = ({ id, name, arguments: given, signature }: ToolCallPart, names: CallNames): JsonObject => {
  const args = parseExactJson(given)
  if (!isObject(args)) throw invalidValue('messages', `the arguments of the tool call \`${id}\` are no JSON object`)
  names.set(id, name)
  return { functionCall: { id, name, args }, thoughtSignature: signature ?? undefined }
}

const resultPart = (part: TextPart | ImagePart | DocumentPart): JsonObject => {
  switch (part.type) {
    case 'text':
      return textPart(part.text)
    case 'image':
      return imagePart(part)
    case 'document':
      return documentPart(part)
  }
}

/** Parsed as JSON, large numbers would lose digits. Before Gemini 3 media is placed next to the response. */
const resultParts = (result: ToolResultPart, names: CallNames, generation: number): readonly JsonObject[] => {
  const { toolCallId: id, isError } = result
  const name = names.get(id)
  if (name === undefined) throw invalidValue('messages', `the result of the tool call \`${id}\` has no call before it`)
  const rendered = result.parts.map(resultPart)
  const text = rendered.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n')
  const media = rendered.filter((part) => part['text'] === undefined)
  const response = isError ? { error: text } : { output: text }
  return generation >= 3 && media.length > 0
    ? [{ functionResponse: { id, name, response, parts: media } }]
    : [{ functionResponse: { id, name, response } }, ...media]
}

/** Thinking is not sent back: Google takes the signatures of calls instead. */
const partsFor = (part: ConversationPart, names: CallNames, generation: number): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [textPart(part.text)]
    case 'image':
      return [imagePart(part)]
    case 'document':
      return [documentPart(part)]
    case 'audio':
      return [inlineData(`audio/${part.format}`, part.base64)]
    case 'tool_call':
      return [callPart(part, names)]
    case 'tool_result':
      return resultParts(part, names, generation)
    case 'thinking':
    case 'redacted_thinking':
      return []
  }
}

const isResponse = (part: JsonObject): boolean => 'functionResponse' in part

const responsesFirst = ({ role, parts }: Content): Content => ({
  role,
  parts: [...parts.filter(isResponse), ...parts.filter((part) => !isResponse(part))],
})

/** Gemini 3 refuses a step whose first call has no signature. */
export const withSignedCall = (parts: readonly JsonObject[]): readonly JsonObject[] => {
  const calls = parts.filter((part) => 'functionCall' in part)
  if (calls.some(({ thoughtSignature }) => thoughtSignature !== undefined)) return parts
  return parts.map((part) => (part === calls[0] ? { ...part, thoughtSignature: unknownSignature } : part))
}

/**
 * Instructions in between become user text. Consecutive contents of one role are merged, so that all results of parallel
 * calls are in one. Throws `invalid_value` and `unsupported_parameter`.
 */
export function* contentsFor(
  turns: readonly ConversationTurn[],
  upstreamModel: string,
): Generator<void, readonly Content[]> {
  const generation = generationOf(upstreamModel)
  const names: CallNames = new Map()
  const merged: { readonly role: Content['role']; readonly parts: JsonObject[] }[] = []
  yield* eachInSteps(turns, (turn) => {
    const role = turn.role === 'assistant' ? 'model' : 'user'
    const parts = turn.parts.flatMap((part) => partsFor(part, names, generation))
    if (parts.length === 0) return
    const last = merged.at(-1)
    if (last?.role === role) for (const part of parts) last.parts.push(part)
    else merged.push({ role, parts })
  })
  yield
  return yield* mapInSteps(merged, (content) => {
    const { role, parts } = responsesFirst(content)
    return { role, parts: generation >= 3 ? withSignedCall(parts) : parts }
  })
}
