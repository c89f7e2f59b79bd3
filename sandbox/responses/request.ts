import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import { answerSchema, calledOf, type FunctionTool, type Prompt, reasoningTokensOf } from '../answers/output.ts'
import { audioTokens, imageTokens } from '../answers/tokens.ts'
import { countWords, joinTexts } from '../answers/words.ts'
import { type BuiltInCalls, builtInCallsOf, noBuiltInCalls } from './built-in.ts'

export interface ResponsesRequest extends Prompt {
  readonly input: readonly JsonObject[]
  readonly previousId: string | null
  readonly isStored: boolean
  readonly builtIn: BuiltInCalls
  readonly customNames: readonly string[]
  readonly reasons: boolean
  readonly reasoningShown: 'summary' | 'text' | 'nothing'
  readonly reasoningEncrypted: boolean
  readonly words: number
  readonly images: number
  readonly audios: number
}

const partsOf = (item: JsonObject): readonly JsonObject[] => {
  const content = item['content'] ?? item['output']
  return typeof content === 'string' ? [{ type: 'input_text', text: content }] : asArray(content).map(asObject)
}

const textOfPart = (part: JsonObject): string => asText(part['text']) || asText(part['refusal'])

const userTextOf = (items: readonly JsonObject[]): string => {
  const message = items.findLast((item) => item['type'] === 'message' && item['role'] === 'user') ?? {}
  return joinTexts(partsOf(message).map(textOfPart))
}

const functionsIn = (body: JsonObject): readonly FunctionTool[] =>
  asArray(body['tools']).flatMap((tool) => {
    const { type, name, parameters } = asObject(tool)
    if (type === 'custom') return [{ name: asText(name), parameters: { type: 'string' } }]
    return type === 'function' ? [{ name: asText(name), parameters: parameters ?? { type: 'object' } }] : []
  })

const allowedBy = (choice: unknown, tools: readonly FunctionTool[]): readonly FunctionTool[] => {
  if (choice === 'none') return []
  if (!isObject(choice)) return tools
  const allowed = choice['type'] === 'allowed_tools' ? asArray(choice['tools']) : [choice]
  const names = allowed.map((tool) => asObject(tool)['name'])
  return tools.filter((tool) => names.includes(tool.name))
}

const customIn = (body: JsonObject): readonly string[] =>
  asArray(body['tools'])
    .map(asObject)
    .flatMap((tool) => (tool['type'] === 'custom' ? [asText(tool['name'])] : []))

const jsonSchemaOf = (body: JsonObject): unknown => {
  const format = asObject(asObject(body['text'])['format'])
  if (format['type'] === 'json_object') return answerSchema
  return format['type'] === 'json_schema' ? format['schema'] : undefined
}

const shownOf = (reasoning: JsonObject, directives: Directives): ResponsesRequest['reasoningShown'] => {
  if (directives.reasoning_text) return 'text'
  return typeof reasoning['summary'] === 'string' ? 'summary' : 'nothing'
}

const isPart = (items: readonly JsonObject[], type: string): number =>
  items.flatMap(partsOf).filter((part) => part['type'] === type).length

export const readResponsesRequest = (
  body: JsonObject,
  input: readonly JsonObject[],
  conversation: readonly JsonObject[],
  directives: Directives,
): ResponsesRequest => {
  const asks = conversation.at(-1)?.['role'] === 'user'
  const allowed = asks ? allowedBy(body['tool_choice'], functionsIn(body)) : []
  const reasoning = asObject(body['reasoning'])
  const effort = isObject(body['reasoning']) ? asText(reasoning['effort']) || 'medium' : null
  return {
    userText: userTextOf(conversation),
    calls: calledOf(allowed, body['parallel_tool_calls'] === true, directives),
    preface: '',
    jsonSchema: jsonSchemaOf(body),
    audio: false,
    stop: [],
    outputTokensMax:
      typeof body['max_output_tokens'] === 'number' ? body['max_output_tokens'] : Number.POSITIVE_INFINITY,
    reasoningTokens: reasoningTokensOf(effort),
    input,
    previousId: typeof body['previous_response_id'] === 'string' ? body['previous_response_id'] : null,
    isStored: body['store'] !== false,
    builtIn: asks ? builtInCallsOf(body, directives) : noBuiltInCalls,
    customNames: customIn(body),
    reasons: effort !== null && effort !== 'none',
    reasoningShown: shownOf(reasoning, directives),
    // OpenAI includes it without being asked.
    reasoningEncrypted:
      directives.profile !== 'xai' || asArray(body['include']).includes('reasoning.encrypted_content'),
    words:
      countWords(asText(body['instructions'])) +
      conversation.flatMap(partsOf).reduce((words, part) => words + countWords(textOfPart(part)), 0),
    images: isPart(conversation, 'input_image') * imageTokens,
    audios: isPart(conversation, 'input_audio') * audioTokens,
  }
}
