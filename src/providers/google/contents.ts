import { isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
import { mapInSteps } from '../../encoding/steps.ts'
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
import { mergeTurns } from '../canonical/merge-turns.ts'
import { unsupported } from '../canonical/refuse.ts'
import { providerLimits } from '../dialect/limits.ts'
import { generationOf } from './generation.ts'

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

interface Writing {
  readonly upstreamModel: string
  readonly generation: number
  readonly callNames: Map<string, string>
}

/** Google's placeholder for an unknown signature, such as that of a call that another model made. */
const unknownSignature = 'skip_thought_signature_validator'

const refuseUrl = (): never => {
  throw unsupported('messages', 'names a document by URL, which this model takes inline alone')
}

const inlineData = (mimeType: string, data: string): JsonObject => ({ inlineData: { mimeType, data } })

/** https://ai.google.dev/gemini-api/docs/file-input-methods#external-urls: the media type is sent with the address. */
const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  bmp: 'image/bmp',
}

const linkingModel = /gemini-(?!1|2\.0)/

/** Files of the gateway's account, and what it may read; a video costs far more than an image. */
const googlesHost = /(?:^|\.)(?:google\.com|googleapis\.com|youtube\.com|youtu\.be)\.?$/

const mediaTypeOf = ({ protocol, hostname, pathname }: URL): string | undefined => {
  const [, ending = ''] = /\.(\w+)$/.exec(pathname.toLowerCase()) ?? []
  return protocol === 'https:' && !googlesHost.test(hostname) ? mediaTypes[ending] : undefined
}

/** Throws `unsupported_parameter` where the model does not read it, or its media type is not known. */
const writeLinkedImage = (url: string, upstreamModel: string): JsonObject => {
  const isShort = url.length <= providerLimits.addressCharactersMax
  const address = isShort && linkingModel.test(upstreamModel) ? URL.parse(url) : null
  const mimeType = address === null ? undefined : mediaTypeOf(address)
  if (address === null || mimeType === undefined)
    throw unsupported(
      'messages',
      'names an image by a URL that this model does not read: it takes images inline, and Gemini from 2.5 on by a public https URL that ends in .png, .jpg, .jpeg, .webp or .bmp',
    )
  // As parsed: another reader could see another host in what was given.
  return { fileData: { mimeType, fileUri: address.href } }
}

const textPart = (text: string): JsonObject => ({ text })

const imagePart = ({ source }: ImagePart, { upstreamModel }: Writing): JsonObject =>
  'url' in source ? writeLinkedImage(source.url, upstreamModel) : inlineData(source.mediaType, source.base64)

const documentText = (text: string, title: string | null): string => (title === null ? text : `${title}\n\n${text}`)

const documentPart = ({ source, title }: DocumentPart): JsonObject => {
  if ('url' in source) return refuseUrl()
  return 'text' in source ? textPart(documentText(source.text, title)) : inlineData(source.mediaType, source.base64)
}

const callPart = ({ id, name, arguments: given, signature }: ToolCallPart, { callNames }: Writing): JsonObject => {
  const args = parseExactJson(given)
  if (!isObject(args)) throw invalidValue('messages', `the arguments of the tool call \`${id}\` are no JSON object`)
  callNames.set(id, name)
  return { functionCall: { id, name, args }, thoughtSignature: signature ?? undefined }
}

const resultPart = (part: TextPart | ImagePart | DocumentPart, writing: Writing): JsonObject => {
  switch (part.type) {
    case 'text':
      return textPart(part.text)
    case 'image':
      return imagePart(part, writing)
    case 'document':
      return documentPart(part)
  }
}

/** Parsed as JSON, large numbers would lose digits. Before Gemini 3 media is placed next to the response, by URL always. */
const resultParts = (result: ToolResultPart, writing: Writing): readonly JsonObject[] => {
  const { toolCallId: id, isError } = result
  const name = writing.callNames.get(id)
  if (name === undefined) throw invalidValue('messages', `the result of the tool call \`${id}\` has no call before it`)
  const rendered = result.parts.map((part) => resultPart(part, writing))
  const text = rendered.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n')
  const media = rendered.filter((part) => part['text'] === undefined)
  const response = isError ? { error: text } : { output: text }
  const isInside = (part: JsonObject): boolean => writing.generation >= 3 && part['inlineData'] !== undefined
  const parts = media.filter(isInside)
  const inside = parts.length === 0 ? {} : { parts }
  return [{ functionResponse: { id, name, response, ...inside } }, ...media.filter((part) => !isInside(part))]
}

/** Thinking is not sent back: Google takes the signatures of calls instead. */
const partsFor = (part: ConversationPart, writing: Writing): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [textPart(part.text)]
    case 'image':
      return [imagePart(part, writing)]
    case 'document':
      return [documentPart(part)]
    case 'audio':
      return [inlineData(`audio/${part.format}`, part.base64)]
    case 'tool_call':
      return [callPart(part, writing)]
    case 'tool_result':
      return resultParts(part, writing)
    case 'thinking':
    case 'redacted_thinking':
      return []
  }
}

const isResponse = (part: JsonObject): boolean => 'functionResponse' in part

/** Gemini 3 refuses a step whose first call has no signature. */
export const withSignedCall = (parts: readonly JsonObject[]): readonly JsonObject[] => {
  const calls = parts.filter((part) => 'functionCall' in part)
  if (calls.some(({ thoughtSignature }) => thoughtSignature !== undefined)) return parts
  return parts.map((part) => (part === calls[0] ? { ...part, thoughtSignature: unknownSignature } : part))
}

/** Of the results of parallel calls, all are in one content. Throws `invalid_value` and `unsupported_parameter`. */
export function* contentsFor(
  turns: readonly ConversationTurn[],
  upstreamModel: string,
): Generator<void, readonly Content[]> {
  const generation = generationOf(upstreamModel)
  const writing: Writing = { upstreamModel, generation, callNames: new Map() }
  const merged = yield* mergeTurns(turns, { writePart: (part) => partsFor(part, writing), isResult: isResponse })
  yield
  return yield* mapInSteps(merged, ({ role, content }) => ({
    role: role === 'assistant' ? 'model' : 'user',
    parts: generation >= 3 ? withSignedCall(content) : content,
  }))
}
