import { findLimitKey, type Key } from '../../../../domain/accounts/accounts.ts'
import { type BindingLimits, resolveLimits } from '../../../../domain/accounts/limits.ts'
import type { ClosingEvent } from '../../../../domain/ledger/requests.ts'
import { type RateLimit, type RateLimits, rateLimitsOf } from '../../../../domain/rates/rate-limits.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { TransientMap } from '../../../../runtime/transient-map.ts'
import { waitAtMost } from '../../../../runtime/within.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'
import { RateShare, type RateView } from './rate-share.ts'
import { SlotShare } from './slot-share.ts'

export interface RatesParts {
  readonly tail: Pick<LedgerTail, 'ledger' | 'onApplied'>
  readonly records: RateRecords
  /** This edge's name in the shared records. */
  readonly owner: string
  /** For workspaces whose limits do not set one; null for no limit. */
  readonly requestsPerMinute: () => number | null
  readonly requestDeadlineMs: number
  readonly clock: Clock
}

export interface TakenUnits {
  readonly limit: RateLimit
  readonly units: number
  giveBack(): void
  settle(units: number): void
}

export interface RateRefusal {
  readonly limit: RateLimit
  readonly waitMs: number
}

interface MeteredRequest {
  readonly ofAll: readonly TakenUnits[]
  readonly byModel: ReadonlyMap<string, readonly TakenUnits[]>
}

const slotWaitMs = 1_000

const takenOf = ({ ofAll, byModel }: MeteredRequest): readonly TakenUnits[] => [
  ...ofAll,
  ...[...byModel.values()].flat(),
]

interface KnownLimits {
  readonly binding: BindingLimits
  readonly requestsPerMinute: number | null
  readonly limits: RateLimits | null
}

/** The limits of keys, computed again where one of them has changed. */
class KeyLimits {
  readonly #parts: Pick<RatesParts, 'tail' | 'requestsPerMinute'>
  /** By key, of those that sent a request since the last `forget`. */
  readonly #known = new Map<string, KnownLimits>()

  constructor(parts: Pick<RatesParts, 'tail' | 'requestsPerMinute'>) {
    this.#parts = parts
  }

  find({ workspaceId, keyId }: Key): RateLimits | null {
    const { accounts } = this.#parts.tail.ledger
    const binding = resolveLimits(accounts, { workspaceId, keyId })
    const { workspace, key } = binding
    const known = this.#known.get(keyId)
    const requestsPerMinute = this.#parts.requestsPerMinute()
    const isSame = known?.binding.workspace === workspace && known.binding.key === key
    if (isSame && known.requestsPerMinute === requestsPerMinute) return known.limits
    const existing = requestsPerMinute === null ? workspace : { requestsPerMinute, ...workspace }
    const limits = rateLimitsOf({ workspace: existing, key }, workspaceId, findLimitKey(accounts, keyId))
    this.#known.set(keyId, { binding, requestsPerMinute, limits })
    return limits
  }

  forget(): void {
    this.#known.clear()
  }
}

export class Rates {
  readonly #parts: RatesParts
  readonly limits: KeyLimits
  readonly #rates = new Map<string, RateShare>()
  readonly #slots = new Map<string, SlotShare>()
  readonly #open = new TransientMap<string, MeteredRequest & { readonly untilMs: number }>()
  readonly #stopListening: () => void
  readonly #sweepTimer: NodeJS.Timeout

