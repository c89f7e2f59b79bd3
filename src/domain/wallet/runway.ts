import { divideRoundingHalfUp } from '../money.ts'

/** What was spent since an instant, and what is left to be spent. */
export interface RecentSpend {
  readonly spentPicos: bigint
  readonly availablePicos: bigint
  readonly sinceMs: number
  readonly nowMs: number
}

/** How long the money lasts at the pace of the last days. */
export interface Runway {
  /** What a day costs at that pace. */
  readonly perDayPicos: bigint
  /** Milliseconds since the epoch; null where nothing was spent, or so little that it lasts for `runwayMaxMs`. */
  readonly untilMs: number | null
}

const dayMs = 86_400_000n
/** Ten years: a pace of days says nothing of what is further away. */
const runwayMaxMs = 3_650n * dayMs

export const estimateRunway = ({ spentPicos, availablePicos, sinceMs, nowMs }: RecentSpend): Runway => {
  const elapsedMs = BigInt(Math.max(1, nowMs - sinceMs))
  if (spentPicos <= 0n) return { perDayPicos: 0n, untilMs: null }
  const perDayPicos = divideRoundingHalfUp(spentPicos * dayMs, elapsedMs)
  const leftMs = availablePicos <= 0n ? 0n : (availablePicos * elapsedMs) / spentPicos
  return { perDayPicos, untilMs: leftMs > runwayMaxMs ? null : nowMs + Number(leftMs) }
}
