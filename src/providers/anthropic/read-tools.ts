import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import {
  type Conversation,
  readUserLocation,
  type ToolChoice,
  type ToolDefinition,
  type WebSearch,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { clientTool } from './client-tools.ts'
import { shortened } from './present.ts'
import { readCacheMark } from './read-blocks.ts'

type Tools = Pick<Conversation, 'tools' | 'webSearch' | 'droppedTools'>
type Choice = Pick<Conversation, 'toolChoice' | 'parallelToolCalls'>

const textsOf = (value: unknown): readonly string[] => asArray(value).filter((each) => typeof each === 'string')

export const readTool = (tool: JsonObject, path: string): ToolDefinition => {
  const { name, description, input_schema: schema, strict } = tool
  if (typeof name !== 'string' || name === '') throw invalidValue(`${path}.name`, 'a string is required')
  return {
    name,
    description: typeof description === 'string' ? description : null,
    parameters: isObject(schema) ? schema : null,
    strict: typeof strict === 'boolean' ? strict : null,
    cached: readCacheMark(tool),
  }
}

const readWebSearch = (tool: JsonObject, isForced: boolean): WebSearch => ({
  ...(isForced ? { isForced } : { isOptional: true }),
  contextSize: null,
  usesMax: typeof tool['max_uses'] === 'number' ? tool['max_uses'] : null,
  allowedDomains: textsOf(tool['allowed_domains']),
  blockedDomains: textsOf(tool['blocked_domains']),
  userLocation: readUserLocation(tool['user_location']),
})

/** Run by the provider, and without a counterpart elsewhere: an answer does without what is merely offered. */
const offeredTypes = /^(?:web_fetch|code_execution|tool_search_tool|advisor)_|^mcp_toolset$/

const demands = (choice: JsonObject, { name }: JsonObject): boolean =>
  choice['type'] === 'tool' && choice['name'] === name && name !== undefined

const readCallersTool = (tool: JsonObject, path: string): ToolDefinition => {
  const type = tool['type'] ?? 'custom'
  if (type === 'custom') return readTool(tool, path)
  const known = clientTool(asText(type), asText(tool['name']))
  if (known === null)
    throw unsupported(
      `${path}.type`,
      `'${shortened(type)}' is Claude’s own tool, whose schema is not published: declare a function with its schema`,
    )
  return { ...known, cached: readCacheMark(tool) }
}

const searchFor = (
  search: JsonObject | undefined,
  tools: readonly ToolDefinition[],
  choice: JsonObject,
): WebSearch | null => {
  if (search === undefined || choice['type'] === 'none') return null
  return readWebSearch(search, demands(choice, search) || (choice['type'] === 'any' && tools.length === 0))
}

const refuseUnmetDemand = (tools: readonly ToolDefinition[], search: unknown, choice: JsonObject): void => {
  if (choice['type'] === 'any' && tools.length === 0 && search === undefined)
    throw unsupported('tool_choice', 'demands a tool, and none that is offered is available for this model')
}

/** Throws `unsupported_parameter` for a tool that `tool_choice` demands and that the model does not have. */
export const readMessagesTools = ({ tools: declared, tool_choice }: JsonObject): Tools => {
  const choice = asObject(tool_choice)
  const tools: ToolDefinition[] = []
  const droppedTools: string[] = []
  let search: JsonObject | undefined
  for (const [index, each] of asArray(declared).entries()) {
    const tool = asObject(each)
    const type = asText(tool['type'])
    if (type.startsWith('web_search_')) search = tool
    else if (offeredTypes.test(type) && !demands(choice, tool)) droppedTools.push(type)
    else tools.push(readCallersTool(tool, `tools[${index}]`))
  }
  if (droppedTools.length > 0) refuseUnmetDemand(tools, search, choice)
  const dropped = droppedTools.length === 0 ? {} : { droppedTools: [...new Set(droppedTools)] }
  return { tools, webSearch: searchFor(search, tools, choice), ...dropped }
}

const readChoice = (choice: JsonObject): ToolChoice => {
  switch (choice['type']) {
    case 'auto':
      return { type: 'auto' }
    case 'any':
      return { type: 'required' }
    case 'none':
      return { type: 'none' }
    case 'tool':
      return { type: 'tool', name: asText(choice['name']) }
    default:
      throw invalidValue('tool_choice.type', 'auto, any, tool or none is required')
  }
}

export const readMessagesToolChoice = (value: unknown, webSearch: WebSearch | null): Choice => {
  if (!isObject(value)) return { toolChoice: null, parallelToolCalls: null }
  const disabled = value['disable_parallel_tool_use']
  const choice = readChoice(value)
  const toolChoice = webSearch?.isForced === true ? null : choice
  return { toolChoice, parallelToolCalls: typeof disabled === 'boolean' ? !disabled : null }
}
