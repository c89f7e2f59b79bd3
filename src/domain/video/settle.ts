import type { FactOf } from '../../events/envelope.ts'
import type { TaskResult } from '../../events/types.ts'
import { formatUsd } from '../money.ts'
import type { Task } from './task.ts'
import { formatUnits, priceRoundingHalfUp, readUnits, type Units } from './units.ts'

export interface VideoVerdict {
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /** Null where the vendor never accepted the task. */
  readonly vendorTaskId: string | null
  readonly deduction: string | null
  readonly failReason: string | null
  readonly vendorCode: number | null
  readonly results: readonly TaskResult[]
}

interface TaskCharge {
  readonly source: 'reported' | 'estimated'
  readonly lines: FactOf<'TaskSettled'>['data']['lines']
  readonly totalPicos: bigint
}

export const isUnits = (text: string): boolean => readUnits(text) !== null

const unitsOf = (text: string): Units => {
  const units = readUnits(text)
  if (units === null) throw new RangeError(`not a number of units: ${JSON.stringify(text)}`)
  return units
}

/** Picos; what lies below a pico-dollar is rounded half up. Throws RangeError for what is not a number of units. */
export const unitsPicosRoundingHalfUp = (units: string, unitPrice: string): bigint =>
  priceRoundingHalfUp(unitsOf(units), unitPrice)

const chargeUnits = (units: Units, unitPrice: string, source: TaskCharge['source']): TaskCharge => {
  const totalPicos = priceRoundingHalfUp(units, unitPrice)
  const line = { item: 'video', quantity: formatUnits(units), unitPrice, amount: formatUsd(totalPicos) }
  return { source, lines: [line], totalPicos }
}

/** A deduction beyond this many times the worst case waits for an operator. */
const worstCasesMax = 3n

const isBeyond = (units: Units, unitsMax: Units): boolean => {
  const decimals = Math.max(units.decimals, unitsMax.decimals)
  const scaled = (value: Units): bigint => value.digits * 10n ** BigInt(decimals - value.decimals)
  return scaled(units) > worstCasesMax * scaled(unitsMax)
}

/** Nothing for a failure; where no readable figure was reported, the hold's figure, marked as estimated. */
export const chargeTask = (task: Pick<Task, 'unitPrice' | 'unitsMax'>, verdict: VideoVerdict): TaskCharge => {
  if (verdict.outcome === 'FAILURE') return { source: 'reported', lines: [], totalPicos: 0n }
  const units = verdict.deduction === null ? null : readUnits(verdict.deduction)
  return units === null
    ? chargeUnits(unitsOf(task.unitsMax), task.unitPrice, 'estimated')
    : chargeUnits(units, task.unitPrice, 'reported')
}

/** Not within `chargeTask`: what was settled before there was a bound is recomputed without it. */
const isPlausibleDeduction = ({ unitsMax }: Pick<Task, 'unitsMax'>, { outcome, deduction }: VideoVerdict): boolean => {
  const units = outcome === 'FAILURE' || deduction === null ? null : readUnits(deduction)
  return units === null || !isBeyond(units, unitsOf(unitsMax))
}

const optional = <Name extends string, T>(name: Name, value: T | null): { readonly [N in Name]?: T } =>
  value === null ? {} : ({ [name]: value } as { readonly [N in Name]?: T })

export const decideSettlement = (task: Task, verdict: VideoVerdict): FactOf<'TaskSettled'> => {
  const isPlausible = isPlausibleDeduction(task, verdict)
  const { source, lines, totalPicos } = chargeTask(task, isPlausible ? verdict : { ...verdict, deduction: null })
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
      ...(isPlausible ? {} : { plausible: false }),
      source,
      priceVersion: task.priceVersion,
      lines,
      total: formatUsd(totalPicos),
      held: task.held,
      results: [...verdict.results],
    },
  }
}

/** A final status after the hold of the task had ended: recorded, and not charged. */
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
