import { formatUsd, maxOf, parseUsd } from '../domain/money.ts'
import {
  type LengthRates,
  ratesFor,
  regionMultiplierOf,
  type ServedWith,
  serviceRatesOf,
  unpricedOf,
} from '../domain/pricing/charge.ts'
import type { PriceSheet, UsageRecorded } from '../events/types.ts'
import { countInColumn, type UsageColumn, usageColumnNames } from '../projections/usage/table.ts'
import { type Evidence, type EvidenceEventOf, hasEventType } from './evidence.ts'
import { explainCommon, explainKey } from './explain-parts.ts'
import type { ChargeState, ExplainedCharge, ExplainedPrice, ExplainedUsage, RequestExplanation } from './explanation.ts'
import { recomputeRequest } from './recompute.ts'

type Closing = EvidenceEventOf<'UsageRecorded' | 'RequestFailed'>

/** Of several closing events the first counts. */
interface RequestEvents {
  readonly routed: EvidenceEventOf<'RequestRouted'> | undefined
  readonly closing: Closing | undefined
}

const findRequestEvents = ({ events }: Evidence): RequestEvents => ({
  routed: events.find(hasEventType('RequestRouted')),
  closing: events.find(hasEventType('UsageRecorded', 'RequestFailed')),
})

const billOf = (closing: Closing | undefined): UsageRecorded | null =>
  closing?.event.type === 'UsageRecorded' ? closing.event.data : null

const stateOf = ({ routed, closing }: RequestEvents): ChargeState => {
  if (routed === undefined || closing === undefined) return 'open'
  return closing.event.type === 'UsageRecorded' ? 'charged' : 'failed'
}

const explainAsked = ({ event: { data, time } }: EvidenceEventOf<'RequestRouted'>): RequestExplanation['asked'] => ({
  at: time,
  surface: data.surface,
  model: data.model,
  router: data.router,
  stream: data.stream,
  output_cap: data.outputCap,
  deadline: data.deadline,
})

const planOf = ({ event }: EvidenceEventOf<'RequestRouted'>): RequestExplanation['plan'] =>
  event.data.candidates.map(({ model, provider, upstreamModel, priceVersion }) => ({
    model,
    provider,
    upstream_model: upstreamModel,
    price_version: priceVersion,
  }))

const attemptsOf = ({ event }: Closing): RequestExplanation['attempts'] =>
  event.data.attempts.map(({ durationMs, deployment, upstreamRequestId, ...attempt }) => ({
    ...attempt,
    duration_ms: durationMs,
    ...(deployment === undefined ? {} : { deployment }),
    ...(upstreamRequestId === undefined ? {} : { upstream_request_id: upstreamRequestId }),
  }))

const endedOf = ({ event: { type, data, time } }: Closing): RequestExplanation['ended'] => {
  if (type === 'RequestFailed') return { at: time, served: null, outcome: data.reason, status: data.status }
  const { level, model, provider, outcome } = data
  return { at: time, served: { level, model, provider }, outcome, status: null }
}

const servedWithOf = ({ serviceTier, inferenceGeo }: ServedWith) => ({
  ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
  ...(inferenceGeo === undefined ? {} : { inference_geo: inferenceGeo }),
})

const explainEstimate = ({ estimate }: UsageRecorded): Pick<ExplainedUsage, 'estimate'> => {
  if (estimate === undefined) return {}
  const { hiddenTokens, thinkingMs, tokensPerMinute, basis } = estimate
  return {
    estimate: { hidden_tokens: hiddenTokens, thinking_ms: thinkingMs, tokens_per_minute: tokensPerMinute, basis },
  }
}

