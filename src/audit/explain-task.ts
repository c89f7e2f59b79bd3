import { formatUsd, parseUsd } from '../domain/money.ts'
import type { EventOf } from '../events/envelope.ts'
import type { TaskOrder } from '../events/types.ts'
import { type Evidence, type EvidenceEvent, type EvidenceEventOf, hasEventType } from './evidence.ts'
import { explainCommon, explainKey } from './explain-parts.ts'
import type { ChargeState, ExplainedCharge, ExplainedPrice, TaskExplanation } from './explanation.ts'
import { recomputeTask } from './recompute.ts'

type End = EvidenceEventOf<'TaskSettled' | 'HoldReleased'>

/** The first end of the hold counts: it is the one that moved the wallet. */
interface TaskEvents {
  readonly placed: EvidenceEventOf<'HoldPlaced'>
  readonly order: TaskOrder
  readonly end: End | undefined
}

const findTaskEvents = ({ events }: Evidence): TaskEvents | null => {
  const placed = events.find(hasEventType('HoldPlaced'))
  const order = placed?.event.data.task
  if (placed === undefined || order === undefined) return null
  const ends = events.filter(hasEventType('TaskSettled', 'HoldReleased'))
  return { placed, order, end: ends.find(({ movements }) => movements.length > 0) }
}

const stateOf = ({ end }: TaskEvents): ChargeState => {
  if (end === undefined) return 'open'
  if (end.event.type === 'HoldReleased') return 'given_back'
  return end.event.data.outcome === 'SUCCESS' ? 'charged' : 'failed'
}

const explainAsked = ({ placed, order }: TaskEvents): TaskExplanation['asked'] => ({
  at: placed.event.time,
  surface: order.surface,
  kind: order.kind,
  model: order.model,
  provider: order.provider,
  upstream_model: order.upstreamModel,
  price_version: order.priceVersion,
  external_task_id: order.externalTaskId ?? null,
})

const holdOf = ({ placed, order }: TaskEvents): TaskExplanation['hold'] => ({
  amount: placed.event.data.amount,
  units_max: order.unitsMax,
  unit_price: order.unitPrice,
  deadline: placed.event.data.deadline,
})

/** Events before the end; later status events of the vendor are only listed. */
const selectBeforeEnd = <T extends EvidenceEvent>(recorded: readonly T[], { end }: TaskEvents): readonly T[] =>
  end === undefined
    ? recorded
    : recorded.filter(
        ({ sequence, index }) => sequence < end.sequence || (sequence === end.sequence && index < end.index),
      )

const submittedOf = ([first]: readonly EvidenceEventOf<'TaskSubmitted'>[]): TaskExplanation['submitted'] =>
  first === undefined ? null : { at: first.event.time, vendor_task_id: first.event.data.vendorTaskId }

const sumOf = ({ movements }: End, kind: string, figure: 'amountPicos' | 'heldPicos'): bigint =>
  movements.filter((moved) => moved.kind === kind).reduce((sum, moved) => sum - moved[figure], 0n)

const endedOf = (end: End): TaskExplanation['ended'] => {
  const recorded = {
    at: end.event.time,
    given_back: formatUsd(sumOf(end, 'release', 'heldPicos')),
    beyond: formatUsd(sumOf(end, 'excess', 'amountPicos')),
  }
  if (end.event.type === 'HoldReleased') {
    const { reason } = end.event.data
    return {
      ...recorded,
      outcome: reason,
      vendor_task_id: null,
      deduction: null,
      source: null,
      reason,
      vendor_code: null,
    }
  }
  const { outcome, vendorTaskId, deduction, source, failReason, vendorCode } = end.event.data
  return {
    ...recorded,
    outcome,
    vendor_task_id: vendorTaskId ?? null,
    deduction: deduction ?? null,
    source,
    reason: failReason ?? null,
    vendor_code: vendorCode ?? null,
  }
}

type VendorVerdict = Pick<EventOf<'TaskSettled'>['data'], 'vendorTaskId' | 'outcome' | 'deduction'>

const isSameVerdict = (one: VendorVerdict, other: VendorVerdict): boolean =>
  one.vendorTaskId === other.vendorTaskId && one.outcome === other.outcome && one.deduction === other.deduction

/** A second settlement is as late as a verdict that the poller itself found to be too late. Several pollers may record the same one. */
const lateVerdicts = ({ events }: Evidence, { end }: TaskEvents): TaskExplanation['late_verdicts'] =>
  events
    .filter(hasEventType('TaskSettled', 'LateVerdictSeen'))
    .filter(({ event }, place, all) => all.findIndex((each) => isSameVerdict(each.event.data, event.data)) === place)
    .filter((recorded) => recorded !== end)
    .map(({ sequence, event: { data, time } }) => ({
      at: time,
      sequence,
      outcome: data.outcome,
      deduction: data.deduction ?? null,
      cost: 'cost' in data ? data.cost : data.total,
      reason: data.failReason ?? null,
    }))

const priceOf = ({ sheet: found }: Evidence, { unitPrice }: TaskOrder): ExplainedPrice | null => {
  if (found === null) return null
  const { model, version, effectiveFrom, source } = found.published
  return {
    ...{ model, version, effective_from: effectiveFrom, source, sequence: found.sequence },
    ...{ per_million_tokens: null, prompt_tokens_above: null, per_call: {}, unit_price: unitPrice },
  }
}

const chargeOf = ({ sheet }: Evidence, { order, end }: TaskEvents): ExplainedCharge | null => {
  if (end?.event.type !== 'TaskSettled') return null
  const { lines, total } = end.event.data
  return {
    lines: lines.map(({ item, quantity, unitPrice, amount }) => ({ item, quantity, unit_price: unitPrice, amount })),
    total,
    recomputed: recomputeTask(end.event.data, order, sheet?.published ?? null),
  }
}

export const explainTask = (evidence: Evidence): TaskExplanation | null => {
  const course = findTaskEvents(evidence)
  if (course === null) return null
  const { placed, order, end } = course
  const submitted = selectBeforeEnd(evidence.events.filter(hasEventType('TaskSubmitted')), course)
  const progressed = selectBeforeEnd(evidence.events.filter(hasEventType('TaskProgressed')), course)
  const charge = chargeOf(evidence, course)
  const counting = new Set<EvidenceEvent>([placed, ...submitted, ...progressed, ...(end === undefined ? [] : [end])])
  return {
    object: 'charge',
    id: evidence.id,
    kind: 'task',
    state: stateOf(course),
    workspace: placed.event.data.workspaceId,
    key: explainKey(evidence, order.keyId),
    asked: explainAsked(course),
    hold: holdOf(course),
    submitted: submittedOf(submitted),
    progress: progressed.map(({ event: { data, time } }) => ({
      at: time,
      status: data.status,
      percent: data.progress,
    })),
    ended: end === undefined ? null : endedOf(end),
    late_verdicts: lateVerdicts(evidence, course),
    price: priceOf(evidence, order),
    charge,
    ...explainCommon(evidence, {
      decisive: end ?? placed,
      counting,
      chargedPicos: parseUsd(charge?.total ?? '0'),
    }),
  }
}
