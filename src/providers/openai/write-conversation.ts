import type { JsonObject } from '../../encoding/json.ts'
import type { AnswerFormat, Conversation, ToolChoice, ToolDefinition, WebSearch } from '../canonical/conversation.ts'
import type { ReplyRequest } from '../canonical/format.ts'
import { outputLimit } from '../canonical/output-limit.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { type Profile, type Provider, providerCapabilities, stopSequencesMaxOf } from '../dialect/provider.ts'
import { effortFor, isRouted, namedModelOf, wantedEffort } from './effort.ts'
import { capFieldOf, postToOpenAI } from './request.ts'
import { isSearchModel, refuseUnpricedSearch } from './usage.ts'
import { writeChatMessages } from './write-conversation-messages.ts'

/** Gemini's chat endpoint refuses members that it does not know. */
const strictOf = (strict: boolean | null, profile: Profile): JsonObject =>
  strict === null || profile === 'gemini' ? {} : { strict }

const toolOf = ({ name, description, parameters, strict }: ToolDefinition, profile: Profile): JsonObject => ({
  type: 'function',
  function: {
    name,
    ...(description === null ? {} : { description }),
    ...(parameters === null ? {} : { parameters }),
    ...strictOf(strict, profile),
  },
})

const choiceOf = (choice: ToolChoice): unknown =>
  choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type

/** OpenAI refuses `tool_choice` and `parallel_tool_calls` without tools. */
const writeChatTools = ({ tools, toolChoice, parallelToolCalls }: Conversation, profile: Profile): JsonObject =>
  tools.length === 0
    ? {}
    : {
        tools: tools.map((tool) => toolOf(tool, profile)),
        ...(toolChoice === null ? {} : { tool_choice: choiceOf(toolChoice) }),
        ...(parallelToolCalls === null ? {} : { parallel_tool_calls: parallelToolCalls }),
      }

const present = (name: string, value: unknown): JsonObject => (value === null ? {} : { [name]: value })

const capOf = ({ outputTokensMax }: Conversation, { outputCap }: ReplyRequest, provider: Provider): JsonObject => {
  const limit = outputLimit(outputTokensMax, outputCap)
  return limit === undefined ? {} : { [capFieldOf(provider)]: limit }
}

const effortOf = ({ reasoning, tools }: Conversation, target: Target): string | null => {
  const model = namedModelOf(target)
  return effortFor(model, wantedEffort(reasoning, model), tools.length > 0 && !isRouted(target.upstreamModel))
}

const formatOf = (format: AnswerFormat): JsonObject => {
  switch (format.type) {
    case 'text':
      return {}
    case 'json':
      return { response_format: { type: 'json_object' } }
    case 'schema': {
      const { name, description, schema, strict } = format
      const definition = { name, ...present('description', description), schema, ...present('strict', strict) }
      return { response_format: { type: 'json_schema', json_schema: definition } }
    }
  }
}

const searchOptionsOf = ({ contextSize, userLocation }: WebSearch): JsonObject => ({
  web_search_options: {
    ...present('search_context_size', contextSize),
    ...(userLocation === null ? {} : { user_location: { type: 'approximate', approximate: userLocation } }),
  },
})

/** Search models search once for each request, without limits on domains; no other model searches on this surface. */
const webSearchOf = (webSearch: WebSearch | null, upstreamModel: string): JsonObject => {
  if (webSearch === null) return {}
  if (!isSearchModel(upstreamModel)) throw unsupported('tools', 'with web search is not available for this model')
  if (webSearch.allowedDomains.length > 0 || webSearch.blockedDomains.length > 0)
    throw unsupported('tools', 'with domains for web search is not available for this model')
  return searchOptionsOf(webSearch)
}

const stopOf = ({ stopSequences }: Conversation, provider: Provider): JsonObject => {
  const most = stopSequencesMaxOf(provider)
  if (stopSequences.length > most)
    throw unsupported('stop_sequences', `has more than the ${most} that this model takes`)
  return stopSequences.length === 0 ? {} : { stop: stopSequences }
}

/** Gemini's chat endpoint refuses members that it does not know. */
const userOf = (user: string | null, profile: Profile): JsonObject =>
  profile === 'gemini' || (user ?? '').length > providerLimits.userCharactersMax ? {} : present('user', user)

const streamOf = (provider: Provider): JsonObject => ({
  stream: true,
  ...(providerCapabilities(provider).stream_options ? { stream_options: { include_usage: true } } : {}),
})

function* bodyOf(conversation: Conversation, target: Target, asking: ReplyRequest): Generator<void, JsonObject> {
  const { provider, upstreamModel } = target
  const { profile } = provider
  const { temperature, topP, format, webSearch, user } = conversation
  const messages = yield* writeChatMessages(conversation, profile)
  yield
  return {
    model: upstreamModel,
    messages,
    ...writeChatTools(conversation, profile),
    ...capOf(conversation, asking, provider),
    ...present('temperature', temperature),
    ...present('top_p', topP),
    ...stopOf(conversation, provider),
    ...formatOf(format),
    ...present('reasoning_effort', effortOf(conversation, target)),
    ...webSearchOf(webSearch, upstreamModel),
    ...userOf(user, profile),
    ...(providerCapabilities(provider).service_tiers.includes('default') ? { service_tier: 'default' } : {}),
    ...(asking.stream ? streamOf(provider) : {}),
  }
}

/** Throws `unsupported_parameter` for what chat cannot express, or has no price for. */
export function* writeConversation(
  conversation: Conversation,
  target: Target,
  asking: ReplyRequest,
): Generator<void, UpstreamRequest> {
  const { webSearch } = conversation
  refuseUnpricedSearch(target, webSearch?.contextSize ?? null, webSearch === null ? 'model' : 'tools')
  return postToOpenAI(target.provider, '/chat/completions', asking.stream, yield* bodyOf(conversation, target, asking))
}
