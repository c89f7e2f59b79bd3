/** How far the tables are behind what has been acknowledged, at a pace. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventLog } from '../../src/log/event-log.ts'
import { quantile } from './figures.ts'
import { requestFacts } from './traffic.ts'

/** Milliseconds from an acknowledgement until the tables tell of it, and the pace that was held. */
export interface Lag {
  readonly events: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface Pace {
  /** Events, two a request. */
  readonly perSecond: number
  readonly seconds: number
}

interface Acknowledged {
  readonly sequence: number
  readonly atMs: number
}

const tickMs = 10
const lookMs = 2

/** Appends at the pace; tells of each acknowledgement as it comes. */
const appendAtPace = async (
  log: EventLog,
  { perSecond, seconds }: Pace,
  onAcknowledged: (acknowledged: Acknowledged) => void,
): Promise<Pick<Lag, 'events' | 'perSecond'>> => {
  const fromMs = performance.now()
  const appends: Promise<void>[] = []
  for (;;) {
    const elapsedMs = performance.now() - fromMs
    if (elapsedMs >= seconds * 1_000) break
    const due = Math.floor((elapsedMs * perSecond) / 2 / 1_000)
    while (appends.length < due) {
      const appended = log.append(requestFacts(appends.length))
      appends.push(appended.then(({ sequence }) => onAcknowledged({ sequence, atMs: performance.now() })))
    }
    await delay(tickMs)
  }
  await Promise.all(appends)
  const events = 2 * appends.length
  return { events, perSecond: events / ((performance.now() - fromMs) / 1_000) }
}

/** `projected` is what every answer of the read API names as the sequence that it reflects. */
export const measureLag = async (log: EventLog, projected: () => Promise<number>, pace: Pace): Promise<Lag> => {
  let waiting: Acknowledged[] = []
  const lagsMs: number[] = []
  let ended = false
  const watch = async (): Promise<void> => {
    while (!ended || waiting.length > 0) {
      const sequence = await projected()
      const nowMs = performance.now()
      for (const each of waiting) if (each.sequence <= sequence) lagsMs.push(nowMs - each.atMs)
      waiting = waiting.filter((each) => each.sequence > sequence)
      await delay(lookMs)
    }
  }
  const watching = watch()
  const held = await appendAtPace(log, pace, (acknowledged) => waiting.push(acknowledged))
  ended = true
  await watching
  const sorted = Float64Array.from(lagsMs).sort()
  return { ...held, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99), maxMs: quantile(sorted, 1) }
}
