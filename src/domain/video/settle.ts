import type { FactOf } from '../../events/envelope.ts'
import type { TaskResult } from '../../events/types.ts'
import { formatUsd } from '../money.ts'
import type { Task } from './task.ts'
import { formatUnits, priceRoundingHalfUp, readUnits, type Units } from './units.ts'

/** The vendor's last word on a task. */
export interface VideoVerdict {
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /** Null where the vendor never took the task. */
  readonly vendorTaskId: string | null
  /** `final_unit_deduction` as the vendor wrote it; null where it told none. */
  readonly deduction: string | null
  readonly failReason: string | null
  readonly vendorCode: number | null
  readonly results: readonly TaskResult[]
}

export interface TaskCharge {
  readonly source: 'reported' | 'estimated'
  readonly lines: FactOf<'TaskSettled'>['data']['lines']
  readonly totalPicos: bigint
}

/** A number of units that can be charged, as `readUnits` reads it. */
export const isUnits = (text: string): boolean => readUnits(text) !== null

const unitsOf = (text: string): Units => {
  const units = readUnits(text)
  if (units === null) throw new RangeError(`not a number of units: ${JSON.stringify(text)}`)
  return units
}

/** What units cost, in picos; what lies below a pico-dollar is rounded half up. Throws RangeError for what is no number of units. */
export const unitsPicosRoundingHalfUp = (units: string, unitPrice: string): bigint =>
  priceRoundingHalfUp(unitsOf(units), unitPrice)

/** The charge for a number of units: one line. */
const chargeUnits = (units: Units, unitPrice: string, source: TaskCharge['source']): TaskCharge => {
  const totalPicos = priceRoundingHalfUp(units, unitPrice)
  const line = { item: 'video', quantity: formatUnits(units), unitPrice, amount: formatUsd(totalPicos) }
  return { source, lines: [line], totalPicos }
}

/**
 * What the vendor's word costs: its own figure at the unit price of the hold, nothing for a failure. Where it told none that can be read,
 * what the hold was placed for, marked as estimated.
 */
export const chargeTask = (task: Pick<Task, 'unitPrice' | 'unitsMax'>, verdict: VideoVerdict): TaskCharge => {
  if (verdict.outcome === 'FAILURE') return { source: 'reported', lines: [], totalPicos: 0n }
  const units = verdict.deduction === null ? null : readUnits(verdict.deduction)
  return units === null
    ? chargeUnits(unitsOf(task.unitsMax), task.unitPrice, 'estimated')
    : chargeUnits(units, task.unitPrice, 'reported')
}

const optional = <Name extends string, T>(name: Name, value: T | null): { readonly [N in Name]?: T } =>
  value === null ? {} : ({ [name]: value } as { readonly [N in Name]?: T })

/** The end of an open task by the vendor's word. */
export const decideSettlement = (task: Task, verdict: VideoVerdict): FactOf<'TaskSettled'> => {
  const { source, lines, totalPicos } = chargeTask(task, verdict)
  return {
    type: 'TaskSettled',
    data: {
      taskId: task.taskId,
      workspaceId: task.workspaceId,
      outcome: verdict.outcome,
      ...optional('vendorTaskId', verdict.vendorTaskId),
      ...optional('failReason', verdict.failReason),
      ...optional('vendorCode', verdict.vendorCode),
      ...optional('deduction', verdict.deduction),
      source,
      priceVersion: task.priceVersion,
      lines,
      total: formatUsd(totalPicos),
      held: task.held,
      results: [...verdict.results],
    },
  }
}

/** The vendor's word on a task whose hold had ended: told, charged to nobody. */
export const lateVerdict = (
  task: Pick<Task, 'taskId' | 'workspaceId' | 'unitPrice' | 'unitsMax'>,
  verdict: VideoVerdict & { readonly vendorTaskId: string },
): FactOf<'LateVerdictSeen'> => ({
  type: 'LateVerdictSeen',
  data: {
    taskId: task.taskId,
    workspaceId: task.workspaceId,
    vendorTaskId: verdict.vendorTaskId,
    outcome: verdict.outcome,
    ...optional('deduction', verdict.deduction),
    cost: formatUsd(chargeTask(task, verdict).totalPicos),
    ...optional('failReason', verdict.failReason),
  },
})
