import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import { Refusal } from '../answers/faults.ts'
import { openObjectIn } from '../answers/schemas.ts'
import type { Incoming } from '../http/dialect.ts'
import { assertConversation, assertInput, conversationOf } from './input.ts'
import { invalid, missing, wrongType } from './refusing.ts'
import type { StoredResponses } from './stored.ts'

const members = [
  'access_programs',
  'background',
  'client_metadata', // Of Codex; no published description has it.
  'context_management',
  'conversation',
  'image',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'moderation',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]

const moved: { readonly [name: string]: string } = {
  response_format: 'text.format',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
}

const assertMembers = (body: JsonObject): void => {
  const unknown = Object.keys(body).find((name) => !members.includes(name))
  if (unknown === undefined) return
  if (Object.hasOwn(moved, unknown))
    throw new Refusal(
      `Unsupported parameter: '${unknown}'. In the Responses API, this parameter has moved to '${moved[unknown]}'.`,
      { code: 'unsupported_parameter', param: unknown },
    )
  throw new Refusal(`Unknown parameter: '${unknown}'.`, { code: 'unknown_parameter', param: unknown })
}

const outputTokensMin = 16

const assertOutputTokens = (body: JsonObject): void => {
  const most = body['max_output_tokens']
  if (most === undefined || most === null) return
  if (typeof most !== 'number' || !Number.isInteger(most)) throw wrongType('max_output_tokens', 'an integer')
  if (most < outputTokensMin)
    throw new Refusal(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${outputTokensMin}, but got ${most} instead.`,
      { code: 'integer_below_min_value', param: 'max_output_tokens' },
    )
}

const safetyIdentifierCharactersMax = 64

const assertSafetyIdentifier = (body: JsonObject): void => {
  const { length } = asText(body['safety_identifier'])
  if (length > safetyIdentifierCharactersMax)
    throw new Refusal(
      `Invalid 'safety_identifier': string too long. Expected a string with maximum length ${safetyIdentifierCharactersMax}, but got a string with length ${length} instead.`,
      { code: 'string_above_max_length', param: 'safety_identifier' },
    )
}

const toolTypes = [
  'function',
  'custom',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'file_search',
  'code_interpreter',
  'image_generation',
  'mcp',
  'local_shell',
  'shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
  'tool_search',
  'namespace',
]
const xaiToolTypes = [...toolTypes, 'x_search', 'code_execution', 'collections_search']

const badSchema = (subject: string, param: string, problem: string): Refusal =>
  new Refusal(`Invalid schema for ${subject}: ${problem}`, { code: 'invalid_function_parameters', param })

const openInside = (schema: unknown): string | null => {
  const open = openObjectIn(schema)
  if (open === undefined) return null
  const place = open.path.map((key) => `'${key}'`).join(', ')
  return `In context=(${place}), 'additionalProperties' is required to be supplied and to be false.`
}

const assertFunction = (tool: JsonObject, path: string): void => {
  const name = asText(tool['name'])
  if (name === '') throw missing(`${path}.name`)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new Refusal(
      `Invalid '${path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      { code: 'invalid_value', param: `${path}.name` },
    )
  const { parameters } = tool
  if (parameters === undefined || parameters === null) return
  const type = asObject(parameters)['type']
  if (type !== 'object')
    throw badSchema(
      `function '${name}'`,
      `${path}.parameters`,
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${type ?? 'None'}"'.`,
    )
  const problem = tool['strict'] === true ? openInside(parameters) : null
  if (problem !== null) throw badSchema(`function '${name}'`, `${path}.parameters`, problem)
}

const requiredOf: { readonly [type: string]: string } = {
  custom: 'name',
  file_search: 'vector_store_ids',
  code_interpreter: 'container',
}

const assertTool = (tool: JsonObject, path: string, isXai: boolean): void => {
  const type = asText(tool['type'])
  const supported = isXai ? xaiToolTypes : toolTypes
  if (!supported.includes(type)) throw invalid(path, type, supported)
  if (type === 'function') assertFunction(tool, path)
  const member = isXai ? undefined : requiredOf[type]
  if (member !== undefined && tool[member] === undefined) throw missing(`${path}.${member}`)
}

const assertToolChoice = (body: JsonObject): void => {
  const choice = body['tool_choice']
  if (choice === undefined || choice === null) return
  if (typeof choice === 'string') {
    if (!['none', 'auto', 'required'].includes(choice))
      throw invalid('tool_choice', choice, ['none', 'auto', 'required'])
    return
  }
  const { type, name } = asObject(choice)
  if (type === 'function' && !asArray(body['tools']).some((tool) => asObject(tool)['name'] === name))
    throw new Refusal(`Tool choice 'function' not found in 'tools' parameter.`, { param: 'tool_choice' })
}

const assertFormat = (body: JsonObject): void => {
  const format = asObject(body['text'])['format']
  if (format === undefined || format === null) return
  const { type, name, schema, strict } = asObject(format)
  if (!['text', 'json_object', 'json_schema'].includes(asText(type)))
    throw invalid('text.format.type', type, ['json_object', 'json_schema', 'text'])
  if (type !== 'json_schema') return
  if (asText(name) === '') throw missing('text.format.name')
  if (!isObject(schema)) throw missing('text.format.schema')
  const problem = strict === true ? openInside(schema) : null
  if (problem !== null)
    throw new Refusal(`Invalid schema for response_format '${name}': ${problem}`, {
      code: 'invalid_json_schema',
      param: 'text.format.schema',
    })
}

/** Throws Refusal for what the service refuses; xAI is more liberal with unknown members. */
export const checkResponses =
  (stored: StoredResponses) =>
  ({ body }: Incoming, directives: Directives): void => {
    const isXai = directives.profile === 'xai'
    if (!isXai) assertMembers(body)
    if (!isXai) assertOutputTokens(body)
    assertSafetyIdentifier(body)
    assertInput(body)
    for (const [index, tool] of asArray(body['tools']).entries()) assertTool(asObject(tool), `tools[${index}]`, isXai)
    assertToolChoice(body)
    assertFormat(body)
    assertConversation(conversationOf(body, stored))
  }