  constructor(parts: RatesParts) {
    this.#parts = parts
    this.limits = new KeyLimits(parts)
    this.#stopListening = parts.tail.onApplied((applied) => {
      for (const { closed } of applied) if (closed !== null) this.#settle(closed.closing)
    })
    this.#sweepTimer = setInterval(() => this.#sweep(), admissionLimits.rateSweepMs)
  }

  /** Rejects with `log_unavailable` where the units of other edges cannot be learnt in time. */
  take(limit: RateLimit, units: number): TakenUnits | RateRefusal | Promise<TakenUnits | RateRefusal> {
    return limit.measure === 'slots' ? this.#takeSlot(limit) : this.#takeUnits(limit, units)
  }

  view(limit: RateLimit): RateView {
    return this.#rateOf(limit).view(limit.max)
  }

  expectedOutput(limit: RateLimit): number {
    return this.#rateOf(limit).expectedOutput
  }

  /** What was taken is corrected to actual usage once the request's end is in the log. */
  open(requestId: string, request: MeteredRequest): void {
    if (takenOf(request).length === 0) return
    const untilMs = this.#parts.clock() + this.#parts.requestDeadlineMs + admissionLimits.rateOpenMs
    this.#open.set(requestId, { ...request, untilMs })
  }

  /** The request was never recorded in the log: it used no tokens. */
  cancel(requestId: string): void {
    const open = this.#open.get(requestId)
    if (open === undefined) return
    this.#open.delete(requestId)
    for (const taken of takenOf(open)) if (taken.limit.measure === 'tokens') taken.settle(0)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweepTimer)
    this.#stopListening()
    const shares = [...this.#rates.values(), ...this.#slots.values()]
    await waitAtMost(Promise.all(shares.map((share) => share.close())), admissionLimits.rateReturnMs)
  }

  #takeUnits(limit: RateLimit, units: number): ReturnType<Rates['take']> {
    const taken: TakenUnits = {
      limit,
      units,
      giveBack: () => this.#rateOf(limit).giveBack(units),
      // The share may have been dropped as idle during a long request.
      settle: (used) => this.#rateOf(limit).settle(used - units),
    }
    const resultOf = (waitMs: number | null) => (waitMs === null ? taken : { limit, waitMs })
    const waitMs = this.#rateOf(limit).take(units, limit.max)
    return waitMs instanceof Promise ? waitMs.then(resultOf) : resultOf(waitMs)
  }

  #takeSlot(limit: RateLimit): ReturnType<Rates['take']> {
    const share = this.#slotsOf(limit)
    const taken: TakenUnits = { limit, units: 1, giveBack: () => share.release(), settle: () => undefined }
    const refusal: RateRefusal = { limit, waitMs: slotWaitMs }
    const isTaken = share.take(limit.max)
    if (isTaken instanceof Promise) return isTaken.then((later) => (later ? taken : refusal))
    return isTaken ? taken : refusal
  }

  #rateOf(limit: RateLimit): RateShare {
    const { records, clock } = this.#parts
    const { name } = limit
    const existing = this.#rates.get(name)
    if (existing !== undefined) return existing
    const share = new RateShare(records, name, limit.max, clock)
    this.#rates.set(name, share)
    return share
  }

  #slotsOf(limit: RateLimit): SlotShare {
    const { records, owner, clock } = this.#parts
    const { name } = limit
    const share = this.#slots.get(name) ?? new SlotShare(records, name, owner, clock)
    this.#slots.set(name, share)
    return share
  }

  #settle({ type, data }: ClosingEvent): void {
    const open = this.#open.get(data.requestId)
    if (open === undefined) return
    this.#open.delete(data.requestId)
    const usage = type === 'UsageRecorded' ? data.usage : null
    const isPlausible = type === 'RequestFailed' || data.plausible !== false
    const tokens = usage === null ? 0 : usage.promptTotal + usage.outputTotal
    const count = (taken: TakenUnits, served: boolean): void => {
      const { measure } = taken.limit
      // What cannot be counts as what was reserved, and teaches nothing.
      taken.settle(!served ? 0 : !isPlausible ? taken.units : measure === 'tokens' ? tokens : 1)
      const counts = served && isPlausible && measure === 'tokens'
      if (counts && usage !== null) this.#rateOf(taken.limit).learn(usage.outputTotal)
    }
    for (const taken of open.ofAll) count(taken, true)
    for (const [model, ofModel] of open.byModel)
      for (const taken of ofModel) count(taken, type === 'RequestFailed' || data.model === model)
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    this.limits.forget()
    for (const shares of [this.#rates, this.#slots])
      for (const [name, share] of shares) {
        share.sweep()
        if (share.isIdle) shares.delete(name)
      }
    for (const [requestId, { untilMs }] of this.#open) {
      if (untilMs > nowMs) break
      this.#open.delete(requestId)
    }
  }
}
