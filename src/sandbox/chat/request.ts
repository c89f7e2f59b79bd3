import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import type { Directives } from '../directives.ts'
import { calledOf, type FunctionTool, type Prompt, reasoningTokensOf } from '../output.ts'
import { audioTokens, imageTokens } from '../tokens.ts'
import { countWords } from '../words.ts'

export interface PromptCount {
  readonly words: number
  readonly audioIn: number
  readonly image: number
}

/** What of a chat request decides its answer. */
export interface ChatRequest extends Prompt {
  readonly includeUsage: boolean
  readonly choices: number
  readonly serviceTier: string
  readonly prompt: PromptCount
}

const wordsOfPart = (part: JsonObject): number => countWords(textOf(part['text']) || textOf(part['refusal']))

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
  return sum(listOf(content).map((part) => countPart(objectOf(part))))
}

const textOfMessage = (message: JsonObject): string => {
  const { content } = message
  if (typeof content === 'string') return content
  const texts = listOf(content).map((part) => textOf(objectOf(part)['text']))
  return texts.filter((text) => text !== '').join(' ')
}

/** Custom tools are not spoken here. */
const functionTools = (body: JsonObject): readonly FunctionTool[] =>
  listOf(body['tools']).flatMap((tool) => {
    const definition = objectOf(objectOf(tool)['function'])
    const name = textOf(definition['name'])
    return name === '' ? [] : [{ name, parameters: definition['parameters'] ?? { type: 'object' } }]
  })

const nameIn = (tool: unknown): string => textOf(objectOf(objectOf(tool)['function'])['name'])

const allowedBy = (choice: unknown, tools: readonly FunctionTool[]): readonly FunctionTool[] => {
  if (choice === 'none') return []
  if (!isObject(choice)) return tools
  const allowed = choice['type'] === 'allowed_tools' ? listOf(objectOf(choice['allowed_tools'])['tools']) : [choice]
  const names = allowed.map(nameIn)
  return tools.filter((tool) => names.includes(tool.name))
}

const callsOf = (body: JsonObject, lastRole: unknown, directives: Directives): readonly FunctionTool[] => {
  if (lastRole !== 'user' || body['tools'] === undefined) return []
  const allowed = allowedBy(body['tool_choice'], functionTools(body))
  return calledOf(allowed, body['parallel_tool_calls'] === true, directives)
}

const answerSchema = { type: 'object', properties: { answer: { const: 'The sandbox answers in JSON.' } } }

const jsonSchemaOf = (body: JsonObject): unknown => {
  const format = objectOf(body['response_format'])
  if (format['type'] === 'json_object') return answerSchema
  return format['type'] === 'json_schema' ? (objectOf(format['json_schema'])['schema'] ?? answerSchema) : undefined
}

const positiveOr = (otherwise: number, ...values: readonly unknown[]): number =>
  values.find((value): value is number => typeof value === 'number' && value > 0) ?? otherwise

const stopsOf = (stop: unknown): readonly string[] =>
  (typeof stop === 'string' ? [stop] : listOf(stop)).map(textOf).filter((text) => text !== '')

const tierOf = (asked: unknown): string => {
  if (typeof asked !== 'string' || asked === 'auto') return 'default'
  return asked === 'fast' ? 'priority' : asked
}

const lastOf = (messages: readonly JsonObject[], role: string): JsonObject =>
  messages.findLast((message) => message['role'] === role) ?? {}

/** Liberal: what is missing or of another type counts as not given. */
export const readChatRequest = (body: JsonObject, directives: Directives): ChatRequest => {
  const messages = listOf(body['messages']).map(objectOf)
  return {
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
    choices: positiveOr(1, body['n']),
    outputTokensMax: positiveOr(Number.POSITIVE_INFINITY, body['max_completion_tokens'], body['max_tokens']),
    stop: stopsOf(body['stop']),
    calls: callsOf(body, messages.at(-1)?.['role'], directives),
    preface: '',
    jsonSchema: jsonSchemaOf(body),
    audio: listOf(body['modalities']).includes('audio'),
    reasoningTokens: reasoningTokensOf(typeof body['reasoning_effort'] === 'string' ? body['reasoning_effort'] : null),
    serviceTier: tierOf(body['service_tier']),
    userText: textOfMessage(lastOf(messages, 'user')),
    prompt: sum(messages.map(countMessage)),
  }
}
