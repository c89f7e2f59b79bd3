import { divideRoundingHalfUp } from '../money.ts'

interface RecentSpend {
  readonly spentPicos: bigint
  readonly availablePicos: bigint
  readonly sinceMs: number
  readonly nowMs: number
}

export interface Runway {
  readonly perDayPicos: bigint
  /** Milliseconds since the epoch; null where nothing was spent, or so little that it lasts for `runwayMaxMs`. */
  readonly untilMs: number | null
}

const dayMs = 86_400_000n
/** Ten years: the spending of a few days predicts nothing beyond. */
const runwayMaxMs = 3_650n * dayMs

export const estimateRunway = ({ spentPicos, availablePicos, sinceMs, nowMs }: RecentSpend): Runway => {
  const elapsedMs = BigInt(Math.max(1, nowMs - sinceMs))
  if (spentPicos <= 0n) return { perDayPicos: 0n, untilMs: null }
  const perDayPicos = divideRoundingHalfUp(spentPicos * dayMs, elapsedMs)
  const leftMs = availablePicos <= 0n ? 0n : (availablePicos * elapsedMs) / spentPicos
  return { perDayPicos, untilMs: leftMs > runwayMaxMs ? null : nowMs + Number(leftMs) }
}
