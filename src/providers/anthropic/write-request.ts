import type { JsonObject } from '../../encoding/json.ts'
import type { AnswerFormat, Conversation } from '../canonical/conversation.ts'
import type { ReplyRequest } from '../canonical/format.ts'
import type { WrittenTurn } from '../canonical/merge-turns.ts'
import { refuseJsonFormat, unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { capabilitiesOf, type ModelCapabilities } from './capabilities.ts'
import { type PostMessages, postTo } from './endpoint.ts'
import { writeMessagesTurns, writeText } from './write-messages.ts'
import { closedSchema } from './write-schema.ts'
import { hasLostThinking, type Thinking, writeThinking } from './write-thinking.ts'
import { writeMessagesTools } from './write-tools.ts'

const temperatureMax = 1

export const pricesSearch = ({ sheet }: Target): boolean => sheet.per_call?.['web_search'] !== undefined

const refuseUnpriced = ({ webSearch }: Conversation, target: Target): void => {
  if (webSearch !== null && !pricesSearch(target))
    throw unsupported('tools', 'with web search has no published price for this model')
}

const maxTokensOf = ({ outputTokensMax }: Conversation, { sheet }: Target, { outputCap }: ReplyRequest): number =>
  Math.min(outputTokensMax ?? sheet.max_output_tokens, outputCap ?? Number.POSITIVE_INFINITY)

/** With a forced tool call the API does not think. */
const isForced = ({ toolChoice, webSearch }: Conversation): boolean =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool' || webSearch?.isForced === true

const thinkingOf = (
  conversation: Conversation,
  habits: ModelCapabilities,
  maxTokens: number,
  messages: readonly WrittenTurn[],
): Thinking => {
  const { thinking, effort } = writeThinking(conversation.reasoning, habits, maxTokens)
  const cannotThink = isForced(conversation) || (thinking?.['type'] === 'enabled' && hasLostThinking(messages))
  const isOff = thinking?.['type'] === 'disabled'
  return {
    ...(thinking === undefined || (cannotThink && !isOff) ? {} : { thinking }),
    ...(effort === undefined ? {} : { effort }),
  }
}

/** Thinking takes no sampling parameters, newer models take none at all, and others take one of the two. */
const samplingOf = (
  { temperature, topP, topK }: Conversation,
  habits: ModelCapabilities,
  { thinking }: Thinking,
): JsonObject => {
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled'
  if (!habits.sampling || isThinking) return {}
  return {
    ...(temperature === null ? {} : { temperature: Math.min(temperature, temperatureMax) }),
    ...(topP === null || temperature !== null ? {} : { top_p: topP }),
    ...(topK === null ? {} : { top_k: topK }),
  }
}

const formatOf = (format: AnswerFormat, { schema: takesSchema }: ModelCapabilities): JsonObject => {
  switch (format.type) {
    case 'text':
      return {}
    case 'json':
      throw refuseJsonFormat()
    case 'schema':
      if (!takesSchema) throw unsupported('response_format', 'with a schema is not available for this model')
      return { format: { type: 'json_schema', schema: closedSchema(format.schema) } }
  }
}

const outputConfig = (format: AnswerFormat, habits: ModelCapabilities, { effort }: Thinking): JsonObject => {
  const config = { ...(effort === undefined ? {} : { effort }), ...formatOf(format, habits) }
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

const systemOf = ({ system }: Conversation): JsonObject => {
  const written = system.flatMap(writeText)
  return written.length === 0 ? {} : { system: written }
}

function* bodyOf(conversation: Conversation, target: Target, asking: ReplyRequest): Generator<void, JsonObject> {
  refuseUnpriced(conversation, target)
  const { stopSequences, user, format } = conversation
  const habits = capabilitiesOf(target.upstreamModel)
  const maxTokens = maxTokensOf(conversation, target, asking)
  const messages = yield* writeMessagesTurns(conversation.turns)
  yield
  const thought = thinkingOf(conversation, habits, maxTokens, messages)
  return {
    model: target.upstreamModel,
    max_tokens: maxTokens,
    ...systemOf(conversation),
    messages,
    ...writeMessagesTools(conversation, habits.schema),
    ...(thought.thinking === undefined ? {} : { thinking: thought.thinking }),
    ...outputConfig(format, habits, thought),
    ...samplingOf(conversation, habits, thought),
    ...(stopSequences.length === 0 ? {} : { stop_sequences: stopSequences }),
    ...(user === null ? {} : { metadata: { user_id: user } }),
    service_tier: 'standard_only',
    stream: asking.stream,
  }
}

export function* writeRequest(
  conversation: Conversation,
  target: Target,
  asking: ReplyRequest,
  post: PostMessages = postTo,
): Generator<void, UpstreamRequest> {
  return post(target, '/messages', yield* bodyOf(conversation, target, asking), { stream: asking.stream })
}
