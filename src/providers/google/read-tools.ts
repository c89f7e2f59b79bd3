import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { Conversation, ToolChoice, ToolDefinition, WebSearch } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { jsonSchemaOf } from './read-schema.ts'

type ConversationTools = Pick<Conversation, 'tools' | 'toolChoice' | 'webSearch' | 'droppedTools'>

const parametersOf = ({ parameters, parametersJsonSchema }: JsonObject): JsonObject | null => {
  if (isObject(parametersJsonSchema)) return parametersJsonSchema
  return isObject(parameters) ? jsonSchemaOf(parameters) : null
}

const definitionOf = (declaration: JsonObject): ToolDefinition => ({
  name: asText(declaration['name']),
  description: typeof declaration['description'] === 'string' ? declaration['description'] : null,
  parameters: parametersOf(declaration),
  strict: null,
  cached: null,
})

/** Offered as in Google's format: a model without it answers without it. */
const webSearch: WebSearch = {
  isOptional: true,
  contextSize: null,
  usesMax: null,
  allowedDomains: [],
  blockedDomains: [],
  userLocation: null,
}

const builtIn = ['codeExecution', 'urlContext'] as const

interface Calling {
  readonly choice: ToolChoice | null
  readonly allowed: ReadonlySet<string> | null
}

const modes = ['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']

const readCalling = (body: JsonObject): Calling => {
  const { mode = 'MODE_UNSPECIFIED', allowedFunctionNames } = asObject(
    asObject(body['toolConfig'])['functionCallingConfig'],
  )
  const names = asArray(allowedFunctionNames).map(asText)
  const allowed = names.length === 0 ? null : new Set(names)
  const [only] = names
  const word = asText(mode).toUpperCase()
  if (!modes.includes(word))
    throw invalidValue('toolConfig.functionCallingConfig.mode', 'AUTO, ANY, NONE or VALIDATED is expected')
  if (word === 'NONE') return { choice: { type: 'none' }, allowed: null }
  if (word !== 'ANY') return { choice: null, allowed }
  return { choice: names.length === 1 ? { type: 'tool', name: only! } : { type: 'required' }, allowed }
}

const declarationsIn = (tools: readonly JsonObject[], { allowed }: Calling): readonly JsonObject[] =>
  tools
    .flatMap(({ functionDeclarations }) => asArray(functionDeclarations).map(asObject))
    .filter(({ name }) => allowed === null || allowed.has(asText(name)))

export const hasGeminiFunctions = (body: JsonObject): boolean =>
  declarationsIn(asArray(body['tools']).map(asObject), readCalling(body)).length > 0

/** Throws `unsupported_parameter` where a function is demanded and none of those declared may be called. */
export const readGeminiTools = (body: JsonObject): ConversationTools => {
  const tools = asArray(body['tools']).map(asObject)
  const calling = readCalling(body)
  const { choice } = calling
  const definitions = declarationsIn(tools, calling).map(definitionOf)
  const isDemanded = choice?.type === 'tool' || choice?.type === 'required'
  if (isDemanded && definitions.length === 0)
    throw unsupported('toolConfig.functionCallingConfig', 'demands a function that `tools` does not declare')
  return {
    tools: definitions,
    toolChoice: definitions.length === 0 ? null : choice,
    webSearch: tools.some(({ googleSearch }) => isObject(googleSearch)) ? webSearch : null,
    droppedTools: builtIn.filter((name) => tools.some((tool) => isObject(tool[name]))),
  }
}
