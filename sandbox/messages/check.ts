import type { IncomingHttpHeaders } from 'node:http'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { openObjectIn } from '../answers/schemas.ts'
import type { Incoming } from '../http/dialect.ts'
import { assertMessagesMembers, refuseMessages, refuseTag } from './refusing.ts'
import { assertMessages } from './turns.ts'

const countedMembers = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
  'context_management',
  'mcp_servers',
  'speed',
  'user_profile_id',
  'workspace_id',
]
const members = [
  ...countedMembers,
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'container',
  'diagnostics',
  'inference_geo',
]

const isWhole = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value)

const assertVersion = (headers: IncomingHttpHeaders): void => {
  const version = headers['anthropic-version']
  if (version === undefined) throw refuseMessages('anthropic-version', 'header is required')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(String(version)))
    throw refuseMessages('anthropic-version', `"${version}" is not a valid version`)
}

const assertMaxTokens = (body: JsonObject): void => {
  const most = body['max_tokens']
  if (most === undefined) throw refuseMessages('max_tokens', 'Field required')
  if (!isWhole(most)) throw refuseMessages('max_tokens', 'Input should be a valid integer')
  if (most < 1) throw refuseMessages('max_tokens', 'must be greater than or equal to 1')
}

const assertShare = (body: JsonObject, name: string): void => {
  const value = body[name]
  if (value === undefined) return
  if (typeof value !== 'number' || value < 0 || value > 1) throw refuseMessages(name, 'range: 0..1')
}

const assertStops = (body: JsonObject): void => {
  if (body['stop_sequences'] !== undefined && !Array.isArray(body['stop_sequences']))
    throw refuseMessages('stop_sequences', 'Input should be a valid list')
  if (asArray(body['stop_sequences']).some((stop) => asText(stop).trim() === ''))
    throw refuseMessages('stop_sequences', 'each stop sequence must contain non-whitespace')
}

const budgetMin = 1_024

const assertBudget = (body: JsonObject, thinking: JsonObject): void => {
  const budget = thinking['budget_tokens']
  if (budget === undefined) throw refuseMessages('thinking.enabled.budget_tokens', 'Field required')
  if (!isWhole(budget) || budget < budgetMin)
    throw refuseMessages('thinking.enabled.budget_tokens', `Input should be greater than or equal to ${budgetMin}`)
  if (isWhole(body['max_tokens']) && budget >= body['max_tokens'])
    throw new Refusal('`max_tokens` must be greater than `thinking.budget_tokens`.')
}

const topPMinThinking = 0.95

const assertSamplingOfThinking = (body: JsonObject): void => {
  if ((body['temperature'] ?? 1) !== 1)
    throw new Refusal('`temperature` may only be set to 1 when thinking is enabled.')
  if (body['top_k'] !== undefined) throw new Refusal('`top_k` must be unset when thinking is enabled.')
  if (typeof body['top_p'] === 'number' && body['top_p'] < topPMinThinking)
    throw new Refusal('`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.')
  if (['any', 'tool'].includes(asText(asObject(body['tool_choice'])['type'])))
    throw new Refusal('Thinking may not be enabled when tool_choice forces tool use.')
}

const assertThinking = (body: JsonObject): void => {
  const { thinking } = body
  if (thinking === undefined) return
  const type = asText(asObject(thinking)['type'])
  if (!['enabled', 'disabled', 'adaptive', 'between_tools'].includes(type)) throw refuseTag('thinking', type)
  if (type === 'disabled') return
  if (type === 'enabled') assertBudget(body, asObject(thinking))
  assertSamplingOfThinking(body)
}

const toolMembers = [
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
  'allowed_callers',
  'input_examples',
  'eager_input_streaming',
]

const openSchema = "For 'object' type, 'additionalProperties' must be explicitly set to false"

