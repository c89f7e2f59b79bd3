import type { JsonObject } from '../../encoding/json.ts'
import type { Conversation, ToolChoice, ToolDefinition, WebSearch } from '../canonical/conversation.ts'
import { cacheControl } from './write-messages.ts'
import { closedSchema } from './write-schema.ts'

/** The API requires an object's schema, also of a tool without arguments. */
const inputSchema = (parameters: JsonObject | null): JsonObject => ({
  type: 'object',
  ...(parameters ?? { properties: {} }),
})

const writeTool = ({ name, description, parameters, strict, cached }: ToolDefinition, canBeStrict: boolean) => {
  const isStrict = strict === true && canBeStrict
  const schema = inputSchema(parameters)
  return {
    name,
    ...(description === null ? {} : { description }),
    input_schema: isStrict ? closedSchema(schema) : schema,
    ...(isStrict ? { strict } : {}),
    ...cacheControl(cached),
  }
}

const searchName = 'web_search'

const writeWebSearch = ({ usesMax, allowedDomains, blockedDomains, userLocation }: WebSearch): JsonObject => ({
  type: 'web_search_20250305',
  name: searchName,
  ...(usesMax === null ? {} : { max_uses: usesMax }),
  ...(allowedDomains.length === 0 ? {} : { allowed_domains: allowedDomains }),
  ...(blockedDomains.length === 0 ? {} : { blocked_domains: blockedDomains }),
  ...(userLocation === null ? {} : { user_location: { type: 'approximate', ...userLocation } }),
})

const writeChoice = (choice: ToolChoice): JsonObject => {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'required':
      return { type: 'any' }
    case 'tool':
      return { type: 'tool', name: choice.name }
  }
}

const chosenOf = ({ toolChoice: choice, webSearch }: Conversation): ToolChoice | null =>
  webSearch?.isForced === true ? { type: 'tool', name: searchName } : choice

const toolChoice = (conversation: Conversation): JsonObject => {
  const { parallelToolCalls } = conversation
  const choice = chosenOf(conversation)
  if (choice === null && parallelToolCalls === null) return {}
  const written = writeChoice(choice ?? { type: 'auto' })
  const isMute = parallelToolCalls === null || written['type'] === 'none'
  return { tool_choice: isMute ? written : { ...written, disable_parallel_tool_use: !parallelToolCalls } }
}

/** `tools` and `tool_choice`; the API refuses a choice without tools. */
export const writeMessagesTools = (conversation: Conversation, canBeStrict: boolean): JsonObject => {
  const { tools, webSearch } = conversation
  const own = tools.map((tool) => writeTool(tool, canBeStrict))
  const written = webSearch === null ? own : [...own, writeWebSearch(webSearch)]
  return written.length === 0 ? {} : { tools: written, ...toolChoice(conversation) }
}
