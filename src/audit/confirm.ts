import { formatUsd, parseUsd } from '../domain/money.ts'
import { chargeFor } from '../domain/pricing/charge.ts'
import { isUnits, unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'
import { type ChargeAdjustment, type ChargeCorrections, foldCorrections } from '../domain/wallet/charge-corrections.ts'
import type { FactOf } from '../events/envelope.ts'
import type { TaskSettled } from '../events/types.ts'
import { appliedAdjustments, type Evidence, hasEventType } from './evidence.ts'

interface Waiting {
  readonly workspaceId: string
  readonly totalUsd: string
  /** Null: the figure remains what it is. */
  readonly reportedPicos: bigint | null
  readonly figure: string
}

const findUsage = ({ events, sheet }: Evidence): Waiting | null => {
  const end = events.find(hasEventType('UsageRecorded', 'RequestFailed'))?.event
  const bill = end?.type === 'UsageRecorded' ? end.data : undefined
  if (bill?.plausible !== false || sheet?.published.sheet === undefined) return null
  const { workspaceId, total, usage } = bill
  const below = Object.entries(usage.negative ?? {}).map(([name, value]) => `; ${name} ${value}, counted as 0`)
  const figure = `${usage.promptTotal} tokens in, ${usage.outputTotal} out${below.join('')}`
  return { workspaceId, totalUsd: total, reportedPicos: chargeFor(sheet.published.sheet, usage).totalPicos, figure }
}

const vendorsWord = ({ deduction }: TaskSettled): string =>
  deduction === undefined ? 'the vendor reported none' : `the vendor's "${deduction}" is no number of units`

const findSettled = ({ events }: Evidence): TaskSettled | undefined => {
  const end = events.find(hasEventType('TaskSettled', 'HoldReleased'))?.event
  return end?.type === 'TaskSettled' ? end.data : undefined
}

/** Without a figure that can be read, the operator's; without that either, what was charged. */
const findDeduction = (evidence: Evidence, units: string | null): Waiting | null => {
  const settled = findSettled(evidence)
  const [line] = settled?.lines ?? []
  if (settled?.source !== 'estimated' || line === undefined) return null
  const { workspaceId, total: totalUsd, deduction } = settled
  const waitingFor = (confirmed: string | null, figure: string): Waiting => ({
    workspaceId,
    totalUsd,
    reportedPicos: confirmed === null ? null : unitsPicosRoundingHalfUp(confirmed, line.unitPrice),
    figure,
  })
  if (deduction !== undefined && isUnits(deduction))
    return units === null ? waitingFor(deduction, `a deduction of ${deduction.trim()} units`) : null
  return units === null
    ? waitingFor(null, `the estimate of ${line.quantity} units; ${vendorsWord(settled)}`)
    : waitingFor(units, `a deduction of ${units} units, by the operator; ${vendorsWord(settled)}`)
}

const totalPicosOf = ({ events }: Evidence): bigint =>
  parseUsd(events.find(hasEventType('UsageRecorded', 'TaskSettled'))?.event.data.total ?? '0')

const adjustmentsOf = (evidence: Evidence): readonly ChargeAdjustment[] =>
  appliedAdjustments(evidence).map(({ event: { data } }) => ({ ...data, amountPicos: parseUsd(data.amount) }))

const confirmedId = ({ id }: Evidence): string => `confirmed:${id}`

/** A repeated confirmation finds what the first one found. */
const foldUnconfirmed = (evidence: Evidence): ChargeCorrections => {
  const adjustments = adjustmentsOf(evidence)
  const place = adjustments.findIndex(({ adjustmentId }) => adjustmentId === confirmedId(evidence))
  const charge = { chargeId: evidence.id, totalPicos: totalPicosOf(evidence) }
  return foldCorrections(charge, place < 0 ? adjustments : adjustments.slice(0, place))
}

/**
 * Debits what an implausible figure exceeds its charge by, or credits it back; null where none waits. Posted once.
 * `units`: of a video whose vendor's deduction is missing or no number; null: its estimate remains. Throws RangeError for
 * what is no number of units.
 */
export const confirmReported = (
  evidence: Evidence,
  operator: string,
  units: string | null = null,
): FactOf<'AdjustmentPosted'> | null => {
  const waiting = (units === null ? findUsage(evidence) : null) ?? findDeduction(evidence, units)
  if (waiting === null) return null
  const chargedPicos = parseUsd(waiting.totalUsd) + foldUnconfirmed(evidence).correctedPicos
  const restPicos = (waiting.reportedPicos ?? chargedPicos) - chargedPicos
  return {
    type: 'AdjustmentPosted',
    data: {
      adjustmentId: confirmedId(evidence),
      workspaceId: waiting.workspaceId,
      amount: formatUsd(-restPicos),
      reason: 'correction',
      corrects: evidence.id,
      note: `An operator confirmed: ${waiting.figure}.`,
      by: operator,
    },
  }
}

/** As the wallet counts: `chargedPicos` with reversals of corrections, `correctedPicos` of adjustments that name the charge. */
export const summarizeCharge = (evidence: Evidence) => {
  const adjustments = adjustmentsOf(evidence)
  const sum = (some: readonly ChargeAdjustment[]): bigint =>
    some.reduce((all, { amountPicos }) => all + amountPicos, 0n)
  const { reconciledBy, isGivenBack } = foldUnconfirmed(evidence)
  const direct = adjustments.filter(({ corrects }) => corrects === evidence.id)
  const correctedPicos = sum(direct)
  return {
    reconciledBy,
    isGivenBack,
    correctedPicos,
    chargedPicos: totalPicosOf(evidence) + correctedPicos - sum(adjustments),
  }
}
