import { asArray, asObject, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { readFault } from '../answers/faults.ts'
import type { Output } from '../answers/output.ts'
import { countWords } from '../answers/words.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import type { ResponsesRequest } from './request.ts'

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly output: readonly JsonObject[]
  readonly incompleteReason: string | null
  readonly error: JsonObject | null
  readonly reported: ReportedUsage | null
}

export const inProgress: ResponseState = {
  status: 'in_progress',
  output: [],
  incompleteReason: null,
  error: null,
  reported: null,
}

export const endOf = (
  { directives }: Asked,
  output: Output,
  items: readonly JsonObject[],
  reported: ReportedUsage | null,
): ResponseState => {
  const reason = directives.finish_reason ?? (output.finishReason === 'length' ? 'max_output_tokens' : null)
  return {
    ...inProgress,
    status: reason === null ? 'completed' : 'incomplete',
    output: items,
    incompleteReason: reason,
    reported,
  }
}

/** For the directive `failed`; usage is reported only where a directive sets it. */
export const failedEnd = ({ directives, secrets }: Asked, reported: ReportedUsage | null): ResponseState => {
  const { code, message } = readFault(directives, secrets)
  const isReported = directives.prompt_tokens !== undefined || directives.completion_tokens !== undefined
  return {
    ...inProgress,
    status: 'failed',
    error: { code: code ?? 'server_error', message },
    reported: isReported ? reported : null,
  }
}

const toolOf = (tool: unknown): JsonObject => {
  const { type, ...members } = asObject(tool)
  return type === 'function'
    ? { type, description: null, parameters: null, strict: true, ...members }
    : { type, ...members }
}

const formatOf = (format: unknown): JsonObject => {
  if (!isObject(format)) return { type: 'text' }
  return format['type'] === 'json_schema' ? { description: null, strict: false, ...format } : format
}

const reasoningOf = (reasoning: unknown): JsonObject => ({ effort: null, summary: null, ...asObject(reasoning) })

const imageTokens = 1_056

/** Each image is made from the user's text, and from all images of the conversation. */
const imageUsageOf = ({ builtIn, userText, images }: ResponsesRequest): JsonObject => {
  const text_tokens = builtIn.images * countWords(userText)
  const image_tokens = builtIn.images * images
  const made = builtIn.images * imageTokens
  return {
    input_tokens: text_tokens + image_tokens,
    input_tokens_details: { image_tokens, text_tokens },
    output_tokens: made,
    output_tokens_details: { image_tokens: made, text_tokens: 0 },
    total_tokens: text_tokens + image_tokens + made,
  }
}

const toolUsageOf = (request: ResponsesRequest): JsonObject => ({
  image_gen: imageUsageOf(request),
  web_search: { num_requests: request.builtIn.searches },
})

const repeated = (body: JsonObject): JsonObject => ({
  instructions: body['instructions'] ?? null,
  max_output_tokens: body['max_output_tokens'] ?? null,
  max_tool_calls: body['max_tool_calls'] ?? null,
  metadata: body['metadata'] ?? {},
  parallel_tool_calls: body['parallel_tool_calls'] ?? true,
  previous_response_id: body['previous_response_id'] ?? null,
  prompt_cache_key: body['prompt_cache_key'] ?? null,
  reasoning: reasoningOf(body['reasoning']),
  safety_identifier: body['safety_identifier'] ?? null,
  store: body['store'] ?? true,
  temperature: body['temperature'] ?? 1,
  text: { verbosity: 'medium', ...asObject(body['text']), format: formatOf(asObject(body['text'])['format']) },
  tool_choice: body['tool_choice'] ?? 'auto',
  tools: asArray(body['tools']).map(toolOf),
  top_logprobs: body['top_logprobs'] ?? 0,
  top_p: body['top_p'] ?? 1,
  truncation: body['truncation'] ?? 'disabled',
  user: body['user'] ?? null,
})

const tierOf = (asked: unknown): unknown => (typeof asked !== 'string' || asked === 'auto' ? 'default' : asked)

export const responseIdOf = ({ id }: Asked): string => `resp_${id.replaceAll('-', '')}`

export const responseOf = (asked: Asked, request: ResponsesRequest, state: ResponseState): JsonObject => {
  const { body, directives } = asked
  const createdSeconds = Math.floor(asked.at / 1000)
  const isOver = state.status !== 'in_progress'
  return {
    id: responseIdOf(asked),
    object: 'response',
    created_at: createdSeconds,
    completed_at: state.status === 'completed' ? createdSeconds : null,
    status: state.status,
    background: false,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    model: asked.model,
    output: state.output,
    ...repeated(body),
    presence_penalty: 0,
    frequency_penalty: 0,
    service_tier: directives.service_tier ?? (isOver ? tierOf(body['service_tier']) : 'auto'),
    usage: state.reported?.usage ?? null,
    ...(isOver && directives.profile !== 'xai' && !directives.no_usage ? { tool_usage: toolUsageOf(request) } : {}),
  }
}
