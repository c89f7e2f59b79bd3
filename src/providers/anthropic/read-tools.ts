import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import {
  type Conversation,
  readUserLocation,
  type ToolChoice,
  type ToolDefinition,
  type WebSearch,
} from '../canonical/conversation.ts'
import { invalidMember, unsupported } from '../canonical/refuse.ts'
import { shortened } from './present.ts'
import { readCacheMark } from './read-blocks.ts'

type Tools = Pick<Conversation, 'tools' | 'webSearch'>
type Choice = Pick<Conversation, 'toolChoice' | 'parallelToolCalls'>

const textsOf = (value: unknown): readonly string[] => asArray(value).filter((each) => typeof each === 'string')

export const readTool = (tool: JsonObject, path: string): ToolDefinition => {
  const { name, description, input_schema: schema, strict } = tool
  if (typeof name !== 'string' || name === '') throw invalidMember(`${path}.name`, 'a string is required')
  return {
    name,
    description: typeof description === 'string' ? description : null,
    parameters: isObject(schema) ? schema : null,
    strict: typeof strict === 'boolean' ? strict : null,
    cached: readCacheMark(tool),
  }
}

const readWebSearch = (tool: JsonObject): WebSearch => ({
  contextSize: null,
  usesMax: typeof tool['max_uses'] === 'number' ? tool['max_uses'] : null,
  allowedDomains: textsOf(tool['allowed_domains']),
  blockedDomains: textsOf(tool['blocked_domains']),
  userLocation: readUserLocation(tool['user_location']),
})

/** The caller's own tools, and the provider's web search. Throws `unsupported_parameter` for any other. */
export const readMessagesTools = (value: unknown): Tools => {
  const tools: ToolDefinition[] = []
  let webSearch: WebSearch | null = null
  for (const [index, each] of asArray(value).entries()) {
    const tool = asObject(each)
    const type = tool['type'] ?? 'custom'
    if (type === 'custom') tools.push(readTool(tool, `tools[${index}]`))
    else if (asText(type).startsWith('web_search_')) webSearch = readWebSearch(tool)
    else throw unsupported(`tools[${index}].type`, `'${shortened(type)}' is not available for this model`)
  }
  return { tools, webSearch }
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
      throw invalidMember('tool_choice.type', 'auto, any, tool or none is required')
  }
}

export const readMessagesToolChoice = (value: unknown): Choice => {
  if (!isObject(value)) return { toolChoice: null, parallelToolCalls: null }
  const disabled = value['disable_parallel_tool_use']
  return { toolChoice: readChoice(value), parallelToolCalls: typeof disabled === 'boolean' ? !disabled : null }
}
