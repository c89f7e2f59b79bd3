import type { JsonObject } from '../../encoding/json.ts'
import type {
  CacheMark,
  ConversationPart,
  ConversationTurn,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { mergeTurns, type WrittenTurn } from '../canonical/merge-turns.ts'
import { unsupported } from '../canonical/refuse.ts'
import { digestedId } from '../dialect/digested-id.ts'
import { inputOf } from './read-blocks.ts'

/** The default is five minutes; written out, so that the request shows it. */
export const cacheControl = (cached: CacheMark): JsonObject =>
  cached === null ? {} : { cache_control: { type: 'ephemeral', ttl: cached } }

const idCharactersMax = 64

/** Other vendors' ids may have other characters, and more; these APIs take these. */
export const callId = (id: string): string =>
  id.length > idCharactersMax ? digestedId('call', id) : id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')

/** The API refuses a blank text. */
export const writeText = ({ text, cached }: TextPart): readonly JsonObject[] =>
  text.trim() === '' ? [] : [{ type: 'text', text, ...cacheControl(cached) }]

const writeImage = ({ source, cached }: ImagePart): JsonObject => ({
  type: 'image',
  source:
    'url' in source
      ? { type: 'url', url: source.url }
      : { type: 'base64', media_type: source.mediaType, data: source.base64 },
  ...cacheControl(cached),
})

const writeDocumentSource = (source: DocumentPart['source']): JsonObject => {
  if ('url' in source) return { type: 'url', url: source.url }
  if ('text' in source) return { type: 'text', media_type: 'text/plain', data: source.text }
  if (source.mediaType === 'application/pdf')
    return { type: 'base64', media_type: source.mediaType, data: source.base64 }
  if (source.mediaType.startsWith('text/'))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(source.base64, 'base64').toString() }
  throw unsupported('messages', `with a document of type '${source.mediaType}' is not available for this model`)
}

const writeDocument = ({ source, title, cached }: DocumentPart): JsonObject => ({
  type: 'document',
  source: writeDocumentSource(source),
  ...(title === null ? {} : { title }),
  ...cacheControl(cached),
})

const writeToolCall = ({ id, name, arguments: given, cached }: ToolCallPart): JsonObject => ({
  type: 'tool_use',
  id: callId(id),
  name,
  input: inputOf(given),
  ...cacheControl(cached),
})

const writeToolResult = ({ toolCallId, parts, isError, cached }: ToolResultPart): JsonObject => ({
  type: 'tool_result',
  tool_use_id: callId(toolCallId),
  content: parts.flatMap(writePart),
  ...(isError ? { is_error: true } : {}),
  ...cacheControl(cached),
})

const writePart = (part: ConversationPart): readonly JsonObject[] => {
  switch (part.type) {
    case 'text':
      return writeText(part)
    case 'image':
      return [writeImage(part)]
    case 'document':
      return [writeDocument(part)]
    case 'audio':
      throw unsupported('messages', 'with audio is not available for this model')
    case 'tool_call':
      return [writeToolCall(part)]
    case 'tool_result':
      return [writeToolResult(part)]
    case 'thinking':
      return part.signature === null ? [] : [{ type: 'thinking', thinking: part.text, signature: part.signature }]
    case 'redacted_thinking':
      return [{ type: 'redacted_thinking', data: part.data }]
  }
}

const isResult = ({ type }: JsonObject): boolean => type === 'tool_result'

/** The API requires the results of calls first. Throws `unsupported_parameter` for audio. */
export const writeMessagesTurns = (turns: readonly ConversationTurn[]): Generator<void, readonly WrittenTurn[]> =>
  mergeTurns(turns, { writePart, isResult })
