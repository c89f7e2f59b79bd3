import { hourMs } from '../../../../domain/instant.ts'
import { asObject, parseJsonBytes } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { admissionLimits } from '../limits.ts'
import { type OutcomeAddress, type OutcomeStore, storeIsFull } from './outcome-store.ts'

interface QuotaParts {
  readonly outcomes: OutcomeStore
  readonly workspaceOutcomeBytesMax: number
  readonly clock: Clock
  readonly logger: Logger
}

export interface OutcomeRoom {
  /** Gives back what the stored bytes do not take; all where nothing was written. */
  settle(storedBytes: number | null): void
}

type Hours = ReadonlyMap<number, number>

/** What was stored in an hour has expired with the end of the hour after it, a day later: a request may take minutes. */
const lapsesAtMs = (hour: number): number => (hour + 2) * hourMs + sharedLimits.outcomesKeptMs

const decodeHours = (bytes: Uint8Array, nowMs: number): Hours =>
  new Map(
    Object.entries(bytes.length === 0 ? {} : asObject(parseJsonBytes(bytes)))
      .map(([hour, used]) => [Number(hour), Number(used)] as const)
      .filter(([hour, used]) => used > 0 && nowMs < lapsesAtMs(hour)),
  )

const encodeHours = (hours: Hours): Uint8Array => Buffer.from(JSON.stringify(Object.fromEntries(hours)))

const plus = (hours: Hours, hour: number, bytes: number): Hours =>
  new Map(hours).set(hour, Math.max(0, (hours.get(hour) ?? 0) + bytes))

const usedIn = (hours: Hours): number => [...hours.values()].reduce((sum, bytes) => sum + bytes, 0)

const quotaIsUsed = (max: number, hours: Hours, nowMs: number): GatewayError =>
  new GatewayError(
    'idempotency_quota_exceeded',
    `The answers that are stored under the workspace's idempotency keys may have ${max} bytes at the moment. Send the request without a key, or when older ones have expired.`,
    {
      retryAfterSeconds: Math.ceil((lapsesAtMs(Math.min(...hours.keys(), Math.floor(nowMs / hourMs))) - nowMs) / 1_000),
    },
  )

interface Share {
  hour: number
  spareBytes: number
  open: number
  idle: NodeJS.Timeout | undefined
  /** One lease at a time. */
  leasing: Promise<unknown>
}

const roomBytes = admissionLimits.outcomeBytesMax + admissionLimits.outcomeOverheadBytes

/** A small quota is leased in small parts: what idle edges have leased is at most some of it. */
const leaseOf = (max: number): number =>
  Math.max(
    roomBytes,
    Math.min(admissionLimits.outcomeLeaseBytes, Math.floor(max / admissionLimits.outcomeLeaseDivisor)),
  )

/**
 * What each workspace has stored is one record beside its outcomes, from which edges lease by compare-and-swap: never
 * less than what is stored. What an edge that died had leased counts until it would have expired.
 */
export class OutcomeQuota {
  readonly #parts: QuotaParts
  readonly #shares = new Map<string, Share>()

  constructor(parts: QuotaParts) {
    this.#parts = parts
  }

  /** Resolves with the refusal where there is no room: a stored answer is replayed all the same. Rejects with `log_unavailable`. */
  async reserve(workspaceId: string): Promise<OutcomeRoom | GatewayError> {
    const share = this.#shareOf(workspaceId)
    share.open += 1
    clearTimeout(share.idle)
    const refusal = await this.#take(workspaceId, share).catch((fault: unknown) => {
      this.#leave(workspaceId, share)
      throw fault
    })
    if (refusal !== null) {
      this.#leave(workspaceId, share)
      return refusal
    }
    let isSettled = false
    const settle = (storedBytes: number | null): void => {
      if (isSettled) return
      isSettled = true
      share.spareBytes += storedBytes === null ? roomBytes : admissionLimits.outcomeBytesMax - storedBytes
      this.#leave(workspaceId, share)
    }
    return { settle }
  }

  #shareOf(workspaceId: string): Share {
    const existing = this.#shares.get(workspaceId)
    if (existing !== undefined) return existing
    const share: Share = { hour: 0, spareBytes: 0, open: 0, idle: undefined, leasing: Promise.resolve() }
    this.#shares.set(workspaceId, share)
    return share
  }

  get #hour(): number {
    return Math.floor(this.#parts.clock() / hourMs)
  }

  async #take(workspaceId: string, share: Share): Promise<GatewayError | null> {
    if (this.#takeSpare(share)) return null
    const leased = share.leasing.then(() => (this.#takeSpare(share) ? null : this.#lease(workspaceId, share)))
    share.leasing = leased.catch(() => undefined)
    return leased
  }

  #takeSpare(share: Share): boolean {
    if (share.hour !== this.#hour || share.spareBytes < roomBytes) return false
    share.spareBytes -= roomBytes
    return true
  }

  /** Leases anew, with the first room taken; what was spare of the lease before is given back. */
  async #lease(workspaceId: string, share: Share): Promise<GatewayError | null> {
    const { outcomes, workspaceOutcomeBytesMax, clock } = this.#parts
    const max = Math.min(workspaceOutcomeBytesMax, await outcomes.freeBytes())
    const { hour: before } = share
    const hour = this.#hour
    let returned = 0
    let leased = 0
    let refusal: GatewayError | null = null
    try {
      refusal = await this.#change(workspaceId, (hours) => {
        returned += share.spareBytes
        share.spareBytes = 0
        const kept = plus(hours, before, -returned)
        const free = max - usedIn(kept)
        leased = 0
        if (free < roomBytes) return quotaIsUsed(max, kept, clock())
        leased = Math.min(free, leaseOf(max))
        return plus(kept, hour, leased)
      })
      if (refusal === null) returned = 0
    } finally {
      share.spareBytes += returned
    }
    if (refusal !== null) return refusal
    share.hour = hour
    share.spareBytes += leased - roomBytes
    return null
  }

  async #change(workspaceId: string, change: (hours: Hours) => Hours | GatewayError): Promise<GatewayError | null> {
    const { outcomes, clock } = this.#parts
    const place: OutcomeAddress = { workspaceId, keyDigest: 'usage' }
    for (;;) {
      const { revision, bytes } = await outcomes.find(place)
      const changed = change(decodeHours(bytes, clock()))
      if (changed instanceof GatewayError) return changed
      const put = await outcomes.put(place, encodeHours(changed), revision, sharedLimits.outcomeWriteMs)
      if ('revision' in put) return null
      if (put.refused === 'full') return storeIsFull()
    }
  }

  #leave(workspaceId: string, share: Share): void {
    share.open -= 1
    if (share.open > 0) return
    share.idle = setTimeout(() => void this.#giveBack(workspaceId, share), admissionLimits.outcomeIdleMs).unref()
  }

  async #giveBack(workspaceId: string, share: Share): Promise<void> {
    this.#shares.delete(workspaceId)
    const { outcomes, logger } = this.#parts
    if (share.spareBytes === 0 || outcomes.isClosed) return
    try {
      await this.#change(workspaceId, (hours) => plus(hours, share.hour, -share.spareBytes))
    } catch (fault) {
      logger.log('idempotency.quota_not_returned', { fault })
    }
  }
}
