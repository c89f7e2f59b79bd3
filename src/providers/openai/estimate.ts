import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import type { Asked, Delivered, Target } from '../dialect.ts'
import { countOutput, countTokens, jsonText, wrappingTokens } from '../tokens.ts'
import { searchCalls } from './usage.ts'

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

/** The text that a provider makes tokens of; images and audio are not counted. */
const promptTexts = ({ body }: Asked): readonly string[] => [
  ...listOf(body['messages']).filter(isObject).map(messageText),
  jsonText(body['tools']),
  jsonText(body['functions']),
  jsonText(objectOf(body['response_format'])['json_schema']),
]

const countPrompt = async (asked: Asked): Promise<number> =>
  (await countTokens(promptTexts(asked).join(''))) + wrappingTokens(listOf(asked.body['messages']).length)

/** Usage counted by a tokenizer, for an answer whose upstream told none. */
export const countUsage = async (target: Target, asked: Asked, delivered: Delivered): Promise<Usage> => {
  return usageOf({ total: await countPrompt(asked) }, await countOutput(delivered), searchCalls(target, asked))
}
