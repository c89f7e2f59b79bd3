import { Buffer } from 'node:buffer'
import { asText, type JsonObject } from '../../src/encoding/json.ts'
import { callsOf, type Output, textTokensOf } from '../answers/output.ts'
import { queryOf, sourceOf } from '../answers/searching.ts'
import { tokensOfText } from '../answers/words.ts'
import type { Asked } from '../http/dialect.ts'
import type { BuiltInCalls } from './built-in.ts'
import { idPrefixes } from './input.ts'
import type { ResponsesRequest } from './request.ts'

interface Named {
  readonly id: string
  readonly isWhole: boolean
}

/** `pieces` are the deltas that a stream sends, in order. */
export type Item = Named &
  (
    | {
        readonly type: 'reasoning'
        readonly pieces: readonly string[]
        readonly shown: ResponsesRequest['reasoningShown']
        readonly encrypted: string | null
      }
    | {
        readonly type: 'message'
        readonly pieces: readonly string[]
        readonly isRefusal: boolean
        readonly annotations: readonly JsonObject[]
      }
    | {
        readonly type: 'function_call' | 'custom_tool_call'
        readonly callId: string
        readonly name: string
        readonly pieces: readonly string[]
      }
    | {
        readonly type: 'web_search_call' | 'x_search_call' | 'file_search_call'
        readonly succeeds: boolean
        readonly members: JsonObject
      }
    | {
        readonly type: 'code_interpreter_call'
        readonly pieces: readonly string[]
        readonly containerId: string
        readonly members: JsonObject
      }
    | {
        readonly type: 'image_generation_call'
        readonly members: JsonObject
        readonly result: string
        readonly partialImages: number
      }
  )

const plainId = ({ id }: Asked): string => id.replaceAll('-', '')

const idOf = (asked: Asked, type: Item['type'], index: number): string =>
  `${idPrefixes[type]}_${plainId(asked)}_${index}`

const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const reasoningItems = (asked: Asked, request: ResponsesRequest, output: Output): readonly Item[] => {
  if (!request.reasons) return []
  const pieces = request.reasoningShown === 'nothing' ? [] : output.reasoningText
  const encrypted = request.reasoningEncrypted ? Buffer.from(`reasoning: ${pieces.join('')}`).toString('base64') : null
  const shown = pieces.length === 0 ? 'nothing' : request.reasoningShown
  return [{ type: 'reasoning', id: idOf(asked, 'reasoning', 0), isWhole: true, pieces, shown, encrypted }]
}

/** xAI reports each call of its tools as a function's too. */
const asCalled = (asked: Asked, name: string, index: number, argument: JsonObject): JsonObject =>
  asked.directives.profile === 'xai'
    ? { name, call_id: `call_${name}_${index}`, arguments: JSON.stringify(argument) }
    : {}

const searchItems = (asked: Asked, request: ResponsesRequest, calls: BuiltInCalls): readonly Item[] => {
  const searches = times(calls.searches + calls.failedSearches + calls.pagesOpened, (index) => {
    const query = queryOf(request.userText, index)
    const { url } = sourceOf(index)
    const opens = index >= calls.searches + calls.failedSearches
    const action = opens
      ? { type: 'open_page', url }
      : { type: 'search', query, queries: [query], sources: [{ type: 'url', url }] }
    const members = { action, ...asCalled(asked, opens ? 'open_page' : 'web_search', index, { query }) }
    const succeeds = index < calls.searches || opens
    return {
      type: 'web_search_call' as const,
      id: idOf(asked, 'web_search_call', index),
      isWhole: true,
      succeeds,
      members,
    }
  })
  const xSearches = times(calls.xSearches, (index) => ({
    type: 'x_search_call' as const,
    id: idOf(asked, 'x_search_call', index),
    isWhole: true,
    succeeds: true,
    members: asCalled(asked, 'x_keyword_search', index, { query: queryOf(request.userText, index) }),
  }))
  return [...searches, ...xSearches]
}

const fileSearchItems = (asked: Asked, request: ResponsesRequest, calls: BuiltInCalls): readonly Item[] =>
  times(calls.fileSearches, (index) => ({
    type: 'file_search_call',
    id: idOf(asked, 'file_search_call', index),
    isWhole: true,
    succeeds: true,
    members: { queries: [queryOf(request.userText, index)], results: null },
  }))

const code = 'print("The sandbox computes nothing.")'

const containerIdOf = (asked: Asked, calls: BuiltInCalls, index: number): string => {
  const given = calls.codeTool['container']
  return typeof given === 'string' ? given : `cntr_${plainId(asked)}_${index % calls.containers}`
}

const codeItems = (asked: Asked, calls: BuiltInCalls): readonly Item[] =>
  times(calls.codeCalls, (index) => ({
    type: 'code_interpreter_call',
    id: idOf(asked, 'code_interpreter_call', index),
    isWhole: true,
    pieces: tokensOfText(code),
    containerId: containerIdOf(asked, calls, index),
    members: asCalled(asked, 'code_execution', index, { code }),
  }))

