import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { truncateName } from '../../errors/gateway-error.ts'
import {
  type Conversation,
  readUserLocation,
  type ToolChoice,
  type ToolDefinition,
  type WebSearch,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'

/** A tool that the caller runs, as its calls name it. */
export interface CalledTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | null
}

interface CallableTool extends CalledTool {
  readonly definition: ToolDefinition
}

interface Listed {
  readonly tool: JsonObject
  readonly namespace: string | null
}

/** The one argument of a custom tool, whose calls have a text in place of arguments. */
const customParameters = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Other formats have no grammars: the model reads it in the description. */
const describeCustom = ({ description, format }: JsonObject): string => {
  const { type, syntax, definition } = asObject(format)
  const grammar =
    type === 'grammar' ? `The input must match this ${asText(syntax)} grammar:\n${asText(definition)}` : ''
  return [asText(description), grammar].filter((text) => text !== '').join('\n\n')
}

const callableName = ({ tool, namespace }: Listed): string =>
  namespace === null ? asText(tool['name']) : `${namespace}__${asText(tool['name'])}`

const calledOf = ({ tool, namespace }: Listed): CalledTool => ({
  kind: tool['type'] === 'custom' ? 'custom' : 'function',
  name: asText(tool['name']),
  namespace,
})

const callableOf = (listed: Listed): CallableTool => {
  const { tool } = listed
  const isCustom = tool['type'] === 'custom'
  return {
    ...calledOf(listed),
    definition: {
      name: callableName(listed),
      description: isCustom ? describeCustom(tool) : textOrNull(tool['description']),
      parameters: isCustom ? customParameters : isObject(tool['parameters']) ? tool['parameters'] : null,
      strict: !isCustom && typeof tool['strict'] === 'boolean' ? tool['strict'] : null,
      cached: null,
    },
  }
}

/** Into one list: one of each level would copy those below it. */
const listed = (tools: unknown, namespace: string | null = null, all: Listed[] = []): readonly Listed[] => {
  for (const tool of asArray(tools).map(asObject))
    if (tool['type'] === 'namespace') listed(tool['tools'], asText(tool['name']), all)
    else all.push({ tool, namespace })
  return all
}

const declaringItems: readonly unknown[] = ['additional_tools', 'tool_search_output']

const allTools = ({ tools, input }: JsonObject): readonly Listed[] => [
  ...listed(tools),
  ...asArray(input)
    .map(asObject)
    .filter(({ type }) => declaringItems.includes(type))
    .flatMap((item) => listed(item['tools'])),
]

const isCallable = ({ tool }: Listed): boolean => tool['type'] === 'function' || tool['type'] === 'custom'
const isSearchType = ({ type }: JsonObject): boolean => asText(type).startsWith('web_search')
const isWebSearch = ({ tool }: Listed): boolean => isSearchType(tool)

/** By the name by which the model calls it. */
const byName = <Tool>(body: JsonObject, read: (listed: Listed) => Tool): ReadonlyMap<string, Tool> =>
  new Map(
    allTools(body)
      .filter(isCallable)
      .map((each) => [callableName(each), read(each)]),
  )

export const calledTools = (body: JsonObject): ReadonlyMap<string, CalledTool> => byName(body, calledOf)

const contextSizes = ['low', 'medium', 'high'] as const

const textsOf = (value: unknown): readonly string[] => asArray(value).filter((each) => typeof each === 'string')

const readWebSearch = (
  { search_context_size: size, filters, user_location: location }: JsonObject,
  usesMax: unknown,
  isForced: boolean,
): WebSearch => ({
  ...(isForced ? { isForced } : { isOptional: true }),
  contextSize: contextSizes.find((each) => each === size) ?? null,
  usesMax: typeof usesMax === 'number' ? usesMax : null,
  allowedDomains: textsOf(asObject(filters)['allowed_domains']),
  blockedDomains: textsOf(asObject(filters)['blocked_domains']),
  userLocation: readUserLocation(location),
})

const choiceWords = ['auto', 'none', 'required'] as const
const namedTypes: readonly unknown[] = ['function', 'custom']

const nameChosen = ({ name, namespace }: JsonObject): string =>
  typeof namespace === 'string' ? `${namespace}__${asText(name)}` : asText(name)

const demandOf = (type: unknown): Error =>
  unsupported('tool_choice', `demands the tool '${truncateName(asText(type))}', which is not available for this model`)

interface Chosen extends Pick<Conversation, 'toolChoice'> {
  readonly allowed: ReadonlySet<string> | null
  readonly search: 'off' | 'offered' | 'forced'
}

const readAllowed = ({ mode, tools }: JsonObject): Chosen => {
  const named = asArray(tools).map(asObject)
  const allowed = new Set(named.filter(({ type }) => namedTypes.includes(type)).map(nameChosen))
  const allowsSearch = named.some(isSearchType)
  if (mode === 'required' && allowed.size === 0 && !allowsSearch) throw demandOf(named[0]?.['type'])
  return {
    toolChoice: { type: mode === 'required' ? 'required' : 'auto' },
    allowed,
    search: allowsSearch ? 'offered' : 'off',
  }
}

const readChoice = (choice: unknown): Chosen => {
  const word = choiceWords.find((each) => each === choice)
  if (word !== undefined)
    return { toolChoice: { type: word }, allowed: null, search: word === 'none' ? 'off' : 'offered' }
  if (!isObject(choice)) return { toolChoice: null, allowed: null, search: 'offered' }
  if (choice['type'] === 'allowed_tools') return readAllowed(choice)
  if (isSearchType(choice)) return { toolChoice: null, allowed: null, search: 'forced' }
  if (!namedTypes.includes(choice['type'])) throw demandOf(choice['type'])
  return { toolChoice: { type: 'tool', name: nameChosen(choice) }, allowed: null, search: 'offered' }
}

const demandsTool = (choice: ToolChoice | null): boolean => choice?.type === 'required'

type ConversationTools = Pick<Conversation, 'tools' | 'toolChoice' | 'webSearch' | 'droppedTools'>

/** Built-in tools without a counterpart are dropped where they are offered. Throws where one of them is demanded. */
export const readResponsesTools = (body: JsonObject): ConversationTools => {
  const all = allTools(body)
  const { toolChoice, allowed, search } = readChoice(body['tool_choice'])
  const declaredSearch = search === 'off' ? undefined : all.find(isWebSearch)
  const builtIn = all.filter((each) => !isCallable(each) && !isWebSearch(each))
  const tools = [...byName(body, callableOf).values()]
    .map(({ definition }) => definition)
    .filter(({ name }) => allowed === null || allowed.has(name))
  const isForced = search === 'forced' || (demandsTool(toolChoice) && tools.length === 0)
  if (isForced && declaredSearch === undefined)
    throw demandOf(search === 'forced' ? 'web_search' : all[0]?.tool['type'])
  return {
    tools,
    toolChoice: tools.length === 0 ? null : toolChoice,
    webSearch:
      declaredSearch === undefined ? null : readWebSearch(declaredSearch.tool, body['max_tool_calls'], isForced),
    droppedTools: [...new Set(builtIn.map(({ tool }) => asText(tool['type'])))],
  }
}
