/**
 * What was let through of one limit, as GCRA's continuous-state leaky bucket (ITU-T I.371) keeps it: units that drain at the limit's pace.
 * Its twin, the theoretical arrival time, is a time at one pace; units stay what they are when the limit is changed.
 */
export interface Meter {
  /** Units let through that have not drained yet; what is leased counts as let through. */
  readonly level: number
  /** When that was so, in milliseconds since the epoch. */
  readonly atMs: number
}

/** What is asked of a meter by one who spends on its own for a moment. */
export interface LeaseRequest {
  /** Units that were leased before and not spent: they are leased anew with the others. */
  readonly held: number
  /** Without these the lease is of no use. */
  readonly least: number
  readonly wanted: number
}

export type LeaseDecision =
  | { readonly granted: number; readonly meter: Meter }
  /** `waitMs`: as long as nobody else asks. */
  | { readonly granted: null; readonly waitMs: number }

const minuteMs = 60_000

/**
 * Of a limit N, what may pass at once: N/30, and one at least. A lease that is spent at its last moment, a second after it was granted, adds
 * N/60 to that; together, in no minute more than N + N/20 pass, or N + 1 where that is more.
 */
const burstDivisor = 30

/** What is owed beyond so many minutes of a limit is forgiven: a mistake must not shut a caller out for a day. */
const debtMinutesMax = 10

/** Hosts' clocks differ by less. What is further ahead was written by a clock that has been set back since: it drains from now on. */
const aheadMsMax = minuteMs

/** Sums of fractions end a hair beside the whole. */
const hair = 1e-6

export const emptyMeter = (nowMs: number): Meter => ({ level: 0, atMs: nowMs })

const drainMs = (units: number, perMinute: number): number => Math.ceil((units * minuteMs) / perMinute - hair)

export const burstCapacity = (perMinute: number): number => Math.max(1, perMinute / burstDivisor)

/** Drained up to now. A clock that is behind another's drains nothing, and takes no time back. */
const drained = ({ level, atMs }: Meter, nowMs: number, perMinute: number): Meter => {
  if (atMs - nowMs > aheadMsMax) return { level, atMs: nowMs }
  if (atMs >= nowMs) return { level, atMs }
  return { level: Math.max(0, level - ((nowMs - atMs) * perMinute) / minuteMs), atMs: nowMs }
}

const filled = ({ level, atMs }: Meter, units: number, perMinute: number): Meter => ({
  level: Math.min(Math.max(0, level + units), burstCapacity(perMinute) + debtMinutesMax * perMinute),
  atMs,
})

/** Counts what turned out otherwise than it was let through: more is owed, what is below zero comes back. */
export const settleMeter = (meter: Meter, nowMs: number, units: number, perMinute: number): Meter =>
  filled(drained(meter, nowMs, perMinute), units, perMinute)

/**
 * Leases units, whole ones, as many as there are up to the wanted, or none where there are not the least. What is larger than any burst
 * passes when as much as a burst would, and is owed for.
 */
export const decideLease = (meter: Meter, nowMs: number, ask: LeaseRequest, perMinute: number): LeaseDecision => {
  const burst = burstCapacity(perMinute)
  const now = drained(meter, nowMs, perMinute)
  const level = Math.max(now.level, ask.held)
  const excess = level + Math.min(ask.least, burst) - burst
  if (excess > hair) return { granted: null, waitMs: drainMs(excess, perMinute) }
  const granted = Math.max(ask.least, Math.floor(Math.min(ask.wanted, burst - level + hair)))
  return { granted, meter: filled({ ...now, level }, granted, perMinute) }
}

/** Units that could be leased now. */
export const remainingUnits = (meter: Meter, nowMs: number, perMinute: number): number =>
  Math.max(0, Math.floor(burstCapacity(perMinute) - drained(meter, nowMs, perMinute).level + hair))

/** Until the meter is as if nobody had asked. */
export const msUntilReset = (meter: Meter, nowMs: number, perMinute: number): number =>
  drainMs(drained(meter, nowMs, perMinute).level, perMinute)