const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

const chosen = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== 'auto' ? value : otherwise

const imageItems = (asked: Asked, request: ResponsesRequest, calls: BuiltInCalls): readonly Item[] => {
  const tool = calls.imageTool
  const members = {
    action: request.images > 0 ? 'edit' : 'generate',
    background: chosen(tool['background'], 'opaque'),
    output_format: chosen(tool['output_format'], 'png'),
    quality: chosen(tool['quality'], 'medium'),
    size: chosen(tool['size'], '1024x1024'),
    revised_prompt: request.userText,
  }
  const partialImages = typeof tool['partial_images'] === 'number' ? tool['partial_images'] : 0
  return times(calls.images, (index) => ({
    type: 'image_generation_call',
    id: idOf(asked, 'image_generation_call', index),
    isWhole: true,
    members,
    result: image,
    partialImages,
  }))
}

const annotationOf = (index: number, characters: number): JsonObject => {
  const { url, title } = sourceOf(index)
  return { type: 'url_citation', start_index: 0, end_index: characters, url, title }
}

const messageItems = (asked: Asked, request: ResponsesRequest, output: Output): readonly Item[] => {
  if (request.calls.length > 0) return []
  const pieces = textTokensOf(output)
  const characters = pieces.join('').length
  const isRefusal = asked.directives.refusal === true
  const annotations = isRefusal ? [] : times(request.builtIn.searches, (index) => annotationOf(index, characters))
  const isWhole = output.finishReason !== 'length'
  return [{ type: 'message', id: idOf(asked, 'message', 0), isWhole, pieces, isRefusal, annotations }]
}

const callItems = (asked: Asked, request: ResponsesRequest, output: Output): readonly Item[] => {
  const calls = callsOf(output)
  return calls.map(({ name, pieces }, index) => {
    const type = request.customNames.includes(name) ? 'custom_tool_call' : 'function_call'
    const isWhole = output.finishReason !== 'length' || index < calls.length - 1
    return { type, id: idOf(asked, type, index), isWhole, callId: `call_${plainId(asked)}_${index}`, name, pieces }
  })
}

export const itemsOf = (asked: Asked, request: ResponsesRequest, output: Output): readonly Item[] => [
  ...reasoningItems(asked, request, output),
  ...searchItems(asked, request, request.builtIn),
  ...fileSearchItems(asked, request, request.builtIn),
  ...codeItems(asked, request.builtIn),
  ...imageItems(asked, request, request.builtIn),
  ...messageItems(asked, request, output),
  ...callItems(asked, request, output),
]

const contentOf = (item: Item & { readonly type: 'message' }): JsonObject => {
  const text = item.pieces.join('')
  if (item.isRefusal) return { type: 'refusal', refusal: text }
  return { type: 'output_text', text, annotations: item.annotations, logprobs: [] }
}

const reasoningMembers = ({ pieces, shown, encrypted }: Item & { readonly type: 'reasoning' }): JsonObject => ({
  summary: shown === 'summary' ? [{ type: 'summary_text', text: pieces.join('') }] : [],
  ...(shown === 'text' ? { content: [{ type: 'reasoning_text', text: pieces.join('') }] } : {}),
  ...(encrypted === null ? {} : { encrypted_content: encrypted }),
})

export const wholeItem = (item: Item): JsonObject => {
  const { type, id } = item
  const status = item.isWhole ? 'completed' : 'incomplete'
  switch (type) {
    case 'reasoning':
      return { id, type, ...reasoningMembers(item) }
    case 'message':
      return { id, type, status, role: 'assistant', content: [contentOf(item)] }
    case 'function_call':
      return { id, type, status, call_id: item.callId, name: item.name, arguments: item.pieces.join('') }
    case 'custom_tool_call':
      return { id, type, status, call_id: item.callId, name: item.name, input: item.pieces.join('') }
    case 'code_interpreter_call':
      return {
        id,
        type,
        status,
        code: item.pieces.join(''),
        container_id: item.containerId,
        outputs: [],
        ...item.members,
      }
    case 'image_generation_call':
      return { id, type, status, result: item.result, ...item.members }
    default:
      return { id, type, status: item.succeeds ? 'completed' : 'failed', ...item.members }
  }
}

export const openingItem = (item: Item): JsonObject => {
  const whole = wholeItem(item)
  const begun = { ...whole, status: 'in_progress' }
  switch (item.type) {
    case 'reasoning':
      return { ...whole, summary: [], ...(item.shown === 'text' ? { content: [] } : {}) }
    case 'message':
      return { ...begun, content: [] }
    case 'function_call':
      return { ...begun, arguments: '' }
    case 'custom_tool_call':
      return { ...begun, input: '' }
    case 'code_interpreter_call':
      return { ...begun, code: '', outputs: null }
    case 'image_generation_call':
      return { id: item.id, type: item.type, status: 'in_progress', result: null }
    default:
      return begun
  }
}

export const eventNameOf = (item: Item, what: string): string => `response.${asText(item.type)}.${what}`
