import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import type { Delivered } from '../dialect.ts'
import { countOutput, countTokens, wrappingTokens } from '../tokens.ts'
import type { Conversation, ConversationPart, ToolDefinition } from './conversation.ts'

/** Images, audio and documents that are no text are not counted; earlier thinking is not sent again, or not billed. */
const partText = (part: ConversationPart): string => {
  switch (part.type) {
    case 'text':
      return part.text
    case 'document':
      return 'text' in part.source ? (part.title ?? '') + part.source.text : ''
    case 'tool_call':
      return part.name + part.arguments
    case 'tool_result':
      return part.parts.map(partText).join('')
    case 'image':
    case 'audio':
    case 'thinking':
    case 'redacted_thinking':
      return ''
  }
}

const toolText = ({ name, description, parameters }: ToolDefinition): string =>
  name + (description ?? '') + (parameters === null ? '' : JSON.stringify(parameters))

const promptText = ({ system, turns, tools, format }: Conversation): string =>
  [
    ...system.map(partText),
    ...turns.flatMap(({ role, parts }) => [role, ...parts.map(partText)]),
    ...tools.map(toolText),
    format.type === 'schema' ? JSON.stringify(format.schema) : '',
  ].join('')

export const countPrompt = async (conversation: Conversation): Promise<number> => {
  const messages = conversation.turns.length + (conversation.system.length > 0 ? 1 : 0)
  return (await countTokens(promptText(conversation))) + wrappingTokens(messages)
}

export const countConversationUsage = async (
  conversation: Conversation,
  delivered: Delivered,
  toolCalls: Usage['toolCalls'],
): Promise<Usage> => {
  return usageOf({ total: await countPrompt(conversation) }, await countOutput(delivered), {
    ...toolCalls,
    ...delivered.toolCalls,
  })
}