const assertCustomTool = (tool: JsonObject, path: string): void => {
  assertMessagesMembers(tool, toolMembers, path)
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(asText(tool['name'])))
    throw refuseMessages(`${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
  const schema = tool['input_schema']
  if (!isObject(schema)) throw refuseMessages(`${path}.input_schema`, 'Field required')
  if (schema['type'] === undefined) throw refuseMessages(`${path}.input_schema.type`, 'Field required')
  if (schema['type'] !== 'object') throw refuseMessages(`${path}.input_schema.type`, "Input should be 'object'")
  if (tool['strict'] === true && openObjectIn(schema) !== undefined) throw refuseMessages(path, openSchema)
}

const serverTool = /^(?:bash|browser|code_execution|computer|memory|text_editor|tool_search|web_fetch|web_search)_/

const assertTools = (body: JsonObject): void => {
  const tools = asArray(body['tools']).map(asObject)
  for (const [index, tool] of tools.entries()) {
    const type = asText(tool['type'] ?? 'custom')
    if (type === 'custom') assertCustomTool(tool, `tools.${index}.custom`)
    else if (!serverTool.test(type)) throw refuseTag(`tools.${index}`, type)
  }
  const names = tools.map((tool) => tool['name'])
  if (new Set(names).size < names.length) throw refuseMessages('tools', 'Tool names must be unique.')
}

const choiceTypes = ['auto', 'any', 'tool', 'none']

const assertToolChoice = (body: JsonObject): void => {
  if (body['tool_choice'] === undefined) return
  const choice = asObject(body['tool_choice'])
  const type = asText(choice['type'])
  if (!choiceTypes.includes(type)) throw refuseTag('tool_choice', type, choiceTypes)
  const tools = asArray(body['tools'])
  if (tools.length === 0) throw new Refusal('tool_choice may only be specified while providing tools.')
  if (type === 'tool' && !tools.some((tool) => asObject(tool)['name'] === choice['name']))
    throw new Refusal(`Tool '${choice['name']}' not found in provided tools`)
}

const assertFormat = (body: JsonObject): void => {
  const format = asObject(body['output_config'])['format']
  if (format === undefined || format === null) return
  const { type, schema } = asObject(format)
  if (type !== 'json_schema') throw refuseMessages('output_config.format.type', "Input should be 'json_schema'")
  if (!isObject(schema)) throw refuseMessages('output_config.format.schema', 'Field required')
  if (openObjectIn(schema) !== undefined) throw refuseMessages('output_config.format.schema', openSchema)
}

const cachedBlocksMax = 4

const marksIn = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce<number>((marks, each) => marks + marksIn(each), 0)
  if (!isObject(value)) return 0
  return (isObject(value['cache_control']) ? 1 : 0) + marksIn(value['content'])
}

const assertCacheMarks = (body: JsonObject): void => {
  const marks = marksIn(body['system']) + marksIn(body['tools']) + marksIn(body['messages'])
  if (marks > cachedBlocksMax)
    throw new Refusal(`A maximum of ${cachedBlocksMax} blocks with cache_control may be provided. Found ${marks}.`)
}

const assertSystem = (body: JsonObject): void => {
  for (const [index, block] of asArray(body['system']).map(asObject).entries()) {
    if (block['type'] !== 'text') throw refuseMessages(`system.${index}.type`, "Input should be 'text'")
    assertMessagesMembers(block, ['type', 'text', 'citations', 'cache_control'], `system.${index}`)
    if (asText(block['text']) === '') throw refuseMessages('system', 'text content blocks must be non-empty')
  }
}

const assertPrompt = ({ headers, body }: Incoming, known: readonly string[]): void => {
  assertVersion(headers)
  assertMessagesMembers(body, known, '')
  assertSystem(body)
  assertTools(body)
  assertToolChoice(body)
  assertThinking(body)
  assertFormat(body)
  assertMessages(body)
  assertCacheMarks(body)
}

export const checkMessages = (incoming: Incoming): void => {
  const { body } = incoming
  assertVersion(incoming.headers)
  assertMaxTokens(body)
  assertShare(body, 'temperature')
  assertShare(body, 'top_p')
  assertStops(body)
  assertMessagesMembers(asObject(body['metadata']), ['user_id', 'sandbox'], 'metadata')
  assertPrompt(incoming, members)
}

export const checkCount = (incoming: Incoming): void => assertPrompt(incoming, [...countedMembers, 'metadata'])
