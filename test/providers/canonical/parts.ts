import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  ImagePart,
  TextPart,
  ToolResultPart,
} from '../../../src/providers/canonical/conversation.ts'

export const text = (said: string): TextPart => ({ type: 'text', text: said, cached: null })
export const user = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'user', parts })
export const assistant = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'assistant', parts })

export const image = (source: ImagePart['source']): ImagePart => ({
  type: 'image',
  source,
  detail: null,
  cached: null,
})

export const toolCall = (
  id: string,
  name: string,
  given = '{}',
  signature: string | null = null,
): ConversationPart => ({
  type: 'tool_call',
  id,
  name,
  arguments: given,
  signature,
  cached: null,
})

export const toolResult = (toolCallId: string, ...parts: ToolResultPart['parts']): ToolResultPart => ({
  type: 'tool_result',
  toolCallId,
  parts,
  isError: false,
  cached: null,
})

/** A conversation that says nothing but `Hi`, and what is given. */
export const conversation = (given: Partial<Conversation> = {}): Conversation => ({
  system: [],
  turns: [user(text('Hi'))],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  outputTokensMax: null,
  temperature: null,
  topP: null,
  topK: null,
  stopSequences: [],
  format: { type: 'text' },
  reasoning: null,
  webSearch: null,
  serviceTier: null,
  user: null,
  ...given,
})
