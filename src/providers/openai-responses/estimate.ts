import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect.ts'
import { countOutput, countTokens, jsonText, wrappingTokens } from '../tokens.ts'
import { answerTextOf, reasoningTextOf } from './delivered.ts'

const inputText = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : asArray(input)
        .filter(isObject)
        .map((item) => asText(item['role']) + answerTextOf(item) + reasoningTextOf(item))
        .join('')

const messagesOf = (input: unknown): number => (typeof input === 'string' ? 1 : asArray(input).length)

/** The text that a provider makes tokens of; images, files and the answers that a request goes on from are not counted. */
const countPrompt = async ({ body }: UpstreamCallRequest): Promise<number> => {
  const { instructions, input, tools, text } = body
  const format = jsonText(asObject(asObject(text)['format'])['schema'])
  const words = asText(instructions) + inputText(input) + jsonText(tools) + format
  return (await countTokens(words)) + wrappingTokens(messagesOf(input))
}

/** Usage counted by a tokenizer, for an answer whose upstream told none; its tool calls are those that the answer told of. */
export const countResponsesUsage = async (
  _target: Target,
  asked: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  return usageOf({ total: await countPrompt(asked) }, await countOutput(delivered), delivered.toolCalls ?? {})
}
