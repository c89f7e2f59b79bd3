import type { JsonObject } from '../../encoding/json.ts'
import type { Conversation, ToolChoice, ToolDefinition } from '../canonical/conversation.ts'
import type { Profile } from '../dialect/provider.ts'

/** Gemini's chat endpoint refuses members that it does not know. */
const strictOf = (strict: boolean | null, profile: Profile): JsonObject =>
  strict === null || profile === 'gemini' ? {} : { strict }

const toolOf = ({ name, description, parameters, strict }: ToolDefinition, profile: Profile): JsonObject => ({
  type: 'function',
  function: {
    name,
    ...(description === null ? {} : { description }),
    ...(parameters === null ? {} : { parameters }),
    ...strictOf(strict, profile),
  },
})

const choiceOf = (choice: ToolChoice): unknown =>
  choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type

/** OpenAI refuses `tool_choice` and `parallel_tool_calls` without tools. */
export const writeChatTools = ({ tools, toolChoice, parallelToolCalls }: Conversation, profile: Profile): JsonObject =>
  tools.length === 0
    ? {}
    : {
        tools: tools.map((tool) => toolOf(tool, profile)),
        ...(toolChoice === null ? {} : { tool_choice: choiceOf(toolChoice) }),
        ...(parallelToolCalls === null ? {} : { parallel_tool_calls: parallelToolCalls }),
      }
