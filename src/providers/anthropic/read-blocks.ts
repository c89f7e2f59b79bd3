import { asArray, asObject, asText, isObject, type JsonObject, parseExactJson } from '../../encoding/json.ts'
import { flatMapInSteps } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { ArgumentBounds } from '../canonical/argument-bounds.ts'
import type {
  CacheMark,
  ConversationPart,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { refuseProviderState, unsupported } from '../canonical/refuse.ts'
import { unmark } from '../dialect/provider-mark.ts'
import { shortened } from './present.ts'
import { readCallSignature } from './signatures.ts'

interface Reading {
  readonly callIds: ReadonlySet<string>
  readonly provider: string
  readonly argumentBounds: ArgumentBounds
}

interface PlacedBlock {
  readonly block: JsonObject
  readonly path: string
}

type BlockContext = Reading & PlacedBlock

type ResultPart = TextPart | ImagePart | DocumentPart
type BlockReader = (context: BlockContext) => readonly ConversationPart[]

/** Null or absent: none; the API knows five minutes and an hour. */
export const readCacheMark = ({ cache_control: control }: JsonObject): CacheMark => {
  if (!isObject(control)) return null
  return control['ttl'] === '1h' ? '1h' : '5m'
}

const requiredText = ({ block, path }: PlacedBlock, field: string): string => {
  const value = block[field]
  if (typeof value !== 'string') throw invalidValue(`${path}.${field}`, 'a string is required')
  return value
}

const readTextBlock = (text: string, cached: CacheMark = null): TextPart => ({ type: 'text', text, cached })

const readText = (context: PlacedBlock): TextPart =>
  readTextBlock(requiredText(context, 'text'), readCacheMark(context.block))

const sourceOf = (context: BlockContext): BlockContext => {
  const { block, path } = context
  const source = block['source']
  if (!isObject(source)) throw invalidValue(`${path}.source`, 'an object is required')
  return { ...context, block: source, path: `${path}.source` }
}

const unknownSource = ({ block, path }: BlockContext): Error =>
  unsupported(path, `of type '${shortened(block['type'])}' is not available for this model`)

const readImageSource = (source: BlockContext): ImagePart['source'] => {
  if (source.block['type'] === 'file') throw refuseProviderState(`${source.path}.file_id`)
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

const innerBlocks = (context: BlockContext): readonly BlockContext[] =>
  asArray(context.block['content']).map((each, index) => ({
    ...context,
    block: asObject(each),
    path: `${context.path}.content[${index}]`,
  }))

const isImage = ({ block }: BlockContext): boolean => block['type'] === 'image'

const blocksText = (context: BlockContext, others: (inner: BlockContext) => boolean = () => false): string => {
  const { content } = context.block
  if (typeof content === 'string') return content
  const readOne = (inner: BlockContext): string => {
    if (inner.block['type'] !== 'text') throw unsupported(inner.path, 'must be text for this model')
    return requiredText(inner, 'text')
  }
  return innerBlocks(context)
    .filter((inner) => !others(inner))
    .map(readOne)
    .join('\n')
}

const readDocumentSource = (source: BlockContext): DocumentPart['source'] => {
  if (source.block['type'] === 'file') throw refuseProviderState(`${source.path}.file_id`)
  switch (source.block['type']) {
    case 'base64':
      return { mediaType: requiredText(source, 'media_type'), base64: requiredText(source, 'data') }
    case 'url':
      return { url: requiredText(source, 'url') }
    case 'text':
      return { text: requiredText(source, 'data') }
    case 'content':
      return { text: blocksText(source, isImage) }
    default:
      throw unknownSource(source)
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The caller's context of a document comes before it, the images among its content after it. */
const readDocument = (context: BlockContext): readonly ResultPart[] => {
  const preface = textOrNull(context.block['context'])
  const source = sourceOf(context)
  const images = source.block['type'] === 'content' ? innerBlocks(source).filter(isImage).map(readImage) : []
  const document: DocumentPart = {
    type: 'document',
    source: readDocumentSource(source),
    title: textOrNull(context.block['title']),
    cached: readCacheMark(context.block),
  }
  return [...(preface === null ? [] : [readTextBlock(preface)]), document, ...images]
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
  arguments: context.argumentBounds.write(asObject(context.block['input']), `${context.path}.input`),
  signature: readCallSignature(context.provider, context.block['signature']),
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

const readResultContent = (context: BlockContext): readonly ResultPart[] => {
  const { content } = context.block
  if (typeof content === 'string') return [readTextBlock(content)]
  return innerBlocks(context).flatMap((inner) => {
    const read = resultReaders.get(inner.block['type'])
    if (read === undefined) throw unknownBlock(inner)
    return read(inner)
  })
}

const readToolResult = (context: BlockContext): ToolResultPart => {
  const toolCallId = requiredText(context, 'tool_use_id')
  if (!context.callIds.has(toolCallId))
    throw invalidValue(`${context.path}.tool_use_id`, 'no tool_use block before it has this id')
  return {
    type: 'tool_result',
    toolCallId,
    parts: readResultContent(context),
    isError: context.block['is_error'] === true,
    cached: readCacheMark(context.block),
  }
}

const readThinking: BlockReader = (context) => [
  {
    type: 'thinking',
    text: requiredText(context, 'thinking'),
    signature: readCallSignature(context.provider, context.block['signature']),
  },
]

const readRedactedThinking: BlockReader = (context) => {
  const data = unmark(context.provider, requiredText(context, 'data'))
  return data === null ? [] : [{ type: 'redacted_thinking', data }]
}

/** What the provider's own tools did, often encrypted for it: the text that came of it is kept. */
const skippedTypes: readonly unknown[] = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'mcp_tool_listing',
  'fallback',
  'compaction', // One that failed: see compactedMessages.
]

const nothing: BlockReader = () => []

const userReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ...contentReaders,
  ['tool_result', (context) => [readToolResult(context)]],
])

const assistantReaders: ReadonlyMap<unknown, BlockReader> = new Map<unknown, BlockReader>([
  ['text', (context) => [readText(context)]],
  ['thinking', readThinking],
  ['redacted_thinking', readRedactedThinking],
  ['tool_use', (context) => [readToolUse(context)]],
  ...skippedTypes.map((type) => [type, nothing] as const),
])

const unknownBlock = ({ block, path }: PlacedBlock): Error =>
  unsupported(`${path}.type`, `'${shortened(block['type'])}' is not available here for this model`)

/** Throws `unsupported_parameter`, `invalid_value` or `request_too_large` with the field's path. */
export function* readBlocks(
  role: 'user' | 'assistant',
  content: unknown,
  path: string,
  reading: Reading,
): Generator<void, readonly ConversationPart[]> {
  if (typeof content === 'string') return [readTextBlock(content)]
  if (!Array.isArray(content)) throw invalidValue(path, 'a string or a list of blocks is required')
  const readers = role === 'user' ? userReaders : assistantReaders
  return yield* flatMapInSteps(content, (block: unknown, index) => {
    const context = { ...reading, block: asObject(block), path: `${path}[${index}]` }
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
    const context = { block: asObject(block), path: `${path}[${index}]` }
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