const usageOf = (bill: UsageRecorded): ExplainedUsage => {
  const { source, usage, plausible } = bill
  const { promptLargest, negative } = usage
  const counts = Object.fromEntries(usageColumnNames.map((column) => [column, countInColumn(usage, column)]))
  return {
    source,
    ...(counts as Readonly<Record<UsageColumn, number>>),
    ...(promptLargest === undefined ? {} : { prompt_largest: promptLargest }),
    ...servedWithOf(usage),
    tool_calls: usage.toolCalls,
    ...(plausible === false ? { plausible } : {}),
    ...(negative === undefined ? {} : { negative }),
    ...explainEstimate(bill),
  }
}

const tierOf = (lengths: LengthRates, rates: PriceSheet['per_million_tokens']): number | null =>
  lengths.tiers?.find((tier) => tier.per_million_tokens === rates)?.prompt_tokens_above ?? null

const callRates = ({ per_call = {} }: PriceSheet, { toolCalls }: UsageRecorded['usage']): ExplainedPrice['per_call'] =>
  Object.fromEntries(Object.entries(per_call).filter(([tool]) => (toolCalls[tool] ?? 0) > 0))

const priceOf = ({ sheet: found }: Evidence, { usage }: UsageRecorded): ExplainedPrice | null => {
  const sheet = found?.published.sheet
  if (found === null || sheet === undefined) return null
  const { model, version, effectiveFrom, source } = found.published
  const lengths = serviceRatesOf(sheet, usage)
  const rates = ratesFor(lengths, usage.promptLargest ?? usage.promptTotal)
  const multiplier = regionMultiplierOf(sheet, usage)
  const unpriced = servedWithOf(unpricedOf(sheet, usage))
  return {
    ...{ model, version, effective_from: effectiveFrom, source, sequence: found.sequence },
    per_million_tokens: rates,
    prompt_tokens_above: tierOf(lengths, rates),
    ...(lengths === sheet || usage.serviceTier === undefined ? {} : { service_tier: usage.serviceTier }),
    ...(multiplier === '1' ? {} : { region_multiplier: multiplier }),
    ...(Object.keys(unpriced).length === 0 ? {} : { unpriced }),
    per_call: callRates(sheet, usage),
    unit_price: null,
  }
}

const chargeOf = ({ sheet }: Evidence, bill: UsageRecorded): ExplainedCharge => ({
  lines: bill.lines.map(({ item, quantity, unitPrice, amount }) => ({ item, quantity, unit_price: unitPrice, amount })),
  total: bill.total,
  recomputed: recomputeRequest(bill, sheet?.published ?? null),
})

const reservationOf = (
  { event: { data } }: EvidenceEventOf<'RequestRouted'>,
  bill: UsageRecorded | null,
): RequestExplanation['reservation'] => ({
  reserved: data.reserved,
  allowance: data.allowanceId,
  beyond: formatUsd(maxOf(0n, parseUsd(bill?.total ?? '0') - parseUsd(data.reserved))),
})

export const explainRequest = (evidence: Evidence): RequestExplanation | null => {
  const sides = findRequestEvents(evidence)
  const { routed, closing } = sides
  const decisive = closing ?? routed
  if (decisive === undefined) return null
  const state = stateOf(sides)
  const bill = billOf(closing)
  const counting = new Set([routed, closing].filter((entry) => entry !== undefined))
  const chargedPicos = state === 'charged' && bill !== null ? parseUsd(bill.total) : 0n
  return {
    object: 'charge',
    id: evidence.id,
    kind: 'request',
    state,
    workspace: decisive.event.data.workspaceId,
    key: explainKey(evidence, decisive.event.data.keyId),
    asked: routed === undefined ? null : explainAsked(routed),
    plan: routed === undefined ? [] : planOf(routed),
    attempts: closing === undefined ? [] : attemptsOf(closing),
    ended: closing === undefined ? null : endedOf(closing),
    usage: bill === null ? null : usageOf(bill),
    price: bill === null ? null : priceOf(evidence, bill),
    charge: bill === null ? null : chargeOf(evidence, bill),
    reservation: routed === undefined ? null : reservationOf(routed, bill),
    ...explainCommon(evidence, { decisive, counting, chargedPicos }),
  }
}
