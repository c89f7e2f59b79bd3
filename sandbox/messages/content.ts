import { Buffer } from 'node:buffer'
import { asObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { callsOf, type Output, textTokensOf } from '../answers/output.ts'
import { queryOf, type Source, sourceOf } from '../answers/searching.ts'
import { redactedData, signatureOf } from '../answers/signature.ts'
import { tokensOfJson } from '../answers/words.ts'
import type { Asked } from '../http/dialect.ts'
import type { MessagesRequest } from './request.ts'

/** `pieces` are the deltas that a stream sends, in order. */
export type Block =
  | { readonly type: 'thinking'; readonly pieces: readonly string[]; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'text'; readonly pieces: readonly string[]; readonly citations: readonly JsonObject[] }
  | {
      readonly type: 'tool_use' | 'server_tool_use'
      readonly id: string
      readonly name: string
      readonly pieces: readonly string[]
    }
  | { readonly type: 'web_search_tool_result'; readonly id: string; readonly content: unknown }

/** The real ids have letters and digits only. */
export const idOf = (prefix: string, asked: Asked): string => `${prefix}_${asked.id.replaceAll('-', '')}`

const thinkingBlocks = ({ directives }: Asked, request: MessagesRequest, output: Output): readonly Block[] => {
  const pieces = request.showsThinking ? output.reasoningText : []
  return [
    ...(request.thinks ? [{ type: 'thinking' as const, pieces, signature: signatureOf(pieces.join('')) }] : []),
    ...(directives.redacted_thinking ? [{ type: 'redacted_thinking' as const, data: redactedData }] : []),
  ]
}

const encrypted = (source: Source): string => Buffer.from(source.url).toString('base64')

const foundBy = (index: number): readonly JsonObject[] => {
  const source = sourceOf(index)
  const { url, title } = source
  return [{ type: 'web_search_result', url, title, encrypted_content: encrypted(source), page_age: '2 days ago' }]
}

const searchError = { type: 'web_search_tool_result_error', error_code: 'unavailable' }

const searchBlocks = (asked: Asked, request: MessagesRequest): readonly Block[] =>
  Array.from({ length: request.searches + request.failedSearches }, (_, index): readonly Block[] => {
    const id = `${idOf('srvtoolu', asked)}_${index}`
    const pieces = tokensOfJson(JSON.stringify({ query: queryOf(request.userText, index) }))
    const content = index < request.searches ? foundBy(index) : searchError
    return [
      { type: 'server_tool_use', id, name: 'web_search', pieces },
      { type: 'web_search_tool_result', id, content },
    ]
  }).flat()

const citationOf = (index: number): JsonObject => {
  const source = sourceOf(index)
  const { url, title, text } = source
  return { type: 'web_search_result_location', cited_text: text, url, title, encrypted_index: encrypted(source) }
}

/** Search results are cited in the second half. */
const textBlocks = (request: MessagesRequest, output: Output): readonly Block[] => {
  const tokens = textTokensOf(output)
  const citations = Array.from({ length: request.searches }, (_, index) => citationOf(index))
  const cited = citations.length > 0 ? Math.floor(tokens.length / 2) : 0
  const halves = [
    { type: 'text' as const, pieces: citations.length > 0 ? tokens.slice(0, cited) : tokens, citations: [] },
    { type: 'text' as const, pieces: citations.length > 0 ? tokens.slice(cited) : [], citations },
  ]
  return halves.filter(({ pieces }) => pieces.length > 0)
}

const toolBlocks = (asked: Asked, output: Output): readonly Block[] =>
  callsOf(output).map(({ name, pieces }, index) => ({
    type: 'tool_use',
    id: `${idOf('toolu', asked)}_${index}`,
    name,
    pieces,
  }))

export const contentOf = (asked: Asked, request: MessagesRequest, output: Output): readonly Block[] => [
  ...thinkingBlocks(asked, request, output),
  ...searchBlocks(asked, request),
  ...textBlocks(request, output),
  ...toolBlocks(asked, output),
]

/** The model itself called the tool. */
const caller = { type: 'direct' }

export const wholeBlock = (block: Block): JsonObject => {
  switch (block.type) {
    case 'thinking':
      return { type: block.type, thinking: block.pieces.join(''), signature: block.signature }
    case 'redacted_thinking':
      return { type: block.type, data: block.data }
    case 'text':
      return {
        type: block.type,
        text: block.pieces.join(''),
        ...(block.citations.length > 0 ? { citations: block.citations } : {}),
      }
    case 'tool_use':
    case 'server_tool_use': {
      const input = asObject(parseJson(block.pieces.join('')))
      return { type: block.type, id: block.id, name: block.name, input, caller }
    }
    case 'web_search_tool_result':
      return { type: block.type, tool_use_id: block.id, content: block.content, caller }
  }
}

export const openingBlock = (block: Block): JsonObject => {
  switch (block.type) {
    case 'thinking':
      return { type: block.type, thinking: '', signature: '' }
    case 'text':
      return { type: block.type, text: '', ...(block.citations.length > 0 ? { citations: [] } : {}) }
    case 'tool_use':
    case 'server_tool_use':
      return { type: block.type, id: block.id, name: block.name, input: {}, caller }
    default:
      return wholeBlock(block)
  }
}

export function* deltasOf(block: Block): Iterable<JsonObject> {
  switch (block.type) {
    case 'thinking':
      for (const thinking of block.pieces) yield { type: 'thinking_delta', thinking }
      yield { type: 'signature_delta', signature: block.signature }
      return
    case 'text':
      for (const citation of block.citations) yield { type: 'citations_delta', citation }
      for (const text of block.pieces) yield { type: 'text_delta', text }
      return
    case 'tool_use':
    case 'server_tool_use':
      yield { type: 'input_json_delta', partial_json: '' }
      for (const piece of block.pieces) yield { type: 'input_json_delta', partial_json: piece }
      return
    default:
  }
}
