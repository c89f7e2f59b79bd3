import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import { postTo } from './endpoint.ts'
import { isPresent } from './present.ts'
import { refuseAccountReferences } from './references.ts'
import { refuseUnpricedMessagesTools } from './tools.ts'
import { fitBudget } from './write-thinking.ts'

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

/** Unsigned thinking, and calls with a signature, were written by us for another model: this upstream refuses both. */
const isForeign = (block: unknown): boolean =>
  isObject(block) &&
  ((block['type'] === 'thinking' && block['signature'] === '') ||
    (block['type'] === 'tool_use' && block['signature'] !== undefined))

const withoutForeign = (block: unknown): readonly unknown[] => {
  if (!isForeign(block)) return [block]
  const { signature: _signature, ...call } = asObject(block)
  return call['type'] === 'tool_use' ? [call] : []
}

/** A message left without content is removed: the API refuses an empty one. */
const cleaned = (message: unknown): readonly unknown[] => {
  const content = asArray(asObject(message)['content'])
  if (!content.some(isForeign)) return [message]
  const kept = content.flatMap(withoutForeign)
  return kept.length === 0 ? [] : [{ ...asObject(message), content: kept }]
}

export const ownMessages = (messages: unknown): unknown =>
  Array.isArray(messages) ? messages.flatMap(cleaned) : messages

const bodyOf = (target: Target, { body, stream, outputCap }: UpstreamCallRequest): Draft => {
  refuseUnpriced(body, target)
  refuseAccountReferences(body)
  // `auto`, the default, uses the priority tier where our account has one: the sheet prices the standard tier alone.
  const draft: Draft = { ...body, model: target.upstreamModel, stream, service_tier: 'standard_only' }
  // Fast inference has another price; null and `standard` are the default.
  delete draft['speed']
  if (outputCap !== null) capOutput(draft, outputCap)
  draft['messages'] = ownMessages(draft['messages'])
  return draft
}

/** Forwards unknown top-level keys. Throws `unsupported_parameter` for what cannot be billed or tied to a workspace. */
export const messagesRequest = (target: Target, request: UpstreamCallRequest): UpstreamRequest =>
  postTo(target, '/messages', bodyOf(target, request), request)
