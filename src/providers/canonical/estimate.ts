import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import type { Delivered } from '../dialect/dialect.ts'
import { type CountedFor, countOutput, countTokens, wrappingTokens } from '../dialect/tokens.ts'
import type { CacheMark, Conversation, ConversationPart, ToolDefinition } from './conversation.ts'

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

const countPrompt = async (conversation: Conversation, countedFor: CountedFor): Promise<number> => {
  const messages = conversation.turns.length + (conversation.system.length > 0 ? 1 : 0)
  return (await countTokens(promptText(conversation), countedFor)) + wrappingTokens(messages)
}

/** The most that Claude bills for an image; most models bill less. */
const imageTokens = 1_600

const countImages = (parts: readonly ConversationPart[]): number =>
  parts.reduce((images, part) => {
    if (part.type === 'tool_result') return images + countImages(part.parts)
    return part.type === 'image' ? images + 1 : images
  }, 0)

/** What a caller is answered who asks how many tokens a prompt has. Documents that are no text are not counted. */
export const estimatePrompt = async (conversation: Conversation, countedFor: CountedFor = {}): Promise<number> =>
  (await countPrompt(conversation, countedFor)) +
  imageTokens * countImages(conversation.turns.flatMap(({ parts }) => parts))

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
      total: await countPrompt(conversation, countedFor),
      ...(await countCacheWrites(piecesOf(conversation), countedFor)),
    },
    await countOutput(delivered, countedFor),
    {
      ...toolCalls,
      ...delivered.toolCalls,
    },
  )
}
