import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { AnswerFormat, Conversation, Reasoning } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { readResponsesTools } from './declared-tools.ts'
import { readItems } from './read-items.ts'

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const refuseUnsayable = (body: JsonObject): void => {
  if (typeof body['previous_response_id'] === 'string')
    throw unsupported(
      'previous_response_id',
      'is not available for this model, whose answers are not stored: send the whole input',
    )
  if (Number(body['top_logprobs'] ?? 0) > 0 || asArray(body['include']).includes('message.output_text.logprobs'))
    throw unsupported('top_logprobs', 'is not available for this model')
}

const readFormat = (text: unknown): AnswerFormat => {
  const { type, name, description, schema, strict } = asObject(asObject(text)['format'])
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') return { type: 'text' }
  return {
    type: 'schema',
    name: asText(name),
    description: typeof description === 'string' ? description : null,
    schema: asObject(schema),
    strict: typeof strict === 'boolean' ? strict : null,
  }
}

const readReasoning = (reasoning: unknown): Reasoning | null => {
  const { effort } = asObject(reasoning)
  if (typeof effort !== 'string') return null
  return effort === 'none' ? { type: 'off' } : { type: 'effort', effort }
}

const readUser = ({ user, safety_identifier }: JsonObject): string | null =>
  asText(user) || asText(safety_identifier) || null

/** Unknown members, and those that only tune an answer, are dropped; what would change the answer's kind throws. */
export function* readResponsesConversation(body: JsonObject, provider: string): Generator<void, Conversation> {
  refuseUnsayable(body)
  const messages = yield* readItems(body, provider)
  yield
  return {
    ...messages,
    ...readResponsesTools(body),
    parallelToolCalls: typeof body['parallel_tool_calls'] === 'boolean' ? body['parallel_tool_calls'] : null,
    outputTokensMax: numberOrNull(body['max_output_tokens']),
    temperature: numberOrNull(body['temperature']),
    topP: numberOrNull(body['top_p']),
    topK: null,
    stopSequences: [],
    format: readFormat(body['text']),
    reasoning: readReasoning(body['reasoning']),
    serviceTier: typeof body['service_tier'] === 'string' ? body['service_tier'] : null,
    user: readUser(body),
  }
}
