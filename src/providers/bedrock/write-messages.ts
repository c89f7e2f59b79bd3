import { isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
import { mapInSteps } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { callId } from '../anthropic/write-messages.ts'
import type {
  CacheMark,
  ConversationPart,
  ConversationTurn,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { mergeTurns, type WrittenTurn } from '../canonical/merge-turns.ts'
import { unsupported } from '../canonical/refuse.ts'

export type WriteCachePoint = (cached: CacheMark) => readonly JsonObject[]

/** `s3Location`, the other way to name one, would be read with the operator's role. */
const refuseUrl = (): never => {
  throw unsupported('messages', 'names an image or a document by URL, which this model takes inline alone')
}

const imageFormats: readonly string[] = ['png', 'jpeg', 'gif', 'webp']

const writeImage = ({ source }: ImagePart): JsonObject => {
  if ('url' in source) return refuseUrl()
  const format = source.mediaType.replace('image/', '')
  if (!imageFormats.includes(format))
    throw unsupported('messages', `with an image of type '${source.mediaType}' is not available for this model`)
  return { image: { format, source: { bytes: source.base64 } } }
}

const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
  ['text/plain', 'txt'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
])

const nameCharactersMax = 100

/** The API takes letters, digits, single spaces, hyphens, parentheses and brackets. */
const documentName = (title: string | null): string =>
  (title ?? '')
    .slice(0, 2 * nameCharactersMax)
    .replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ')
    .slice(0, nameCharactersMax)
    .trim() || 'document'

type NameDocument = (title: string | null) => string

/** The API refuses two documents of one name in a conversation, whatever their case. */
const uniqueNames = (): NameDocument => {
  const taken = new Set<string>()
  const nextPlaces = new Map<string, number>()
  return (title) => {
    const base = documentName(title)
    let place = nextPlaces.get(base.toLowerCase()) ?? 1
    let name = base
    do {
      name = place === 1 ? base : `${base} ${place}`
      place += 1
    } while (taken.has(name.toLowerCase()))
    taken.add(name.toLowerCase())
    nextPlaces.set(base.toLowerCase(), place)
    return name
  }
}

const writeDocument = ({ source, title }: DocumentPart, nameDocument: NameDocument): JsonObject => {
  if ('url' in source) return refuseUrl()
  const name = nameDocument(title)
  if ('text' in source)
    return { document: { format: 'txt', name, source: { bytes: Buffer.from(source.text).toString('base64') } } }
  const format = documentFormats.get(source.mediaType)
  if (format === undefined)
    throw unsupported('messages', `with a document of type '${source.mediaType}' is not available for this model`)
  return { document: { format, name, source: { bytes: source.base64 } } }
}

export const writeConverseText = ({ text }: TextPart): readonly JsonObject[] => (text.trim() === '' ? [] : [{ text }])

const readInput = (id: string, given: string): JsonObject => {
  const input = given.trim() === '' ? {} : parseExactJson(given)
  if (isObject(input)) return input
  throw invalidValue('messages', `the arguments of the tool call \`${id}\` are no JSON object`)
}

const writeResultPart = (
  part: TextPart | ImagePart | DocumentPart,
  nameDocument: NameDocument,
): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
      return writeConverseText(part)
    case 'image':
      return [writeImage(part)]
    case 'document':
      return [writeDocument(part, nameDocument)]
  }
}

const writeResult = ({ toolCallId, parts, isError }: ToolResultPart, nameDocument: NameDocument): JsonObject => ({
  toolResult: {
    toolUseId: callId(toolCallId),
    content: parts.flatMap((part) => writeResultPart(part, nameDocument)),
    ...(isError ? { status: 'error' } : {}),
  },
})

const writePart = (part: ConversationPart, nameDocument: NameDocument): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
    case 'image':
    case 'document':
      return writeResultPart(part, nameDocument)
    case 'audio':
      throw unsupported('messages', 'with audio is not available for this model')
    case 'tool_call':
      return [{ toolUse: { toolUseId: callId(part.id), name: part.name, input: readInput(part.id, part.arguments) } }]
    case 'tool_result':
      return [writeResult(part, nameDocument)]
    case 'thinking':
      return part.signature === null
        ? []
        : [{ reasoningContent: { reasoningText: { text: part.text, signature: part.signature } } }]
    case 'redacted_thinking':
      return [{ reasoningContent: { redactedContent: part.data } }]
  }
}

const isResult = (block: JsonObject): boolean => 'toolResult' in block

const textOfDocument = { text: 'See the document.' }

/** The API refuses a message with a document and no text. */
const withTextOfDocument = ({ role, content }: WrittenTurn): WrittenTurn => {
  const place = content.findIndex((block) => 'document' in block)
  const lacksText = place >= 0 && !content.some((block) => 'text' in block)
  return { role, content: lacksText ? content.toSpliced(place, 0, textOfDocument) : content }
}

export function* writeConverseTurns(
  turns: readonly ConversationTurn[],
  writePoint: WriteCachePoint,
): Generator<void, readonly WrittenTurn[]> {
  const nameDocument = uniqueNames()
  const merged = yield* mergeTurns(turns, {
    writePart: (part) => {
      const written = writePart(part, nameDocument)
      return written.length === 0 || !('cached' in part) ? written : [...written, ...writePoint(part.cached)]
    },
    isResult,
  })
  yield
  return yield* mapInSteps(merged, withTextOfDocument)
}
