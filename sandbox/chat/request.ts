import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import { answerSchema, calledOf, type FunctionTool, type Prompt, reasoningTokensOf } from '../answers/output.ts'
import { audioTokens, imageTokens } from '../answers/tokens.ts'
import { countWords, joinTexts } from '../answers/words.ts'

interface PromptCount {
  readonly words: number
  readonly audioIn: number
  readonly image: number
}

export interface ChatRequest extends Prompt {
  readonly includeUsage: boolean
  readonly choices: number
  readonly serviceTier: string
  readonly prompt: PromptCount
}

const wordsOfPart = (part: JsonObject): number => countWords(asText(part['text']) || asText(part['refusal']))

const countPart = (part: JsonObject): PromptCount => {
  if (part['type'] === 'image_url') return { words: 0, audioIn: 0, image: imageTokens }
  if (part['type'] === 'input_audio') return { words: 0, audioIn: audioTokens, image: 0 }
  return { words: wordsOfPart(part), audioIn: 0, image: 0 }
}

const sum = (counts: readonly PromptCount[]): PromptCount => {
  let [words, audioIn, image] = [0, 0, 0]
  for (const count of counts) {
    words += count.words
    audioIn += count.audioIn
    image += count.image
  }
  return { words, audioIn, image }
}

const countMessage = (message: JsonObject): PromptCount => {
  const { content } = message
  if (typeof content === 'string') return { words: countWords(content), audioIn: 0, image: 0 }
  return sum(asArray(content).map((part) => countPart(asObject(part))))
}

const textOfMessage = (message: JsonObject): string => {
  const { content } = message
  if (typeof content === 'string') return content
  return joinTexts(asArray(content).map((part) => asText(asObject(part)['text'])))
}

/** Custom tools are not supported here. */
const functionTools = (body: JsonObject): readonly FunctionTool[] =>
  asArray(body['tools']).flatMap((tool) => {
    const definition = asObject(asObject(tool)['function'])
    const name = asText(definition['name'])
    return name === '' ? [] : [{ name, parameters: definition['parameters'] ?? { type: 'object' } }]
  })

const nameIn = (tool: unknown): string => asText(asObject(asObject(tool)['function'])['name'])

const allowedBy = (choice: unknown, tools: readonly FunctionTool[]): readonly FunctionTool[] => {
  if (choice === 'none') return []
  if (!isObject(choice)) return tools
  const allowed = choice['type'] === 'allowed_tools' ? asArray(asObject(choice['allowed_tools'])['tools']) : [choice]
  const names = allowed.map(nameIn)
  return tools.filter((tool) => names.includes(tool.name))
}

const callsOf = (body: JsonObject, lastRole: unknown, directives: Directives): readonly FunctionTool[] => {
  if (lastRole !== 'user' || body['tools'] === undefined) return []
  const allowed = allowedBy(body['tool_choice'], functionTools(body))
  return calledOf(allowed, body['parallel_tool_calls'] === true, directives)
}

const jsonSchemaOf = (body: JsonObject): unknown => {
  const format = asObject(body['response_format'])
  if (format['type'] === 'json_object') return answerSchema
  return format['type'] === 'json_schema' ? (asObject(format['json_schema'])['schema'] ?? answerSchema) : undefined
}

const positiveOr = (otherwise: number, ...values: readonly unknown[]): number =>
  values.find((value): value is number => typeof value === 'number' && value > 0) ?? otherwise

const stopsOf = (stop: unknown): readonly string[] =>
  (typeof stop === 'string' ? [stop] : asArray(stop)).map(asText).filter((text) => text !== '')

const tierOf = (asked: unknown): string => {
  if (typeof asked !== 'string' || asked === 'auto') return 'default'
  return asked === 'fast' ? 'priority' : asked
}

const lastOf = (messages: readonly JsonObject[], role: string): JsonObject =>
  messages.findLast((message) => message['role'] === role) ?? {}

/** Liberal: what is missing or of another type counts as absent. */
export const readChatRequest = (body: JsonObject, directives: Directives): ChatRequest => {
  const messages = asArray(body['messages']).map(asObject)
  return {
    includeUsage: asObject(body['stream_options'])['include_usage'] === true,
    choices: positiveOr(1, body['n']),
    outputTokensMax: positiveOr(Number.POSITIVE_INFINITY, body['max_completion_tokens'], body['max_tokens']),
    stop: stopsOf(body['stop']),
    calls: callsOf(body, messages.at(-1)?.['role'], directives),
    preface: '',
    jsonSchema: jsonSchemaOf(body),
    audio: asArray(body['modalities']).includes('audio'),
    reasoningTokens: reasoningTokensOf(typeof body['reasoning_effort'] === 'string' ? body['reasoning_effort'] : null),
    serviceTier: tierOf(body['service_tier']),
    userText: textOfMessage(lastOf(messages, 'user')),
    prompt: sum(messages.map(countMessage)),
  }
}
