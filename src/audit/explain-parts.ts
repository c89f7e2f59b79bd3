import { formatUsd, parseUsd } from '../domain/money.ts'
import { appliedAdjustments, type Evidence, type EvidenceEvent, type EvidenceEventOf } from './evidence.ts'
import type {
  ExplainedAdjustment,
  ExplainedEvent,
  ExplainedMovement,
  ExplainedProof,
  Explanation,
} from './explanation.ts'

const explainMovements = ({ sequence, index, event, movements }: EvidenceEvent): readonly ExplainedMovement[] =>
  movements.map((moved, line) => ({
    at: event.time,
    sequence,
    event_index: index,
    line,
    kind: moved.kind,
    amount: formatUsd(moved.amountPicos),
    held: formatUsd(moved.heldPicos),
    balance_before: formatUsd(moved.balanceAfterPicos - moved.amountPicos),
    balance_after: formatUsd(moved.balanceAfterPicos),
    held_before: formatUsd(moved.heldAfterPicos - moved.heldPicos),
    held_after: formatUsd(moved.heldAfterPicos),
  }))

const explainAdjustment = ({ sequence, event }: EvidenceEventOf<'AdjustmentPosted'>): ExplainedAdjustment => {
  const { adjustmentId, amount, reason, note } = event.data
  return { at: event.time, sequence, adjustment_id: adjustmentId, amount, reason, note }
}

const explainEvent = (entry: EvidenceEvent, counts: boolean): ExplainedEvent => ({
  sequence: entry.sequence,
  event_index: entry.index,
  at: entry.event.time,
  type: entry.event.type,
  id: entry.event.id,
  source: entry.event.source,
  counts,
  sealed_by: entry.seal?.size ?? null,
})

const explainProof = (id: string, { sequence, seal }: EvidenceEvent): ExplainedProof => ({
  sequence,
  checkpoint: seal,
  command: `gateway prove ${id}`,
})

interface ChargeOutcome {
  /** The event that decided what was charged, or the last so far. */
  readonly decisive: EvidenceEvent
  /** The charge's own events; adjustments count if they moved the wallet. */
  readonly counting: ReadonlySet<EvidenceEvent>
  readonly chargedPicos: bigint
}

type Common = 'wallet' | 'adjustments' | 'net' | 'events' | 'proof' | 'log_sequence' | 'complete'

export const explainCommon = (
  evidence: Evidence,
  { decisive, counting, chargedPicos }: ChargeOutcome,
): Pick<Explanation, Common> => {
  const adjustments = appliedAdjustments(evidence)
  const correctedPicos = adjustments.reduce((sum, { event }) => sum + parseUsd(event.data.amount), 0n)
  const applied: ReadonlySet<EvidenceEvent> = new Set(adjustments)
  return {
    wallet: evidence.events.flatMap(explainMovements),
    adjustments: adjustments.map(explainAdjustment),
    net: formatUsd(chargedPicos - correctedPicos),
    events: evidence.events.map((entry) => explainEvent(entry, counting.has(entry) || applied.has(entry))),
    proof: explainProof(evidence.id, decisive),
    log_sequence: evidence.sequence,
    complete: evidence.isComplete,
  }
}

export const explainKey = ({ key }: Evidence, keyId: string): Explanation['key'] => ({
  id: keyId,
  name: key?.name ?? null,
  prefix: key?.prefix ?? null,
})
