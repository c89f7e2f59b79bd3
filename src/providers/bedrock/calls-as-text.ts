import type { ConversationPart, ConversationTurn } from '../canonical/conversation.ts'

const asText = (part: ConversationPart): readonly ConversationPart[] => {
  if (part.type === 'tool_call') {
    const text = `Called the tool ${part.name} (${part.id}) with ${part.arguments || '{}'}`
    return [{ type: 'text', text, cached: part.cached }]
  }
  if (part.type !== 'tool_result') return [part]
  const of = part.isError ? 'Error' : 'Result'
  return [{ type: 'text', text: `${of} of the tool call ${part.toolCallId}:`, cached: null }, ...part.parts]
}

/** Where no tools are offered the API refuses calls and their results: a model then reads them as text. */
export const withCallsAsText = ({ role, parts }: ConversationTurn): ConversationTurn => ({
  role,
  parts: parts.flatMap(asText),
})
