import { maxOf, minOf } from '../domain/money.ts'

interface TimedDay {
  readonly difference: bigint
  /** Charged on this day by requests that began before it: they may be in the invoice of the day before. */
  readonly early: bigint
  /** Charged at the very end of this day: by another clock it was the next. */
  readonly late: bigint
}

interface TimedEdges {
  readonly late: bigint
  readonly early: bigint
}

const above = (value: bigint): bigint => maxOf(0n, value)
const least = (bound: bigint, ...others: readonly (bigint | null)[]): bigint =>
  minOf(bound, ...others.filter((each) => each !== null))

interface Shifted {
  readonly shifts: readonly bigint[]
  readonly unexplained: bigint
}

/** Explains what it can at each midnight in turn; midnight `n` is the one before `days[n]`. */
const shiftAt = (midnights: readonly number[], days: readonly TimedDay[], edges: TimedEdges): Shifted => {
  const left = days.map(({ difference }) => difference)
  const shifts = days.map(() => 0n)
  const shift = (day: number, by: bigint): void => {
    if (days[day] === undefined) return
    shifts[day]! += by
    left[day]! -= by
  }
  for (const next of midnights) {
    const before = left[next - 1] ?? null
    const after = left[next] ?? null
    const early = days[next]?.early ?? edges.early
    const late = days[next - 1]?.late ?? edges.late
    const backward = least(early, before && above(before), after && above(-after))
    const forward = least(late, before && above(-before), after && above(after))
    shift(next - 1, backward - forward)
    shift(next, forward - backward)
  }
  return { shifts, unexplained: left.reduce((sum, each) => sum + maxOf(each, -each), 0n) }
}

/**
 * How much of the difference of each of several consecutive days is only a matter of the day: what one day has too much
 * and its neighbour too little, as far as requests crossed the midnight between them. Outside the range the neighbour
 * is unknown, so its two midnights explain only what no other does.
 */
export const computeTimingShifts = (days: readonly TimedDay[], edges: TimedEdges): readonly bigint[] => {
  const inner = [...days.keys()].slice(1)
  const outer = [0, days.length]
  const onward = shiftAt([...inner, ...outer], days, edges)
  const backward = shiftAt([...inner.toReversed(), ...outer], days, edges)
  return (backward.unexplained < onward.unexplained ? backward : onward).shifts
}
