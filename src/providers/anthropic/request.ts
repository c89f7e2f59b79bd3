import { asArray, asObject, type JsonObject } from '../../encoding/json.ts'
import { unsupported } from '../canonical/refuse.ts'
import { droppedTools, type Target, type UpstreamCallRequest, type UpstreamRequest } from '../dialect/dialect.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { type PostMessages, postTo } from './endpoint.ts'
import { isPresent } from './present.ts'
import { refuseAccountReferences } from './references.ts'
import { ownMessages } from './signatures.ts'
import { refuseUnpricedMessagesTools, withoutUnpricedMessagesTools } from './tools.ts'
import { fitBudget, hasLostThinking } from './write-thinking.ts'

type Draft = Record<string, unknown>

/** Each names something whose price no sheet has, or that another workspace may have stored at the provider. */
const refusedFields: readonly (readonly [field: string, why: string])[] = [
  ['fallbacks', 'is not available: name a chain in models instead'],
  ['container', 'is not available'],
]

const refuseUnpriced = (body: JsonObject, { sheet }: Target): void => {
  for (const [field, why] of refusedFields) if (isPresent(body[field])) throw unsupported(field, why)
  const { inference_geo: region } = body
  if (isPresent(region) && region !== 'global' && !Object.hasOwn(sheet.region_multipliers ?? {}, String(region)))
    throw unsupported('inference_geo', 'must be global: this model has no published price for another region')
  refuseUnpricedMessagesTools(body, sheet)
}

const capThinking = (draft: Draft, maxTokens: number): void => {
  const thinking = asObject(draft['thinking'])
  const wanted = thinking['budget_tokens']
  if (typeof wanted !== 'number') return
  const budget = fitBudget(wanted, maxTokens)
  draft['thinking'] = budget === null ? { type: 'disabled' } : { ...thinking, budget_tokens: budget }
}

const capOutput = (draft: Draft, outputCap: number): void => {
  const own = draft['max_tokens']
  if (typeof own === 'number' && own <= outputCap) return
  draft['max_tokens'] = outputCap
  capThinking(draft, outputCap)
}

/** Thinking of another provider may have been left out; by a budget the API does not answer calls without it. */
export const thinkingWith = (body: JsonObject, messages: unknown): unknown => {
  const { thinking } = body
  const isLost = asObject(thinking)['type'] === 'enabled' && hasLostThinking(asArray(messages).map(asObject))
  return isLost ? { type: 'disabled' } : thinking
}

function* bodyOf(target: Target, { body, stream, outputCap }: UpstreamCallRequest): Generator<void, Draft> {
  yield* refuseAccountReferences(body, target.provider)
  yield
  // `auto`, the default, uses the priority tier where our account has one: the sheet prices the standard tier alone.
  const draft: Draft = { ...body, model: target.upstreamModel, stream, service_tier: 'standard_only' }
  // Fast inference has another price; null and `standard` are the default.
  delete draft['speed']
  if (outputCap !== null) capOutput(draft, outputCap)
  draft['messages'] = yield* ownMessages(makerOf(target), draft['messages'])
  if ('thinking' in draft) draft['thinking'] = thinkingWith(draft, draft['messages'])
  return draft
}

/** Forwards unknown top-level keys. Throws `unsupported_parameter` for what cannot be billed or tied to a workspace. */
export function* messagesRequest(
  target: Target,
  request: UpstreamCallRequest,
  post: PostMessages = postTo,
): Generator<void, UpstreamRequest> {
  refuseUnpriced(request.body, target)
  yield
  const body = withoutUnpricedMessagesTools(request.body, target.sheet)
  const posted = post(target, '/messages', yield* bodyOf(target, { ...request, body }), request)
  return { ...posted, ...droppedTools(request.body, body) }
}
