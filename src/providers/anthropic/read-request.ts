import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { stepsOfEach } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { ArgumentBounds } from '../canonical/argument-bounds.ts'
import type {
  AnswerFormat,
  Conversation,
  ConversationPart,
  ConversationTurn,
  Reasoning,
  TextPart,
} from '../canonical/conversation.ts'
import type { Demands } from '../canonical/format.ts'
import { unsupported } from '../canonical/refuse.ts'
import { compactedMessages } from './compaction.ts'
import { isPresent, shortened } from './present.ts'
import { readBlocks, readInstructions } from './read-blocks.ts'
import { changedTools, toolChangeTypes } from './read-tool-changes.ts'
import { readMessagesToolChoice, readMessagesTools } from './read-tools.ts'

/** What only Anthropic offers, and must not be dropped silently, with what to do. All other such members are left out. */
const refusedFields = {
  mcp_servers:
    'names servers that Anthropic calls for Claude: no API of other models does that for messages. Call them yourself, with their tools as functions',
  container: 'names a container of Claude’s code execution, which other models do not have',
  compaction:
    'asks Claude to summarize the conversation, which other models are not trained for. Send a request for a summary, and its text in place of the messages',
  fallbacks: 'names other models of Claude’s. Here a router or a chain of models does that',
} as const

const refuseForeign = (body: JsonObject): void => {
  for (const [field, reason] of Object.entries(refusedFields))
    if (isPresent(body[field])) throw unsupported(field, reason)
  if (isPresent(body['inference_geo']) && body['inference_geo'] !== 'global')
    throw unsupported('inference_geo', 'must be global')
}

interface ReadMessages {
  readonly system: readonly TextPart[]
  readonly turns: readonly ConversationTurn[]
}

const callIdsOf = (parts: readonly ConversationPart[]): readonly string[] =>
  parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))

function* readMessages(messages: readonly unknown[], provider: string): Generator<void, ReadMessages> {
  const system: TextPart[] = []
  const turns: ConversationTurn[] = []
  const callIds = new Set<string>()
  const reading = { callIds, provider, argumentBounds: new ArgumentBounds() }
  yield* stepsOfEach(compactedMessages(messages), function* ({ message, index }) {
    const { role, content } = message
    const path = `messages[${index}]`
    if (role === 'system') {
      const instructions = readInstructions(content, `${path}.content`, toolChangeTypes)
      if (turns.length === 0) system.push(...instructions)
      else if (instructions.length > 0) turns.push({ role, parts: instructions })
    } else if (role !== 'user' && role !== 'assistant')
      throw invalidValue(`${path}.role`, 'user or assistant is required')
    else {
      const parts = yield* readBlocks(role, content, `${path}.content`, reading)
      for (const id of callIdsOf(parts)) callIds.add(id)
      turns.push({ role, parts })
    }
  })
  return { system, turns }
}

const effortOf = (body: JsonObject): string | null => {
  const effort = asObject(body['output_config'])['effort']
  return typeof effort === 'string' ? effort : null
}

const readReasoning = (body: JsonObject): Reasoning | null => {
  const effort = effortOf(body)
  const { thinking } = body
  if (!isObject(thinking)) return effort === null ? null : { type: 'effort', effort }
  switch (thinking['type']) {
    case 'disabled':
      return { type: 'off' }
    case 'adaptive':
      return { type: 'adaptive', effort }
    case 'enabled': {
      const tokens = thinking['budget_tokens']
      if (typeof tokens !== 'number') throw invalidValue('thinking.budget_tokens', 'a number is required')
      return { type: 'budget', tokens }
    }
    default:
      throw unsupported('thinking.type', `'${shortened(thinking['type'])}' is not available for this model`)
  }
}

const schemaNamePattern = /^[a-zA-Z0-9_-]{1,64}$/

/** The format has no name for a schema, other formats require one: its title, where that is a valid name. */
const schemaName = ({ title }: JsonObject): string =>
  typeof title === 'string' && schemaNamePattern.test(title) ? title : 'answer'

const readFormat = (body: JsonObject): AnswerFormat => {
  const format = asObject(body['output_config'])['format'] ?? body['output_format']
  if (!isPresent(format)) return { type: 'text' }
  const { type, schema } = asObject(format)
  if (type !== 'json_schema') throw invalidValue('output_config.format.type', 'json_schema is required')
  if (!isObject(schema)) throw invalidValue('output_config.format.schema', 'an object is required')
  return { type: 'schema', name: schemaName(schema), description: null, schema, strict: null }
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const userOf = (body: JsonObject): string | null => {
  const user = asObject(body['metadata'])['user_id']
  return typeof user === 'string' ? user : null
}

const stopSequencesOf = (body: JsonObject): readonly string[] =>
  asArray(body['stop_sequences']).filter((each) => typeof each === 'string')

export const readDemands = (body: JsonObject): Demands => ({
  hasFunctions: changedTools(readMessagesTools(body).tools, asArray(body['messages'])).length > 0,
  reasoning: readReasoning(body),
  stopSequences: stopSequencesOf(body),
})

/** See ClientFormat. What only tunes Anthropic's own service is left out. */
export function* readRequest(body: JsonObject, provider: string): Generator<void, Conversation> {
  refuseForeign(body)
  const messages = asArray(body['messages'])
  const { system, turns } = yield* readMessages(messages, provider)
  yield
  const { tools, ...offered } = readMessagesTools(body)
  return {
    system: [...readInstructions(body['system'], 'system'), ...system],
    turns,
    tools: changedTools(tools, messages),
    ...offered,
    ...readMessagesToolChoice(body['tool_choice'], offered.webSearch),
    outputTokensMax: numberOrNull(body['max_tokens']),
    temperature: numberOrNull(body['temperature']),
    topP: numberOrNull(body['top_p']),
    topK: numberOrNull(body['top_k']),
    stopSequences: stopSequencesOf(body),
    format: readFormat(body),
    reasoning: readReasoning(body),
    serviceTier: null,
    user: userOf(body),
  }
}
