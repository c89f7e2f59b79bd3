import type { Event } from '../../src/events/envelope.ts'
import { admissionLimits } from '../../src/roles/edge/admission/limits.ts'

interface Meter {
  readonly perMinute: number
  /** A change is in force at every edge from then on. */
  readonly fromMs: number
  /** Routed, less what the limit has let through since. */
  level: number
  atMs: number
}

const minuteMs = 60_000
/** As documented: a change is in force at every edge within a second. */
const inForceMs = 1_000
/** As documented: a thirtieth of a limit at once, and what an edge has leased and not spent, a sixtieth. */
const burstShare = 1 / 30 + 1 / 60

/** Of the UUID of version 7 that a request has from its arrival. */
const arrivalMs = (requestId: string): number => Number.parseInt(requestId.replace('-', '').slice(0, 12), 16)

/** No workspace sends more requests than its limit lets through, by the log, over all edges together. */
export class RateChecks {
  readonly #violate: (text: string) => void
  /** How long after it arrived a request is routed, unless it waits for money. */
  readonly #waitMs: number
  readonly #meters = new Map<string, Meter>()
  #isOver = false

  constructor(violate: (text: string) => void, waitMs: number) {
    this.#violate = violate
    this.#waitMs = waitMs
  }

  /** Limits begin anew where the nats-server has lost what the edges share. */
  forget(): void {
    for (const meter of this.#meters.values()) meter.level = 0
  }

  /** From then on clocks show nothing. */
  end(): void {
    this.#isOver = true
  }

  take(events: readonly Event[]): void {
    if (this.#isOver) return
    for (const { type, time, data } of events)
      if (type === 'LimitsSet' && data.keyId === undefined) this.#set(data, Date.parse(time))
      else if (type === 'RequestRouted') this.#pass(data, Date.parse(time))
  }

  #set({ workspaceId, limits }: Extract<Event, { type: 'LimitsSet' }>['data'], setMs: number): void {
    const { requestsPerMinute: perMinute } = limits
    const fromMs = setMs + inForceMs + this.#waitMs + admissionLimits.admissionWaitMs // Some waited for money before it was set.
    if (perMinute === undefined) this.#meters.delete(workspaceId)
    else this.#meters.set(workspaceId, { perMinute, fromMs, level: 0, atMs: fromMs })
  }

  #pass({ workspaceId, requestId }: Extract<Event, { type: 'RequestRouted' }>['data'], routedMs: number): void {
    const meter = this.#meters.get(workspaceId)
    if (meter === undefined || routedMs < meter.fromMs) return
    // Those that waited for money were let through before, and are routed together once there is some.
    if (routedMs - arrivalMs(requestId) > this.#waitMs) return
    const { perMinute } = meter
    const passedMs = Math.max(0, routedMs - meter.atMs)
    meter.level = Math.max(0, meter.level - (passedMs * perMinute) / minuteMs) + 1
    meter.atMs += passedMs
    const most = perMinute * (burstShare + this.#waitMs / minuteMs) + 1
    if (meter.level > most)
      this.#violate(`${workspaceId} is limited to ${perMinute} requests a minute, and had ${meter.level} at once`)
  }
}
