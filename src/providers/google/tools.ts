import type { JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { Conversation, ToolChoice, ToolDefinition } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target } from '../dialect/dialect.ts'
import { generationOf, groundingItemOf } from './generation.ts'

const reservedNames: readonly string[] = ['googleSearch', 'codeExecution', 'urlContext']

const refuseReserved = ({ name }: ToolDefinition, index: number): void => {
  if (reservedNames.includes(name))
    throw invalidValue(`tools[${index}]`, `\`${name}\` is a reserved name of this provider`)
}

const declarationOf = ({ name, description, parameters }: ToolDefinition): JsonObject => ({
  name,
  description: description ?? undefined,
  parametersJsonSchema: parameters ?? undefined,
})

const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const

const callingConfigFor = (choice: ToolChoice): JsonObject =>
  choice.type === 'tool' ? { mode: 'ANY', allowedFunctionNames: [choice.name] } : { mode: modes[choice.type] }

/** Why a search cannot be charged, or not be bounded as the caller asks; null where it can. */
export const searchObstacle = ({ tools, webSearch }: Conversation, { upstreamModel, sheet }: Target): string | null => {
  if (webSearch === null) return null
  if (!Object.hasOwn(sheet.per_call ?? {}, groundingItemOf(upstreamModel)))
    return 'has a web search, which has no price for this model'
  if (tools.length > 0) return 'has both a web search and functions, which this model does not combine'
  if (webSearch.allowedDomains.length + webSearch.blockedDomains.length > 0)
    return 'limits the web search to domains, which this model cannot'
  return webSearch.usesMax !== null && generationOf(upstreamModel) >= 3
    ? 'limits the number of web searches, which this model cannot'
    : null
}

const refuseUnboundedSearch = (conversation: Conversation, target: Target): void => {
  const obstacle = searchObstacle(conversation, target)
  if (obstacle !== null) throw unsupported('tools', obstacle)
  if (conversation.webSearch?.isForced === true)
    throw unsupported('tool_choice', 'demands a web search, and this model decides by itself whether it searches')
}

/** `tools` and `toolConfig`. Throws `invalid_value` and `unsupported_parameter`. */
export const toolFieldsFor = (conversation: Conversation, target: Target): JsonObject => {
  const { tools, toolChoice, webSearch } = conversation
  tools.forEach(refuseReserved)
  refuseUnboundedSearch(conversation, target)
  if (webSearch !== null) return { tools: [{ googleSearch: {} }] }
  if (tools.length === 0) return {}
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    toolConfig: toolChoice === null ? undefined : { functionCallingConfig: callingConfigFor(toolChoice) },
  }
}
