import type { JsonObject } from '../../encoding/json.ts'
import { mapInSteps } from '../../encoding/steps.ts'
import { closedSchema } from '../anthropic/write-schema.ts'
import type { AnswerFormat, CacheMark, Conversation, ToolChoice, ToolDefinition } from '../canonical/conversation.ts'
import type { ReplyRequest } from '../canonical/format.ts'
import { outputLimit } from '../canonical/output-limit.ts'
import { refuseJsonFormat, unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { requestedTier } from '../dialect/provider.ts'
import { postToBedrock } from './address.ts'
import { withCallsAsText } from './calls-as-text.ts'
import { type WriteCachePoint, writeConverseText, writeConverseTurns } from './write-messages.ts'
import { writeConverseReasoning } from './write-reasoning.ts'

const cachingModels = /anthropic\.claude|amazon\.nova/
const temperatureMax = 1

/** Other models refuse them. Nova has one lifetime, and caches no tools. */
const cachePointFor =
  (upstreamModel: string): WriteCachePoint =>
  (cached: CacheMark) => {
    if (cached === null || !cachingModels.test(upstreamModel)) return []
    const ttl = upstreamModel.includes('amazon.nova') ? {} : { ttl: cached }
    return [{ cachePoint: { type: 'default', ...ttl } }]
  }

const inferenceOf = (conversation: Conversation, { outputCap }: ReplyRequest): JsonObject => {
  const { outputTokensMax, temperature, topP, stopSequences } = conversation
  const maxTokens = outputLimit(outputTokensMax, outputCap)
  const config = {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === null ? {} : { temperature: Math.min(temperature, temperatureMax) }),
    ...(topP === null ? {} : { topP }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
  }
  return Object.keys(config).length === 0 ? {} : { inferenceConfig: config }
}

const writeTool = ({ name, description, parameters }: ToolDefinition): JsonObject => ({
  toolSpec: {
    name,
    ...(description === null || description === '' ? {} : { description }),
    inputSchema: { json: { type: 'object', ...(parameters ?? { properties: {} }) } },
  },
})

const writeChoice = (choice: ToolChoice): JsonObject => {
  if (choice.type === 'tool') return { tool: { name: choice.name } }
  return choice.type === 'required' ? { any: {} } : { auto: {} }
}

/** The API has no choice `none`: then no tools are offered. */
const toolsOf = ({ tools, toolChoice }: Conversation, { upstreamModel }: Target): JsonObject => {
  if (tools.length === 0 || toolChoice?.type === 'none') return {}
  const writePoint = upstreamModel.includes('amazon.nova') ? () => [] : cachePointFor(upstreamModel)
  return {
    toolConfig: {
      tools: tools.flatMap((tool) => [writeTool(tool), ...writePoint(tool.cached)]),
      ...(toolChoice === null ? {} : { toolChoice: writeChoice(toolChoice) }),
    },
  }
}

const writeSchema = ({ name, description, schema }: Extract<AnswerFormat, { type: 'schema' }>): JsonObject => ({
  name,
  schema: JSON.stringify(closedSchema(schema)),
  ...(description === null ? {} : { description }),
})

const formatOf = (format: AnswerFormat): JsonObject => {
  switch (format.type) {
    case 'text':
      return {}
    case 'json':
      throw refuseJsonFormat()
    case 'schema':
      return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema: writeSchema(format) } } } }
  }
}

/**
 * Of `guardrailConfig`, `promptVariables` and `requestMetadata` nothing is written, and of `additionalModelRequestFields`
 * reasoning alone: what they hold belongs to the operator's account, or is not known here.
 */
export function* writeConverse(
  conversation: Conversation,
  target: Target,
  asking: ReplyRequest,
): Generator<void, UpstreamRequest> {
  if (conversation.webSearch !== null) throw unsupported('tools', 'has a web search, which this model has not')
  const { turns, reasoning } = conversation
  const writePoint = cachePointFor(target.upstreamModel)
  const system = conversation.system.flatMap((part) => {
    const written = writeConverseText(part)
    return written.length === 0 ? [] : [...written, ...writePoint(part.cached)]
  })
  const tools = toolsOf(conversation, target)
  const written = 'toolConfig' in tools ? turns : yield* mapInSteps(turns, withCallsAsText)
  const messages = yield* writeConverseTurns(written, writePoint)
  yield
  const { serviceTier } = requestedTier(target, conversation.serviceTier)
  return postToBedrock(target, asking.stream ? 'converse-stream' : 'converse', {
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...inferenceOf(conversation, asking),
    ...tools,
    ...writeConverseReasoning(reasoning, target.upstreamModel),
    ...formatOf(conversation.format),
    ...(serviceTier === undefined ? {} : { serviceTier: { type: serviceTier } }),
  })
}
