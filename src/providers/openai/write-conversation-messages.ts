import type { JsonObject } from '../../encoding/json.ts'
import { flatMapInSteps } from '../../encoding/steps.ts'
import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Profile } from '../dialect/provider.ts'
import { writeSignature } from './signature.ts'
import {
  type ContentPart,
  documentText,
  isContent,
  partsOnWire,
  textOnWire,
  writeContent,
} from './write-conversation-parts.ts'

const paragraph = '\n\n'

const isCall = (part: ConversationPart): part is ToolCallPart => part.type === 'tool_call'
const isResult = (part: ConversationPart): part is ToolResultPart => part.type === 'tool_result'

const callOnWire = ({ id, name, arguments: given, signature }: ToolCallPart, profile: Profile): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: given },
  ...(profile === 'gemini' ? writeSignature(signature) : {}),
})

const textsOf = ({ parts }: ConversationTurn): string => {
  if (parts.some((part) => isContent(part) && part.type !== 'text'))
    throw unsupported('messages', 'with media in an answer of the model is not available for this model')
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

const assistantMessage = (turns: readonly ConversationTurn[], profile: Profile): readonly JsonObject[] => {
  const text = turns
    .map(textsOf)
    .filter((each) => each !== '')
    .join(paragraph)
  const calls = turns.flatMap(({ parts }) => parts.filter(isCall)).map((call) => callOnWire(call, profile))
  if (text === '' && calls.length === 0) return []
  const content = text === '' ? null : text
  return [{ role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }]
}

/** The results of a call follow its message at once: turns that call tools are one message. */
const assistantMessages = (turns: readonly ConversationTurn[], profile: Profile): readonly JsonObject[] =>
  turns.some(({ parts }) => parts.some(isCall))
    ? assistantMessage(turns, profile)
    : turns.flatMap((turn) => assistantMessage([turn], profile))

const isPlainText = (part: ContentPart): boolean =>
  part.type === 'text' || (part.type === 'document' && 'text' in part.source)

const plainText = (part: ContentPart): string => {
  if (part.type === 'text') return part.text
  return part.type === 'document' && 'text' in part.source ? documentText(part.title, part.source.text) : ''
}

const mediaOf = ({ parts }: ToolResultPart): readonly ContentPart[] => parts.filter((part) => !isPlainText(part))

const resultMessage = (result: ToolResultPart): JsonObject => {
  const text = result.parts.filter(isPlainText).map(plainText).join(paragraph)
  const elsewhere = text === '' && mediaOf(result).length > 0
  return {
    role: 'tool',
    tool_call_id: result.toolCallId,
    content: elsewhere ? 'The result is in the next user message.' : text,
  }
}

/** Tool messages hold text alone: other content of the results follows after all of them. */
const mediaMessages = (results: readonly ToolResultPart[], profile: Profile): readonly JsonObject[] => {
  const content = results
    .map((result) => ({ id: result.toolCallId, media: mediaOf(result) }))
    .filter(({ media }) => media.length > 0)
    .flatMap(({ id, media }) => [textOnWire(`Result of the tool call ${id}:`), ...partsOnWire(media, profile)])
  return content.length === 0 ? [] : [{ role: 'user', content }]
}

/** Every chat upstream accepts instructions as a text. */
const instructionMessage = (parts: readonly ConversationPart[], role: 'system' | 'user'): readonly JsonObject[] => {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : '')).filter((text) => text !== '')
  return texts.length === 0 ? [] : [{ role, content: texts.join(paragraph) }]
}

/** Gemini's chat endpoint takes instructions only before all other messages. */
const userMessage = ({ role, parts }: ConversationTurn, profile: Profile): readonly JsonObject[] => {
  if (role === 'system') return instructionMessage(parts, profile === 'gemini' ? 'user' : 'system')
  const content = parts.filter(isContent)
  return content.length === 0 ? [] : [{ role: 'user', content: writeContent(content, profile) }]
}

/** Results first, since they answer the message before. */
const userMessages = (turns: readonly ConversationTurn[], profile: Profile): readonly JsonObject[] => {
  const results = turns.flatMap(({ parts }) => parts.filter(isResult))
  return [
    ...results.map(resultMessage),
    ...mediaMessages(results, profile),
    ...turns.flatMap((turn) => userMessage(turn, profile)),
  ]
}

const isAnswer = (turn: ConversationTurn | undefined): boolean => turn?.role === 'assistant'

const runsOf = (turns: readonly ConversationTurn[]): readonly (readonly ConversationTurn[])[] => {
  const runs: ConversationTurn[][] = []
  for (const turn of turns) {
    const run = runs.at(-1)
    if (run !== undefined && isAnswer(run[0]) === isAnswer(turn)) run.push(turn)
    else runs.push([turn])
  }
  return runs
}

export function* writeChatMessages(
  { system, turns }: Conversation,
  profile: Profile,
): Generator<void, readonly JsonObject[]> {
  const runs = runsOf(turns)
  yield
  const messages = yield* flatMapInSteps(runs, (run) =>
    isAnswer(run[0]) ? assistantMessages(run, profile) : userMessages(run, profile),
  )
  return [...instructionMessage(system, 'system'), ...messages]
}
