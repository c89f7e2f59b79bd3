import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { isObject, listOf, objectOf, textOf } from '../../json.ts'
import type { Asked, Delivered, Target } from '../dialect.ts'
import { countTokens } from '../tokens.ts'
import { answerTextOf, reasoningTextOf } from './delivered.ts'

/** OpenAI's published count: each message is wrapped in three tokens, and the answer is primed with three. */
const messageTokens = 3
const primingTokens = 3
const charactersPerToken = 4

const schemaText = (value: unknown): string => (value === undefined || value === null ? '' : JSON.stringify(value))

const inputText = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : listOf(input)
        .filter(isObject)
        .map((item) => textOf(item['role']) + answerTextOf(item) + reasoningTextOf(item))
        .join('')

const messagesOf = (input: unknown): number => (typeof input === 'string' ? 1 : listOf(input).length)

/** The text that a provider makes tokens of; images, files and the answers that a request goes on from are not counted. */
const countPrompt = async ({ body }: Asked): Promise<number> => {
  const { instructions, input, tools, text } = body
  const format = schemaText(objectOf(objectOf(text)['format'])['schema'])
  const words = textOf(instructions) + inputText(input) + schemaText(tools) + format
  return (await countTokens(words)) + messagesOf(input) * messageTokens + primingTokens
}

/** Usage counted by a tokenizer, for an answer whose upstream told none; its tool calls are those that the answer told of. */
export const countUsage = async (_target: Target, asked: Asked, delivered: Delivered): Promise<Usage> => {
  const reasoning = await countTokens(delivered.reasoningTexts.join(''))
  const answer = await countTokens(delivered.texts.join(''))
  const beyond = Math.ceil(delivered.charactersBeyond / charactersPerToken)
  return usageOf(
    { total: await countPrompt(asked) },
    { total: reasoning + answer + beyond, reasoning },
    delivered.toolCalls ?? {},
  )
}
