import type { Key } from '../../../domain/accounts/accounts.ts'
import { minuteMs } from '../../../domain/instant.ts'
import type { ErrorCode } from '../../../errors/gateway-error.ts'
import type { RefusalsCounted } from '../../../events/types.ts'
import type { LogOf } from '../../../log/event-log.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { listenerLimits } from './limits.ts'

interface RefusalsParts {
  readonly log: Pick<LogOf<'RefusalsCounted'>, 'append'>
  readonly clock: Clock
  /** Between two events. */
  readonly refusalsMs: number
}

type Count = RefusalsCounted['counts'][number]

const other = { workspaceId: null, keyId: null, code: 'other' } as const

/**
 * Requests that were refused before they were routed. Anyone can make them, so the log has their number and not each, in
 * an event a minute whose length is bounded.
 */
export class Refusals {
  readonly #parts: RefusalsParts
  readonly #timer: NodeJS.Timeout
  readonly #counts = new Map<string, Count>()
  #appending: Promise<void> | null = null

  constructor(parts: RefusalsParts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.#flush(), parts.refusalsMs).unref()
  }

  add(key: Key | undefined, code: ErrorCode): void {
    const minute = new Date(Math.floor(this.#parts.clock() / minuteMs) * minuteMs).toISOString()
    this.#count({ minute, workspaceId: key?.workspaceId ?? null, keyId: key?.keyId ?? null, code, count: 1 })
  }

  async close(ackMs: number): Promise<void> {
    clearInterval(this.#timer)
    await waitAtMost(
      (this.#appending ?? Promise.resolve()).then(() => this.#flush()),
      ackMs,
    )
  }

  #count({ minute, count, ...refused }: Count): void {
    const name = Object.values(refused).join(' ')
    const isCountedApart = this.#counts.has(minute + name) || this.#counts.size < listenerLimits.refusalRowsMax
    const place = isCountedApart ? minute + name : other.code
    const former = this.#counts.get(place) ?? { minute, ...(isCountedApart ? refused : other), count: 0 }
    this.#counts.set(place, { ...former, count: former.count + count })
  }

  #flush(): Promise<void> {
    this.#appending ??= this.#append().finally(() => {
      this.#appending = null
    })
    return this.#appending
  }

  async #append(): Promise<void> {
    const counts = [...this.#counts.values()]
    if (counts.length === 0) return
    this.#counts.clear()
    try {
      await this.#parts.log.append([{ type: 'RefusalsCounted', data: { counts } }])
    } catch {
      for (const each of counts) this.#count(each) // Until the log takes them.
    }
  }
}
