import { formatUsd, parseUsd } from '../domain/money.ts'
import { chargeFor } from '../domain/pricing/charge.ts'
import { isUnits, unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'
import type { FactOf } from '../events/envelope.ts'
import type { TaskSettled } from '../events/types.ts'
import { appliedAdjustments, type Evidence, hasEventType } from './evidence.ts'

interface Waiting {
  readonly workspaceId: string
  readonly totalUsd: string
  readonly reportedPicos: bigint
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
  const waitingFor = (confirmed: string, figure: string): Waiting => ({
    workspaceId,
    totalUsd,
    reportedPicos: unitsPicosRoundingHalfUp(confirmed, line.unitPrice),
    figure,
  })
  if (deduction !== undefined && isUnits(deduction))
    return units === null ? waitingFor(deduction, `a deduction of ${deduction.trim()} units`) : null
  return units === null
    ? waitingFor(line.quantity, `the estimate of ${line.quantity} units; ${vendorsWord(settled)}`)
    : waitingFor(units, `a deduction of ${units} units, by the operator; ${vendorsWord(settled)}`)
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
  const restPicos = waiting.reportedPicos - parseUsd(waiting.totalUsd)
  return {
    type: 'AdjustmentPosted',
    data: {
      adjustmentId: `confirmed:${evidence.id}`,
      workspaceId: waiting.workspaceId,
      amount: formatUsd(-restPicos),
      reason: 'correction',
      corrects: evidence.id,
      note: `An operator confirmed: ${waiting.figure}.`,
      by: operator,
    },
  }
}

/** Of a request or a task, after reversals of its corrections, which the wallet counts with the charge. */
export const chargedPicosOf = (evidence: Evidence): bigint => {
  const end = evidence.events.find(hasEventType('UsageRecorded', 'TaskSettled'))?.event
  return appliedAdjustments(evidence)
    .filter(({ event }) => event.data.corrects !== evidence.id)
    .reduce((sum, { event }) => sum - parseUsd(event.data.amount), parseUsd(end?.data.total ?? '0'))
}
