import { formatUsd, parseUsd } from '../domain/money.ts'
import { chargeFor } from '../domain/pricing/charge.ts'
import { isUnits, unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'
import type { FactOf } from '../events/envelope.ts'
import { type Evidence, hasEventType } from './evidence.ts'

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

const findDeduction = ({ events }: Evidence): Waiting | null => {
  const end = events.find(hasEventType('TaskSettled', 'HoldReleased'))?.event
  const settled = end?.type === 'TaskSettled' ? end.data : undefined
  if (settled?.plausible !== false || settled.deduction === undefined || !isUnits(settled.deduction)) return null
  const [line] = settled.lines
  if (line === undefined) return null
  const { workspaceId, total, deduction } = settled
  const reportedPicos = unitsPicosRoundingHalfUp(deduction, line.unitPrice)
  return { workspaceId, totalUsd: total, reportedPicos, figure: `a deduction of ${deduction.trim()} units` }
}

/** Debits what an implausible figure exceeds its charge by, or credits it back; null where none waits. Posted once. */
export const confirmReported = (evidence: Evidence, operator: string): FactOf<'AdjustmentPosted'> | null => {
  const waiting = findUsage(evidence) ?? findDeduction(evidence)
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
      note: `An operator confirmed what the upstream reported: ${waiting.figure}.`,
      by: operator,
    },
  }
}
