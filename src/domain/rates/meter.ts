import { minuteMs } from '../instant.ts'

/** Leaky bucket of GCRA (ITU-T I.371) that keeps units, not an arrival time: they outlive a change of the limit. */
export interface Meter {
  /** Units admitted that have not drained yet; what is leased counts as admitted. */
  readonly level: number
  /** When `level` was computed, in milliseconds since the epoch. */
  readonly atMs: number
}

interface LeaseRequest {
  /** Units that were leased before and not spent: they are leased again with the others. */
  readonly held: number
  readonly least: number
  readonly wanted: number
}

type LeaseDecision =
  | { readonly granted: number; readonly meter: Meter }
  /** `waitMs`: if no other request is admitted meanwhile. */
  | { readonly granted: null; readonly waitMs: number }

/**
 * The burst of a limit N is N/30, at least one. A lease that is spent at its last moment, a second after it was
 * granted, adds N/60 to that; together, in no minute more than N + N/20 pass, or N + 1 where that is more.
 */
const burstDivisor = 30

/** Debt beyond so many minutes of a limit is forgiven: a mistake must not lock a caller out for a day. */
const debtMinutesMax = 10

/** Hosts' clocks differ by less. What is further ahead is from a clock that was set back: it drains from now on. */
const aheadMsMax = minuteMs

/** Tolerance for rounding errors of floating-point sums. */
const epsilon = 1e-6

export const emptyMeter = (nowMs: number): Meter => ({ level: 0, atMs: nowMs })

const drainMs = (units: number, perMinute: number): number => Math.ceil((units * minuteMs) / perMinute - epsilon)

export const burstCapacity = (perMinute: number): number => Math.max(1, perMinute / burstDivisor)

/** Drained up to now. With a clock that is behind the writer's nothing drains, and `atMs` does not go back. */
const drained = ({ level, atMs }: Meter, nowMs: number, perMinute: number): Meter => {
  if (atMs - nowMs > aheadMsMax) return { level, atMs: nowMs }
  if (atMs >= nowMs) return { level, atMs }
  return { level: Math.max(0, level - ((nowMs - atMs) * perMinute) / minuteMs), atMs: nowMs }
}

const filled = ({ level, atMs }: Meter, units: number, perMinute: number): Meter => ({
  level: Math.min(Math.max(0, level + units), burstCapacity(perMinute) + debtMinutesMax * perMinute),
  atMs,
})

/** Of units leased so long ago, what can still be returned: the rest has drained, and would drain twice. */
export const returnableUnits = (units: number, agoMs: number, perMinute: number): number =>
  Math.max(0, units - (Math.max(0, agoMs) * perMinute) / minuteMs)

/** Corrects an estimate by the difference: a positive one is owed, a negative one is given back. */
export const settleMeter = (meter: Meter, nowMs: number, units: number, perMinute: number): Meter =>
  filled(drained(meter, nowMs, perMinute), units, perMinute)

/** A request larger than any burst passes when a full burst is available, and the rest is owed. */
export const decideLease = (meter: Meter, nowMs: number, ask: LeaseRequest, perMinute: number): LeaseDecision => {
  const burst = burstCapacity(perMinute)
  const now = drained(meter, nowMs, perMinute)
  const level = Math.max(now.level, ask.held)
  const excess = level + Math.min(ask.least, burst) - burst
  if (excess > epsilon) return { granted: null, waitMs: drainMs(excess, perMinute) }
  const granted = Math.max(ask.least, Math.floor(Math.min(ask.wanted, burst - level + epsilon)))
  return { granted, meter: filled({ ...now, level }, granted, perMinute) }
}

export const remainingUnits = (meter: Meter, nowMs: number, perMinute: number): number =>
  Math.max(0, Math.floor(burstCapacity(perMinute) - drained(meter, nowMs, perMinute).level + epsilon))

export const msUntilReset = (meter: Meter, nowMs: number, perMinute: number): number =>
  drainMs(drained(meter, nowMs, perMinute).level, perMinute)
