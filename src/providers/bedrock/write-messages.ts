import { isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
import type {
  CacheMark,
  ConversationPart,
  ConversationTurn,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { invalidMember, unsupported } from '../canonical/refuse.ts'

export interface ConverseMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly JsonObject[]
}

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
    .replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ')
    .trim()
    .slice(0, nameCharactersMax) || 'document'

const writeDocument = ({ source, title }: DocumentPart): JsonObject => {
  if ('url' in source) return refuseUrl()
  const name = documentName(title)
  if ('text' in source)
    return { document: { format: 'txt', name, source: { bytes: Buffer.from(source.text).toString('base64') } } }
  const format = documentFormats.get(source.mediaType)
  if (format === undefined)
    throw unsupported('messages', `with a document of type '${source.mediaType}' is not available for this model`)
  return { document: { format, name, source: { bytes: source.base64 } } }
}

export const writeConverseText = ({ text }: TextPart): readonly JsonObject[] => (text === '' ? [] : [{ text }])

const toolUseId = (id: string): string => id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')

const readInput = (id: string, given: string): JsonObject => {
  const input = given.trim() === '' ? {} : parseExactJson(given)
  if (isObject(input)) return input
  throw invalidMember('messages', `the arguments of the tool call \`${id}\` are no JSON object`)
}

const writeResultPart = (part: TextPart | ImagePart | DocumentPart): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
      return writeConverseText(part)
    case 'image':
      return [writeImage(part)]
    case 'document':
      return [writeDocument(part)]
  }
}

const writeResult = ({ toolCallId, parts, isError }: ToolResultPart): JsonObject => ({
  toolResult: {
    toolUseId: toolUseId(toolCallId),
    content: parts.flatMap(writeResultPart),
    ...(isError ? { status: 'error' } : {}),
  },
})

const writePart = (part: ConversationPart): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
    case 'image':
    case 'document':
      return writeResultPart(part)
    case 'audio':
      throw unsupported('messages', 'with audio is not available for this model')
    case 'tool_call':
      return [
        { toolUse: { toolUseId: toolUseId(part.id), name: part.name, input: readInput(part.id, part.arguments) } },
      ]
    case 'tool_result':
      return [writeResult(part)]
    case 'thinking':
      return part.signature === null
        ? []
        : [{ reasoningContent: { reasoningText: { text: part.text, signature: part.signature } } }]
    case 'redacted_thinking':
      return [{ reasoningContent: { redactedContent: part.data } }]
  }
}

const isResult = (block: JsonObject): boolean => 'toolResult' in block

const resultsFirst = (content: readonly JsonObject[]): readonly JsonObject[] => [
  ...content.filter(isResult),
  ...content.filter((block) => !isResult(block)),
]

/** Instructions in between become user text; turns of one role are merged. Throws `unsupported_parameter`. */
export const writeConverseTurns = (
  turns: readonly ConversationTurn[],
  writePoint: WriteCachePoint,
): readonly ConverseMessage[] => {
  const messages: { readonly role: ConverseMessage['role']; readonly content: JsonObject[] }[] = []
  for (const turn of turns) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user'
    const content = turn.parts.flatMap((part) => {
      const written = writePart(part)
      return written.length === 0 || !('cached' in part) ? written : [...written, ...writePoint(part.cached)]
    })
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === role) for (const block of content) last.content.push(block)
    else messages.push({ role, content })
  }
  return messages.map(({ role, content }) => ({ role, content: resultsFirst(content) }))
}
