import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import type { Delivered } from '../dialect/dialect.ts'
import { type MediaPart, withMedia } from '../dialect/media.ts'
import { findMarks, type PromptPiece, type PromptPieces, textsBetween } from '../dialect/prompt-pieces.ts'
import { type CountedFor, countOutput, countTokens, jsonTexts, wrappingTokens } from '../dialect/tokens.ts'
import type { CacheMark, Conversation, ConversationPart, ToolDefinition } from './conversation.ts'

/** Earlier thinking is not sent again, or not billed. */
function* partTexts(part: ConversationPart): Generator<string, void> {
  switch (part.type) {
    case 'text':
      yield part.text
      break
    case 'document':
      if (!('text' in part.source)) break
      yield part.title ?? ''
      yield part.source.text
      break
    case 'tool_call':
      yield part.name
      yield part.arguments
      break
    case 'tool_result':
      for (const each of part.parts) yield* partTexts(each)
      break
    case 'image':
    case 'audio':
    case 'thinking':
    case 'redacted_thinking':
  }
}

function* toolTexts({ name, description, parameters }: ToolDefinition): Generator<string, void> {
  yield name
  yield description ?? ''
  yield* jsonTexts(parameters)
}

function* promptTexts({ system, turns, tools, format }: Conversation): Generator<string, void> {
  for (const part of system) yield* partTexts(part)
  for (const { role, parts } of turns) {
    yield role
    for (const part of parts) yield* partTexts(part)
  }
  for (const tool of tools) yield* toolTexts(tool)
  if (format.type === 'schema') yield* jsonTexts(format.schema)
}

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
  const tokens = (await countTokens(promptTexts(conversation), countedFor)) + wrappingTokens(messages)
  return withMedia(
    tokens,
    turns.flatMap(({ parts }) => parts.flatMap(mediaOf)),
  )
}

/** What a caller is answered who asks how many tokens a prompt has. Documents that are no text are not counted. */
export const estimatePrompt = async (conversation: Conversation, countedFor: CountedFor = {}): Promise<number> =>
  (await countPrompt(conversation, countedFor)).total

const markOf = (part: ConversationPart): CacheMark => ('cached' in part ? part.cached : null)

/** What is marked for the cache is written to it, as far as is known. */
export const countCacheWrites = async (
  pieces: PromptPieces<'5m' | '1h'>,
  countedFor: CountedFor,
): Promise<Pick<PromptTokens, 'cacheWrite5m' | 'cacheWrite1h'>> => {
  const ends = findMarks(pieces())
  const [end1h, end5m] = [ends.get('1h') ?? 0, ends.get('5m') ?? 0]
  return {
    cacheWrite1h: await countTokens(textsBetween(pieces(), 0, end1h), countedFor),
    cacheWrite5m: await countTokens(textsBetween(pieces(), end1h, end5m), countedFor),
  }
}

function* piecesOf({ system, turns }: Conversation): Generator<PromptPiece<'5m' | '1h'>, void> {
  for (const part of system) yield { texts: partTexts(part), mark: markOf(part) }
  for (const { parts } of turns) for (const part of parts) yield { texts: partTexts(part), mark: markOf(part) }
}

export const countConversationUsage = async (
  conversation: Conversation,
  delivered: Delivered,
  toolCalls: Usage['toolCalls'],
  countedFor: CountedFor,
): Promise<Usage> => {
  return usageOf(
    {
      ...(await countPrompt(conversation, countedFor)),
      ...(await countCacheWrites(() => piecesOf(conversation), countedFor)),
    },
    await countOutput(delivered, countedFor),
    {
      ...toolCalls,
      ...delivered.toolCalls,
    },
  )
}
