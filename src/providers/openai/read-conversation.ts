import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import {
  type AnswerFormat,
  type Conversation,
  type Reasoning,
  readUserLocation,
  type WebSearch,
} from '../canonical/conversation.ts'
import type { Demands } from '../canonical/format.ts'
import { unsupported } from '../canonical/refuse.ts'
import { chatMembers } from './allowed-members.ts'
import { readMessages } from './read-conversation-messages.ts'
import { readChatToolChoice, readChatTools, readParallelToolCalls } from './read-conversation-tools.ts'

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const refuseUnsayable = (body: JsonObject): void => {
  if (typeof body['n'] === 'number' && body['n'] > 1) throw unsupported('n', 'above 1 is not available for this model')
  if (body['logprobs'] === true) throw unsupported('logprobs', 'is not available for this model')
  if (asArray(body['modalities']).includes('audio'))
    throw unsupported('modalities', 'with audio is not available for this model')
}

/** Where two limits are given, the smaller one costs less. */
const readOutputTokensMax = (body: JsonObject): number | null => {
  const given = [body['max_completion_tokens'], body['max_tokens']].filter((limit) => typeof limit === 'number')
  return given.length === 0 ? null : Math.min(...given)
}

const readStop = (stop: unknown): readonly string[] =>
  (typeof stop === 'string' ? [stop] : asArray(stop)).map(asText).filter((sequence) => sequence !== '')

const readFormat = (body: JsonObject): AnswerFormat => {
  const { type, json_schema } = asObject(body['response_format'])
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') return { type: 'text' }
  const { name, description, schema, strict } = asObject(json_schema)
  return {
    type: 'schema',
    name: asText(name),
    description: typeof description === 'string' ? description : null,
    schema: asObject(schema),
    strict: typeof strict === 'boolean' ? strict : null,
  }
}

const readReasoning = (effort: unknown): Reasoning | null => {
  if (typeof effort !== 'string') return null
  return effort === 'none' ? { type: 'off' } : { type: 'effort', effort }
}

const contextSizes = ['low', 'medium', 'high'] as const
const readWebSearch = (options: unknown): WebSearch | null =>
  isObject(options)
    ? {
        contextSize: contextSizes.find((size) => size === options['search_context_size']) ?? null,
        usesMax: null,
        allowedDomains: [],
        blockedDomains: [],
        userLocation: readUserLocation(asObject(options['user_location'])['approximate']),
      }
    : null

const readUser = ({ user, safety_identifier }: JsonObject): string | null => {
  const word = asText(user) || asText(safety_identifier)
  return word === '' ? null : word
}

export const sharedMembers: readonly string[] = [
  'metadata',
  'moderation',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
]

const isOpenAIs = (name: string): boolean =>
  name === 'verbosity' || sharedMembers.includes(name) || !chatMembers.members.has(name)

const readOpenAIMembers = (body: JsonObject): Pick<Conversation, 'openaiMembers'> => {
  const members = Object.entries(body).filter(
    ([name, value]) => value !== undefined && value !== null && isOpenAIs(name),
  )
  return members.length === 0 ? {} : { openaiMembers: Object.fromEntries(members) }
}

export const readChatDemands = (body: JsonObject): Demands => {
  refuseUnsayable(body)
  readChatToolChoice(body)
  return {
    hasFunctions: readChatTools(body).length > 0,
    reasoning: readReasoning(body['reasoning_effort']),
    stopSequences: readStop(body['stop']),
  }
}

/** For other providers, unknown members, and those that only tune an answer, are dropped; what would change the answer's kind throws. */
export function* readConversation(body: JsonObject): Generator<void, Conversation> {
  refuseUnsayable(body)
  const messages = yield* readMessages(asArray(body['messages']))
  yield
  return {
    ...messages,
    tools: readChatTools(body),
    toolChoice: readChatToolChoice(body),
    parallelToolCalls: readParallelToolCalls(body),
    outputTokensMax: readOutputTokensMax(body),
    temperature: numberOf(body['temperature']),
    topP: numberOf(body['top_p']),
    topK: null,
    stopSequences: readStop(body['stop']),
    format: readFormat(body),
    reasoning: readReasoning(body['reasoning_effort']),
    webSearch: readWebSearch(body['web_search_options']),
    serviceTier: typeof body['service_tier'] === 'string' ? body['service_tier'] : null,
    user: readUser(body),
    ...readOpenAIMembers(body),
  }
}
