import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'

interface ResponseIdentity {
  readonly requestId: string
  readonly model: string
  readonly createdSeconds: number
}

/** In the shape that SDKs require, with what a request leaves to its defaults. */
export const bareResponse = (identity: ResponseIdentity): JsonObject => ({
  id: `resp_${identity.requestId.replaceAll('-', '')}`,
  object: 'response',
  created_at: identity.createdSeconds,
  completed_at: null,
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: identity.model,
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: null,
  metadata: {},
})

const repeated = [
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'prompt_cache_key',
  'safety_identifier',
  'temperature',
  'tool_choice',
  'top_p',
  'truncation',
  'user',
] as const

const repeatedTool = (value: unknown): unknown =>
  isObject(value) && value['type'] === 'function'
    ? { description: null, parameters: null, strict: null, ...value }
    : value

const repeatedReasoning = (reasoning: unknown): JsonObject =>
  isObject(reasoning) ? { reasoning: { effort: null, summary: null, ...reasoning } } : {}

const repeatedText = (text: unknown): JsonObject =>
  isObject(text) ? { text: { ...text, format: isObject(text['format']) ? text['format'] : { type: 'text' } } } : {}

/** The response that a translated answer begins with: it repeats the settings of the request, as OpenAI does. */
export const begunResponse = (identity: ResponseIdentity, body: JsonObject): JsonObject => ({
  ...bareResponse(identity),
  ...Object.fromEntries(
    repeated.filter((name) => body[name] !== undefined && body[name] !== null).map((name) => [name, body[name]]),
  ),
  ...(Array.isArray(body['tools']) ? { tools: asArray(body['tools']).map(repeatedTool) } : {}),
  ...repeatedReasoning(body['reasoning']),
  ...repeatedText(body['text']),
  metadata: asObject(body['metadata']),
})
