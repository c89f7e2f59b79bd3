import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import type { Asked, Delivered, Target } from '../dialect.ts'
import { countTokens } from '../tokens.ts'
import { searchCalls } from './usage.ts'

/** OpenAI's published count: each message is wrapped in three tokens, and the answer is primed with three. */
const messageTokens = 3
const primingTokens = 3
const charactersPerToken = 4

const partText = (part: unknown): string => {
  const { text, refusal } = objectOf(part)
  return textOf(text) + textOf(refusal)
}

const contentText = (content: unknown): string =>
  typeof content === 'string' ? content : listOf(content).map(partText).join('')

const callText = (call: unknown): string => {
  const { name, arguments: given } = objectOf(objectOf(call)['function'])
  return textOf(name) + textOf(given)
}

const messageText = (message: JsonObject): string =>
  [
    textOf(message['role']),
    textOf(message['name']),
    contentText(message['content']),
    textOf(message['reasoning_content']),
    ...listOf(message['tool_calls']).map(callText),
  ].join('')

const schemaText = (value: unknown): string => (value === undefined || value === null ? '' : JSON.stringify(value))

/** The text that a provider makes tokens of; images and audio are not counted. */
const promptTexts = ({ body }: Asked): readonly string[] => [
  ...listOf(body['messages']).filter(isObject).map(messageText),
  schemaText(body['tools']),
  schemaText(body['functions']),
  schemaText(objectOf(body['response_format'])['json_schema']),
]

/** As one text, so that many short ones have the bounds and the pauses of a long one. */
const countAll = (texts: readonly string[]): Promise<number> => countTokens(texts.join(''))

const countPrompt = async (asked: Asked): Promise<number> =>
  (await countAll(promptTexts(asked))) + listOf(asked.body['messages']).length * messageTokens + primingTokens

/** Usage counted by a tokenizer, for an answer whose upstream told none. */
export const countUsage = async (target: Target, asked: Asked, delivered: Delivered): Promise<Usage> => {
  const reasoning = await countAll(delivered.reasoningTexts)
  const answer = await countAll(delivered.texts)
  const beyond = Math.ceil(delivered.charactersBeyond / charactersPerToken)
  return usageOf(
    { total: await countPrompt(asked) },
    { total: reasoning + answer + beyond, reasoning },
    searchCalls(target, asked),
  )
}
