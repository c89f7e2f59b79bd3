import { asText } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import { countWords } from '../answers/words.ts'
import { chat } from '../chat/dialect.ts'
import { type Answer, type Asked, type Dialect, type Incoming, wholeAnswer } from '../http/dialect.ts'
import { base64Of, dimensionsOf, embed, promptTokens } from './vectors.ts'

const known = ['input', 'model', 'encoding_format', 'dimensions', 'user']

const invalidInput = (problem: string): Refusal => new Refusal(`Invalid 'input': ${problem}.`, { param: 'input' })

const isTokenIds = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id))

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

type Input = string | readonly number[]

/** Throws Refusal for what is no input. */
const inputsOf = ({ input }: Incoming['body']): readonly Input[] => {
  if (isText(input) || isTokenIds(input)) return [input]
  if (!Array.isArray(input) || input.length === 0) throw invalidInput('a text, a list of texts, or token ids')
  if (input.length > sandboxLimits.sandboxEmbeddingsMax)
    throw invalidInput(`at most ${sandboxLimits.sandboxEmbeddingsMax} inputs`)
  if (input.every(isText) || input.every(isTokenIds)) return input
  throw invalidInput('it cannot be an empty string, nor have inputs of several kinds')
}

const check = ({ body }: Incoming): void => {
  const extra = Object.keys(body).find((name) => !known.includes(name))
  if (extra !== undefined) throw new Refusal(`Unrecognized request argument supplied: ${extra}`)
  const { encoding_format: format = null } = body
  if (format !== null && format !== 'float' && format !== 'base64')
    throw new Refusal("Invalid 'encoding_format': float or base64.", { param: 'encoding_format' })
  dimensionsOf(body['dimensions'], 'dimensions')
  inputsOf(body)
}

const wordsOf = (input: Input): number => (typeof input === 'string' ? countWords(input) : input.length)

const answer = ({ body, model, directives }: Asked): Answer => {
  const inputs = inputsOf(body)
  const dimensions = dimensionsOf(body['dimensions'], 'dimensions')
  const data = inputs.map((input, index) => {
    const vector = embed(typeof input === 'string' ? input : input.join(' '), dimensions)
    return { object: 'embedding', index, embedding: body['encoding_format'] === 'base64' ? base64Of(vector) : vector }
  })
  const tokens = promptTokens(
    inputs.reduce((sum, input) => sum + wordsOf(input), 0),
    directives,
  )
  const usage = { prompt_tokens: tokens.prompt, total_tokens: tokens.prompt }
  const reported = directives.no_usage ? null : { usage, tokens }
  const whole = { object: 'list', data, model: asText(model), ...(reported === null ? {} : { usage }) }
  return wholeAnswer(JSON.stringify(whole), reported)
}

export const openaiEmbeddings: Dialect = { ...chat, streams: () => false, check, answer }
