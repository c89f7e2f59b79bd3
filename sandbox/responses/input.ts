import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { invalid, missing, wrongType } from './refusing.ts'
import type { StoredResponses } from './stored.ts'

const userParts = ['input_text', 'input_image', 'input_file', 'input_audio']
const assistantParts = ['output_text', 'refusal']
const roles = ['assistant', 'system', 'developer', 'user']

const itemTypes = [
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'item_reference',
  'web_search_call',
  'x_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'compaction',
]

const required: { readonly [type: string]: readonly string[] } = {
  function_call: ['call_id', 'name', 'arguments'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call: ['call_id', 'name', 'input'],
  custom_tool_call_output: ['call_id', 'output'],
  item_reference: ['id'],
}

export const idPrefixes: { readonly [type: string]: string } = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  web_search_call: 'ws',
  x_search_call: 'xs',
  file_search_call: 'fs',
  code_interpreter_call: 'ci',
  image_generation_call: 'ig',
}

/** An item without a type is a message. */
const typeOf = (item: JsonObject): string => asText(item['type'] ?? 'message')

const assertMessage = (item: JsonObject, path: string): void => {
  const { role, content } = item
  if (!roles.includes(asText(role))) throw invalid(path, role, roles)
  if (typeof content === 'string') return
  if (!Array.isArray(content))
    throw content === undefined
      ? missing(`${path}.content`)
      : wrongType(`${path}.content`, 'one of an array of objects or string')
  const supported = role === 'assistant' ? assistantParts : userParts
  for (const [index, part] of content.entries()) {
    const type = asText(asObject(part)['type'])
    if (!supported.includes(type)) throw invalid(`${path}.content[${index}]`, type, supported)
  }
}

const assertId = (item: JsonObject, path: string): void => {
  const prefix = idPrefixes[typeOf(item)]
  const { id } = item
  if (typeof id !== 'string' || prefix === undefined || id.startsWith(prefix)) return
  throw new Refusal(`Invalid '${path}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, {
    code: 'invalid_value',
    param: `${path}.id`,
  })
}

const assertItem = (item: unknown, index: number): void => {
  const path = `input[${index}]`
  if (!isObject(item)) throw wrongType(path, 'an input item')
  const type = typeOf(item)
  if (!itemTypes.includes(type)) throw invalid(path, type, itemTypes)
  for (const name of required[type] ?? []) if (item[name] === undefined) throw missing(`${path}.${name}`)
  if (type === 'message') assertMessage(item, path)
  assertId(item, path)
}

export const assertInput = (body: JsonObject): void => {
  const { input } = body
  if (input === undefined) {
    if (body['previous_response_id'] === undefined && body['prompt'] === undefined) throw missing('input')
    return
  }
  if (typeof input === 'string') return
  if (!Array.isArray(input)) throw wrongType('input', 'one of a string or array of input items')
  for (const [index, item] of input.entries()) assertItem(item, index)
}

/** An image without its data is fetched by its id. */
const isReference = ({ type, result }: JsonObject): boolean =>
  type === 'item_reference' || (type === 'image_generation_call' && !result)

const resolved = (item: JsonObject, stored: StoredResponses): JsonObject => {
  if (!isReference(item)) return item
  const id = asText(item['id'])
  const found = stored.item(id)
  if (found === undefined)
    throw new Refusal(`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`, {
      status: 404,
      param: 'input',
    })
  return found
}

export const inputItems = (body: JsonObject, stored: StoredResponses): readonly JsonObject[] => {
  const { input } = body
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  return asArray(input).map((item) => resolved({ type: 'message', ...asObject(item) }, stored))
}

const previousItems = (body: JsonObject, stored: StoredResponses): readonly JsonObject[] => {
  const id = body['previous_response_id']
  if (typeof id !== 'string') return []
  if (stored.get(id) === undefined)
    throw new Refusal(`Previous response with id '${id}' not found.`, {
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    })
  return stored.conversation(id)
}

/** All items before the answer; throws Refusal where the previous response does not exist. */
export const conversationOf = (body: JsonObject, stored: StoredResponses): readonly JsonObject[] => [
  ...previousItems(body, stored),
  ...inputItems(body, stored),
]

const callIds = (items: readonly JsonObject[], type: string): readonly unknown[] =>
  items.filter((item) => item['type'] === type).map((item) => item['call_id'])

const assertAnswered = (items: readonly JsonObject[], type: string, word: string): void => {
  const [called, answered] = [callIds(items, type), callIds(items, `${type}_output`)]
  const unknown = answered.find((id) => !called.includes(id))
  if (unknown !== undefined)
    throw new Refusal(`No tool call found for ${word} call output with call_id ${unknown}.`, { param: 'input' })
  const open = called.find((id) => !answered.includes(id))
  if (open !== undefined) throw new Refusal(`No tool output found for ${word} call ${open}.`, { param: 'input' })
}

/** Throws Refusal where calls and their outputs do not belong together, or reasoning is followed by nothing. */
export const assertConversation = (items: readonly JsonObject[]): void => {
  assertAnswered(items, 'function_call', 'function')
  assertAnswered(items, 'custom_tool_call', 'custom tool')
  const last = items.at(-1)
  if (last?.['type'] === 'reasoning')
    throw new Refusal(`Item '${last['id']}' of type 'reasoning' was provided without its required following item.`, {
      param: 'input',
    })
}
