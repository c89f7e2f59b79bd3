import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type {
  CacheMark,
  ConversationPart,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { invalidMember, unsupported } from '../canonical/refuse.ts'
import { shortened } from './present.ts'

/** A block of a request, its path, and the tool calls before it. */
interface Place {
  readonly block: JsonObject
  readonly path: string
  readonly callIds: ReadonlySet<string>
}

type ResultPart = TextPart | ImagePart | DocumentPart
type BlockReader = (place: Place) => readonly ConversationPart[]

/** Null or absent: none; the API knows five minutes and an hour. */
export const readCacheMark = ({ cache_control: control }: JsonObject): CacheMark => {
  if (!isObject(control)) return null
  return control['ttl'] === '1h' ? '1h' : '5m'
}

const requiredText = ({ block, path }: Place, field: string): string => {
  const value = block[field]
  if (typeof value !== 'string') throw invalidMember(`${path}.${field}`, 'a string is required')
  return value
}

export const readTextBlock = (text: string, cached: CacheMark = null): TextPart => ({ type: 'text', text, cached })

const readText = (place: Place): TextPart => readTextBlock(requiredText(place, 'text'), readCacheMark(place.block))

const sourceOf = ({ block, path }: Place): Place => {
  const source = block['source']
  if (!isObject(source)) throw invalidMember(`${path}.source`, 'an object is required')
  return { block: source, path: `${path}.source`, callIds: new Set() }
}

const unknownSource = ({ block, path }: Place): Error =>
  unsupported(path, `of type '${shortened(block['type'])}' is not available for this model`)

const readImageSource = (source: Place): ImagePart['source'] => {
  switch (source.block['type']) {
    case 'base64':
      return { mediaType: requiredText(source, 'media_type'), base64: requiredText(source, 'data') }
    case 'url':
      return { url: requiredText(source, 'url') }
    default:
      throw unknownSource(source)
  }
}

const readImage = (place: Place): ImagePart => ({
  type: 'image',
  source: readImageSource(sourceOf(place)),
  detail: null,
  cached: readCacheMark(place.block),
})

const blocksText = ({ block, path }: Place): string => {
  const { content } = block
  if (typeof content === 'string') return content
  const readOne = (each: unknown, index: number): string => {
    const inner = { block: asObject(each), path: `${path}.content[${index}]`, callIds: new Set<string>() }
    if (inner.block['type'] !== 'text') throw unsupported(inner.path, 'must be text for this model')
    return requiredText(inner, 'text')
  }
  return asArray(content).map(readOne).join('\n')
}

const readDocumentSource = (source: Place): DocumentPart['source'] => {
  switch (source.block['type']) {
    case 'base64':
      return { mediaType: requiredText(source, 'media_type'), base64: requiredText(source, 'data') }
    case 'url':
      return { url: requiredText(source, 'url') }
    case 'text':
      return { text: requiredText(source, 'data') }
    case 'content':
      return { text: blocksText(source) }
    default:
      throw unknownSource(source)
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The caller's context of a document comes before it. */
const readDocument = (place: Place): readonly (TextPart | DocumentPart)[] => {
  const context = textOrNull(place.block['context'])
  const document: DocumentPart = {
    type: 'document',
    source: readDocumentSource(sourceOf(place)),
    title: textOrNull(place.block['title']),
    cached: readCacheMark(place.block),
  }
  return context === null ? [document] : [readTextBlock(context), document]
}

const readSearchResult = (place: Place): DocumentPart => ({
  type: 'document',
  source: { text: blocksText(place) },
  title: `${asText(place.block['title'])} (${requiredText(place, 'source')})`,
  cached: readCacheMark(place.block),
})

const readToolUse = (place: Place): ToolCallPart => ({
  type: 'tool_call',
  id: requiredText(place, 'id'),
  name: requiredText(place, 'name'),
  arguments: JSON.stringify(asObject(place.block['input'])),
  signature: textOrNull(place.block['signature']),
  cached: readCacheMark(place.block),
})

/** The tools that a tool search has found: here all are offered from the start. */
const readToolReference = (place: Place): TextPart =>
  readTextBlock(`The tool \`${requiredText(place, 'tool_name')}\` can be called now.`)

type ResultReader = (place: Place) => readonly ResultPart[]

const contentReaders: ReadonlyMap<unknown, ResultReader> = new Map([
  ['text', (place: Place): readonly ResultPart[] => [readText(place)]],
  ['image', (place: Place) => [readImage(place)]],
  ['document', readDocument],
  ['search_result', (place: Place) => [readSearchResult(place)]],
])

const resultReaders: ReadonlyMap<unknown, ResultReader> = new Map([
  ...contentReaders,
  ['tool_reference', (place: Place) => [readToolReference(place)]],
])

const readResultContent = ({ block, path }: Place): readonly ResultPart[] => {
  const { content } = block
  if (typeof content === 'string') return [readTextBlock(content)]
  return asArray(content).flatMap((each, index) => {
    const inner = { block: asObject(each), path: `${path}.content[${index}]`, callIds: new Set<string>() }
    const read = resultReaders.get(inner.block['type'])
    if (read === undefined) throw unknownBlock(inner)
    return read(inner)
  })
}

const readToolResult = (place: Place): ToolResultPart => {
  const toolCallId = requiredText(place, 'tool_use_id')
  if (!place.callIds.has(toolCallId))
    throw invalidMember(`${place.path}.tool_use_id`, 'no tool_use block before it has this id')
  return {
    type: 'tool_result',
    toolCallId,
    parts: readResultContent(place),
    isError: place.block['is_error'] === true,
    cached: readCacheMark(place.block),
  }
}

const nothing: BlockReader = () => []

const userReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ...contentReaders,
  ['tool_result', (place) => [readToolResult(place)]],
])

const assistantReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ['text', (place) => [readText(place)]],
  [
    'thinking',
    (place) => [
      { type: 'thinking', text: requiredText(place, 'thinking'), signature: textOrNull(place.block['signature']) },
    ],
  ],
  ['redacted_thinking', (place) => [{ type: 'redacted_thinking', data: requiredText(place, 'data') }]],
  ['tool_use', (place) => [readToolUse(place)]],
  // Search results are encrypted for the provider that searched; the text that cites them is kept.
  ['server_tool_use', nothing],
  ['web_search_tool_result', nothing],
  ['web_fetch_tool_result', nothing],
])

