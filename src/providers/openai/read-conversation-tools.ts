import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { ToolChoice, ToolDefinition } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'

const readFunction = (definition: unknown): ToolDefinition => {
  const { name, description, parameters, strict } = asObject(definition)
  return {
    name: asText(name),
    description: typeof description === 'string' ? description : null,
    parameters: isObject(parameters) ? parameters : null,
    strict: typeof strict === 'boolean' ? strict : null,
    cached: null,
  }
}

const readTool = (tool: unknown, index: number): ToolDefinition => {
  const { type, function: definition } = asObject(tool)
  if (type === 'function') return readFunction(definition)
  throw unsupported(`tools[${index}].type`, `'${asText(type)}' is not available for this model`)
}

/** The deprecated form of tools: its answers and its history have no call ids. */
export const usesFunctions = (body: JsonObject): boolean =>
  asArray(body['functions']).length > 0 && asArray(body['tools']).length === 0

export const readChatTools = (body: JsonObject): readonly ToolDefinition[] => [
  ...asArray(body['tools']).map(readTool),
  ...asArray(body['functions']).map(readFunction),
]

const choiceWords = ['auto', 'none', 'required'] as const

const readChoice = (choice: unknown, named: unknown): ToolChoice | null => {
  const word = choiceWords.find((each) => each === choice)
  if (word !== undefined) return { type: word }
  const { name } = asObject(named)
  return typeof name === 'string' ? { type: 'tool', name } : null
}

export const readChatToolChoice = (body: JsonObject): ToolChoice | null => {
  const { tool_choice, function_call } = body
  const { type, function: named } = asObject(tool_choice)
  if (type === 'allowed_tools' || type === 'custom')
    throw unsupported('tool_choice', `of type '${type}' is not available for this model`)
  return readChoice(tool_choice, named) ?? readChoice(function_call, function_call)
}

/** The deprecated form has room for one call. */
export const readParallelToolCalls = (body: JsonObject): boolean | null => {
  if (usesFunctions(body)) return false
  const { parallel_tool_calls } = body
  return typeof parallel_tool_calls === 'boolean' ? parallel_tool_calls : null
}
