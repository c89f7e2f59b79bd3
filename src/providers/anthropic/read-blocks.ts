import { asArray, asObject, asText, isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
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
interface BlockContext {
  readonly block: JsonObject
  readonly path: string
  readonly callIds: ReadonlySet<string>
}

type ResultPart = TextPart | ImagePart | DocumentPart
type BlockReader = (context: BlockContext) => readonly ConversationPart[]

/** Null or absent: none; the API knows five minutes and an hour. */
export const readCacheMark = ({ cache_control: control }: JsonObject): CacheMark => {
  if (!isObject(control)) return null
  return control['ttl'] === '1h' ? '1h' : '5m'
}

const requiredText = ({ block, path }: BlockContext, field: string): string => {
  const value = block[field]
  if (typeof value !== 'string') throw invalidMember(`${path}.${field}`, 'a string is required')
  return value
}

const readTextBlock = (text: string, cached: CacheMark = null): TextPart => ({ type: 'text', text, cached })

const readText = (context: BlockContext): TextPart =>
  readTextBlock(requiredText(context, 'text'), readCacheMark(context.block))

const sourceOf = ({ block, path }: BlockContext): BlockContext => {
  const source = block['source']
  if (!isObject(source)) throw invalidMember(`${path}.source`, 'an object is required')
  return { block: source, path: `${path}.source`, callIds: new Set() }
}

const unknownSource = ({ block, path }: BlockContext): Error =>
  unsupported(path, `of type '${shortened(block['type'])}' is not available for this model`)

const readImageSource = (source: BlockContext): ImagePart['source'] => {
  switch (source.block['type']) {
    case 'base64':
      return { mediaType: requiredText(source, 'media_type'), base64: requiredText(source, 'data') }
    case 'url':
      return { url: requiredText(source, 'url') }
    default:
      throw unknownSource(source)
  }
}

const readImage = (context: BlockContext): ImagePart => ({
  type: 'image',
  source: readImageSource(sourceOf(context)),
  detail: null,
  cached: readCacheMark(context.block),
})

const blocksText = ({ block, path }: BlockContext): string => {
  const { content } = block
  if (typeof content === 'string') return content
  const readOne = (each: unknown, index: number): string => {
    const inner = { block: asObject(each), path: `${path}.content[${index}]`, callIds: new Set<string>() }
    if (inner.block['type'] !== 'text') throw unsupported(inner.path, 'must be text for this model')
    return requiredText(inner, 'text')
  }
  return asArray(content).map(readOne).join('\n')
}

const readDocumentSource = (source: BlockContext): DocumentPart['source'] => {
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
const readDocument = (context: BlockContext): readonly (TextPart | DocumentPart)[] => {
  const preface = textOrNull(context.block['context'])
  const document: DocumentPart = {
    type: 'document',
    source: readDocumentSource(sourceOf(context)),
    title: textOrNull(context.block['title']),
    cached: readCacheMark(context.block),
  }
  return preface === null ? [document] : [readTextBlock(preface), document]
}

const readSearchResult = (context: BlockContext): DocumentPart => ({
  type: 'document',
  source: { text: blocksText(context) },
  title: `${asText(context.block['title'])} (${requiredText(context, 'source')})`,
  cached: readCacheMark(context.block),
})

const readToolUse = (context: BlockContext): ToolCallPart => ({
  type: 'tool_call',
  id: requiredText(context, 'id'),
  name: requiredText(context, 'name'),
  arguments: JSON.stringify(asObject(context.block['input'])),
  signature: textOrNull(context.block['signature']),
  cached: readCacheMark(context.block),
})

/** The tools that a tool search has found: here all are offered from the start. */
const readToolReference = (context: BlockContext): TextPart =>
  readTextBlock(`The tool \`${requiredText(context, 'tool_name')}\` can be called now.`)

type ResultReader = (context: BlockContext) => readonly ResultPart[]

const contentReaders: ReadonlyMap<unknown, ResultReader> = new Map([
  ['text', (context: BlockContext): readonly ResultPart[] => [readText(context)]],
  ['image', (context: BlockContext) => [readImage(context)]],
  ['document', readDocument],
  ['search_result', (context: BlockContext) => [readSearchResult(context)]],
])

const resultReaders: ReadonlyMap<unknown, ResultReader> = new Map([
  ...contentReaders,
  ['tool_reference', (context: BlockContext) => [readToolReference(context)]],
])

const readResultContent = ({ block, path }: BlockContext): readonly ResultPart[] => {
  const { content } = block
  if (typeof content === 'string') return [readTextBlock(content)]
  return asArray(content).flatMap((each, index) => {
    const inner = { block: asObject(each), path: `${path}.content[${index}]`, callIds: new Set<string>() }
    const read = resultReaders.get(inner.block['type'])
    if (read === undefined) throw unknownBlock(inner)
    return read(inner)
  })
}

const readToolResult = (context: BlockContext): ToolResultPart => {
  const toolCallId = requiredText(context, 'tool_use_id')
  if (!context.callIds.has(toolCallId))
    throw invalidMember(`${context.path}.tool_use_id`, 'no tool_use block before it has this id')
  return {
    type: 'tool_result',
    toolCallId,
    parts: readResultContent(context),
    isError: context.block['is_error'] === true,
    cached: readCacheMark(context.block),
  }
}

const nothing: BlockReader = () => []

const userReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ...contentReaders,
  ['tool_result', (context) => [readToolResult(context)]],
])

const assistantReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ['text', (context) => [readText(context)]],
  [
    'thinking',
    (context) => [
      { type: 'thinking', text: requiredText(context, 'thinking'), signature: textOrNull(context.block['signature']) },
    ],
  ],
  ['redacted_thinking', (context) => [{ type: 'redacted_thinking', data: requiredText(context, 'data') }]],
  ['tool_use', (context) => [readToolUse(context)]],
  // Search results are encrypted for the provider that searched; the text that cites them is kept.
  ['server_tool_use', nothing],
  ['web_search_tool_result', nothing],
  ['web_fetch_tool_result', nothing],
])

const unknownBlock = ({ block, path }: BlockContext): Error =>
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
    const context = { block: asObject(block), path: `${path}[${index}]`, callIds }
    const read = readers.get(context.block['type'])
    if (read === undefined) throw unknownBlock(context)
    return read(context)
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
    const context = { block: asObject(block), path: `${path}[${index}]`, callIds: new Set<string>() }
    const type = context.block['type']
    if (type !== 'text' && !wordless.includes(type)) throw unknownBlock(context)
    return type === 'text' ? [readText(context)] : []
  })
}

/** Arguments as the object that a block holds; the API's own wrapping for what is no object. */
export const inputOf = (argumentsText: string): JsonObject => {
  if (argumentsText.trim() === '') return {}
  const input = parseExactJson(argumentsText)
  return isObject(input) ? input : { INVALID_JSON: argumentsText }
}