const unknownBlock = ({ block, path }: Place): Error =>
  unsupported(`${path}.type`, `'${shortened(block['type'])}' is not available here for this model`)

/** Throws `unsupported_parameter` or `invalid_value` with the field's path. */
export const readBlocks = (
  role: 'user' | 'assistant',
  content: unknown,
  path: string,
  callIds: ReadonlySet<string>,
): readonly ConversationPart[] => {
  if (typeof content === 'string') return [readTextBlock(content)]
  if (!Array.isArray(content)) throw invalidMember(path, 'a string or a list of blocks is required')
  const readers = role === 'user' ? userReaders : assistantReaders
  return content.flatMap((block: unknown, index) => {
    const place = { block: asObject(block), path: `${path}[${index}]`, callIds }
    const read = readers.get(place.block['type'])
    if (read === undefined) throw unknownBlock(place)
    return read(place)
  })
}

/** Instructions: a text, or a list of text blocks, and of blocks of the types `wordless`, which are skipped here. */
export const readInstructions = (
  content: unknown,
  path: string,
  wordless: readonly unknown[] = [],
): readonly TextPart[] => {
  if (typeof content === 'string') return content === '' ? [] : [readTextBlock(content)]
  return asArray(content).flatMap((block, index) => {
    const place = { block: asObject(block), path: `${path}[${index}]`, callIds: new Set<string>() }
    const type = place.block['type']
    if (type !== 'text' && !wordless.includes(type)) throw unknownBlock(place)
    return type === 'text' ? [readText(place)] : []
  })
}

/**
 * JSON text of a tool call's arguments as the object that a block holds; the API's own wrapping for what is no object.
 */
export const inputOf = (argumentsText: string): JsonObject => {
  if (argumentsText.trim() === '') return {}
  const input = parseJson(argumentsText)
  return isObject(input) ? input : { INVALID_JSON: argumentsText }
}
