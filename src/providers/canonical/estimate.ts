import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import type { Delivered } from '../dialect/dialect.ts'
import { type MediaPart, withMedia } from '../dialect/media.ts'
import { type CountedFor, countOutput, countTokens, wrappingTokens } from '../dialect/tokens.ts'
import type { CacheMark, Conversation, ConversationPart, ToolDefinition } from './conversation.ts'

/** Earlier thinking is not sent again, or not billed. */
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

const mediaOf = (part: ConversationPart): readonly MediaPart[] => {
  switch (part.type) {
    case 'image':
      return [{ kind: 'image', characters: 0 }]
    case 'audio':
      return [{ kind: 'audio', characters: part.base64.length }]
    case 'tool_result':
      return part.parts.flatMap(mediaOf)
    default:
      return []
  }
}

const countPrompt = async (conversation: Conversation, countedFor: CountedFor): Promise<PromptTokens> => {
  const { turns, system } = conversation
  const messages = turns.length + (system.length > 0 ? 1 : 0)
  const tokens = (await countTokens(promptText(conversation), countedFor)) + wrappingTokens(messages)
  return withMedia(
    tokens,
    turns.flatMap(({ parts }) => parts.flatMap(mediaOf)),
  )
}

/** What a caller is answered who asks how many tokens a prompt has. Documents that are no text are not counted. */
export const estimatePrompt = async (conversation: Conversation, countedFor: CountedFor = {}): Promise<number> =>
  (await countPrompt(conversation, countedFor)).total

const markOf = (part: ConversationPart): CacheMark => ('cached' in part ? part.cached : null)

interface PromptPiece {
  readonly text: string
  readonly mark: CacheMark
}

/** What is marked for the cache is written to it, as far as is known. `pieces`: in the order of caching. */
export const countCacheWrites = async (
  pieces: readonly PromptPiece[],
  countedFor: CountedFor,
): Promise<Pick<PromptTokens, 'cacheWrite5m' | 'cacheWrite1h'>> => {
  const end1h = pieces.findLastIndex(({ mark }) => mark === '1h') + 1
  const end5m = pieces.findLastIndex(({ mark }) => mark === '5m') + 1
  const count = (from: number, to: number): Promise<number> => {
    const texts = pieces.slice(from, to).map(({ text }) => text)
    return countTokens(texts.join(''), countedFor)
  }
  return { cacheWrite1h: await count(0, end1h), cacheWrite5m: await count(end1h, end5m) }
}

const piecesOf = ({ system, turns }: Conversation): readonly PromptPiece[] =>
  [...system, ...turns.flatMap(({ parts }) => parts)].map((part) => ({ text: partText(part), mark: markOf(part) }))

export const countConversationUsage = async (
  conversation: Conversation,
  delivered: Delivered,
  toolCalls: Usage['toolCalls'],
  countedFor: CountedFor,
): Promise<Usage> => {
  return usageOf(
    {
      ...(await countPrompt(conversation, countedFor)),
      ...(await countCacheWrites(piecesOf(conversation), countedFor)),
    },
    await countOutput(delivered, countedFor),
    {
      ...toolCalls,
      ...delivered.toolCalls,
    },
  )
}
