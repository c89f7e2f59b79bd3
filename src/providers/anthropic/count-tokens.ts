import { isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { type PostMessages, postTo } from './endpoint.ts'
import { refuseAccountReferences } from './references.ts'
import { thinkingWith } from './request.ts'
import { ownMessages } from './signatures.ts'
import { withoutUnpricedMessagesTools } from './tools.ts'

/** What the endpoint takes; it refuses a request with any other field. */
const countedFields: readonly string[] = [
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'context_management',
  'mcp_servers',
]

const countedBody = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([field]) => countedFields.includes(field)))

/** For POST `/messages/count_tokens`, which is free. Throws `unsupported_parameter` for a file kept by the provider. */
export function* countTokensRequest(
  target: Target,
  { body, headers }: Pick<UpstreamCallRequest, 'body' | 'headers'>,
  post: PostMessages = postTo,
): Generator<void, UpstreamRequest> {
  yield* refuseAccountReferences(body, target.provider)
  yield
  const messages = yield* ownMessages(makerOf(target), body['messages'])
  yield
  const thinking = 'thinking' in body ? { thinking: thinkingWith(body, messages) } : {}
  const counted = {
    ...countedBody(withoutUnpricedMessagesTools(body, target.sheet)),
    ...thinking,
    messages,
    model: target.upstreamModel,
  }
  return post(target, '/messages/count_tokens', counted, { stream: false, headers })
}

export const readTokenCount = (body: Uint8Array): { readonly inputTokens: number } | AnswerFault => {
  const json = parseJsonBytes(body)
  if (!isObject(json)) return { fault: 'not_json' }
  const inputTokens = json['input_tokens']
  return typeof inputTokens === 'number' && Number.isSafeInteger(inputTokens) && inputTokens >= 0
    ? { inputTokens }
    : { fault: 'no_count' }
}
