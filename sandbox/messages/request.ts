import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import {
  calledOf,
  type FunctionTool,
  type Prompt,
  reasoningTokensOf,
  reasoningTokensOfBudget,
} from '../answers/output.ts'
import { imageTokens } from '../answers/tokens.ts'
import { countWords, joinTexts } from '../answers/words.ts'
import { blocksOf } from './turns.ts'

export interface MessagesRequest extends Prompt {
  readonly thinks: boolean
  /** False: thinking is signed, but not shown. */
  readonly showsThinking: boolean
  readonly declaresSearch: boolean
  readonly searches: number
  readonly failedSearches: number
  /** Without the results of searches. */
  readonly promptTokens: number
}

const imagesIn = (block: JsonObject): number => (block['type'] === 'image' ? imageTokens : 0)

const tokensOfBlock = (block: JsonObject): number =>
  imagesIn(block) +
  countWords(asText(block['text'])) +
  countWords(asText(asObject(block['source'])['type'] === 'text' ? asObject(block['source'])['data'] : '')) +
  (block['content'] === undefined ? 0 : tokensOfContent(block['content']))

const tokensOfContent = (content: unknown): number =>
  blocksOf(content).reduce((tokens, block) => tokens + tokensOfBlock(block), 0)

/** Of the system's text and of all messages; a word is a token. */
export const promptTokensOf = (body: JsonObject): number =>
  asArray(body['messages']).reduce<number>(
    (tokens, message) => tokens + tokensOfContent(asObject(message)['content']),
    tokensOfContent(body['system'] ?? []),
  )

const textIn = (message: unknown): string =>
  joinTexts(blocksOf(asObject(message)['content']).map((block) => asText(block['text'])))

const userTextOf = (messages: readonly unknown[]): string => {
  const texts = messages.filter((message) => asObject(message)['role'] === 'user').map(textIn)
  return texts.findLast((text) => text !== '') ?? ''
}

/** Only a question calls tools: neither a result of one nor the beginning of an answer. */
const isQuestion = (last: unknown): boolean =>
  asObject(last)['role'] === 'user' &&
  !blocksOf(asObject(last)['content']).some((block) => block['type'] === 'tool_result')

const functionsIn = (body: JsonObject): readonly FunctionTool[] =>
  asArray(body['tools']).flatMap((tool) => {
    const { name, input_schema: parameters } = asObject(tool)
    return parameters === undefined ? [] : [{ name: asText(name), parameters }]
  })

const callsOf = (body: JsonObject, directives: Directives): readonly FunctionTool[] => {
  const choice = asObject(body['tool_choice'])
  if (choice['type'] === 'none') return []
  const tools = functionsIn(body).filter((tool) => choice['type'] !== 'tool' || tool.name === choice['name'])
  return calledOf(tools, choice['disable_parallel_tool_use'] === false, directives)
}

/** Undefined where the choice leaves it out. */
const searchToolIn = (body: JsonObject): JsonObject | undefined => {
  const { type, name } = asObject(body['tool_choice'])
  const tool = asArray(body['tools'])
    .map(asObject)
    .find((each) => asText(each['type']).startsWith('web_search_'))
  return type === 'none' || (type === 'tool' && name !== tool?.['name']) ? undefined : tool
}

const searchesOf = (tool: JsonObject | undefined, directives: Directives): number => {
  if (tool === undefined) return 0
  const most = typeof tool['max_uses'] === 'number' ? tool['max_uses'] : Number.POSITIVE_INFINITY
  return Math.min(directives.searches ?? 1, most)
}

const thinkingTokensOf = (thinking: JsonObject, effort: unknown): number => {
  if (thinking['type'] === undefined || thinking['type'] === 'disabled') return 0
  if (typeof thinking['budget_tokens'] === 'number') return reasoningTokensOfBudget(thinking['budget_tokens'])
  return reasoningTokensOf(asText(effort) || 'high')
}

const preface = 'I call what was given to me.'

export const readMessagesRequest = (body: JsonObject, directives: Directives): MessagesRequest => {
  const messages = asArray(body['messages'])
  const asks = isQuestion(messages.at(-1))
  const calls = asks ? callsOf(body, directives) : []
  const config = asObject(body['output_config'])
  const thinking = asObject(body['thinking'])
  const searchTool = searchToolIn(body)
  const isForced = ['any', 'tool'].includes(asText(asObject(body['tool_choice'])['type']))
  return {
    userText: userTextOf(messages),
    calls,
    preface: calls.length > 0 && !isForced ? preface : '',
    jsonSchema: isObject(config['format']) ? config['format']['schema'] : undefined,
    audio: false,
    stop: asArray(body['stop_sequences']).map(asText),
    outputTokensMax: typeof body['max_tokens'] === 'number' ? body['max_tokens'] : Number.POSITIVE_INFINITY,
    reasoningTokens: thinkingTokensOf(thinking, config['effort']),
    thinks: thinking['type'] !== undefined && thinking['type'] !== 'disabled',
    showsThinking: thinking['display'] !== 'omitted',
    declaresSearch: searchTool !== undefined,
    searches: asks ? searchesOf(searchTool, directives) : 0,
    failedSearches: asks && searchTool !== undefined ? (directives.failed_searches ?? 0) : 0,
    promptTokens: promptTokensOf(body),
  }
}
