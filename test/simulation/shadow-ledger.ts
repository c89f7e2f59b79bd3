import { parseUsd } from '../../src/domain/money.ts'
import type { Event, EventOf } from '../../src/events/envelope.ts'
import type { Frame } from '../../src/log/event-log.ts'
import { ShadowGrants } from './shadow-grants.ts'

interface ShadowHold {
  picos: bigint
  /** The key whose spend limit it counts for. */
  readonly keyId: string | null
  readonly deadline: string
}

interface ShadowWallet {
  balancePicos: bigint
  creditLimitPicos: bigint
  /** Charged beyond what was held, since the last frame of the wallet: whoever decides the next may not know of it. */
  excessPicos: bigint
  /** What is left of each open hold. */
  readonly holds: Map<string, ShadowHold>
  /** Charged to each key and those that took its place, less what was given back. */
  readonly spentPicos: Map<string, bigint>
  readonly grants: ShadowGrants
}

type Closing = EventOf<'UsageRecorded'> | EventOf<'RequestFailed'>

/** Wallets by the rules of the documentation, restated without any code of the fold: what both say must be the same. */
export class ShadowLedger {
  readonly wallets = new Map<string, ShadowWallet>()
  readonly #onViolation: (text: string) => void
  readonly #frames = new Set<string>()
  /** Ids that count once: of credits, fees, adjustments, holds. */
  readonly #seen = new Set<string>()
  readonly #routed = new Map<string, EventOf<'RequestRouted'>>()
  /** Of the running period of each subscription. */
  readonly #periodEnds = new Map<string, string>()
  readonly #cancelled = new Set<string>()
  readonly #closings = new Map<string, Closing>()
  /** Of a key that took another's place, the first of them. */
  readonly #firstKeys = new Map<string, string>()
  /** When credits lapse, by workspace and reference. */
  readonly #lapseTimes = new Map<string, string>()
  readonly #spendLimits = new Map<string, bigint>()

  constructor(onViolation: (text: string) => void) {
    this.#onViolation = onViolation
  }

  take({ walletSubject, writer, counter, events }: Frame): void {
    const id = `${writer}:${counter}`
    if (walletSubject === null && this.#frames.has(id)) return
    this.#frames.add(id)
    for (const event of events) this.#apply(event)
    if (walletSubject !== null) this.of(walletSubject).excessPicos = 0n
  }

  of(workspaceId: string): ShadowWallet {
    const known = this.wallets.get(workspaceId) ?? {
      balancePicos: 0n,
      creditLimitPicos: 0n,
      excessPicos: 0n,
      holds: new Map(),
      spentPicos: new Map(),
      grants: new ShadowGrants(),
    }
    this.wallets.set(workspaceId, known)
    return known
  }

  heldPicos(workspaceId: string): bigint {
    return [...this.of(workspaceId).holds.values()].reduce((sum, { picos }) => sum + picos, 0n)
  }

  #apply(event: Event): void {
    switch (event.type) {
      case 'WorkspaceOpened':
      case 'WorkspaceChanged':
        this.of(event.data.workspaceId).creditLimitPicos = parseUsd(event.data.creditLimit)
        break
      case 'KeyIssued':
        this.#firstKeys.set(event.data.keyId, this.#firstKeyOf(event.data.replaces ?? event.data.keyId))
        break
      case 'LimitsSet':
        this.#setLimits(event)
        break
      case 'WalletCredited':
        this.#credit(event)
        break
      case 'AdjustmentPosted':
        this.#adjust(event)
        break
      case 'CreditExpired':
        this.#lapse(event)
        break
      case 'PlanSubscribed':
        this.#subscribe(event)
        break
      case 'PlanRenewed':
        this.#renew(event)
        break
      case 'PlanCancelled':
        this.#cancelled.add(event.data.subscriptionId)
        break
      case 'PlanEnded':
        this.#periodEnds.delete(event.data.subscriptionId)
        break
      default:
        this.#applyWork(event)
    }
  }

  #applyWork(event: Event): void {
    switch (event.type) {
      case 'HoldPlaced':
        this.#placeHold(event)
        break
      case 'HoldReleased':
        this.#releaseHold(event)
        break
      case 'TaskSettled':
        this.#settleTask(event)
        break
      case 'RequestRouted':
        this.#routed.set(event.data.requestId, event)
        this.#settle(event.data.requestId)
        break
      case 'UsageRecorded':
      case 'RequestFailed':
        if (this.#closings.has(event.data.requestId)) break
        this.#closings.set(event.data.requestId, event)
        this.#settle(event.data.requestId)
        break
    }
  }

  #placeHold({ data }: EventOf<'HoldPlaced'>): void {
    const { workspaceId, holdId, amount, keyId, task } = data
    if (!this.#isFirst(workspaceId, `hold ${holdId}`)) return
    const spender = keyId ?? task?.keyId ?? null
    const wallet = this.of(workspaceId)
    wallet.holds.set(holdId, {
      picos: parseUsd(amount),
      keyId: spender === null ? null : this.#firstKeyOf(spender),
      deadline: data.deadline,
    })
    if (this.#coverPicos(wallet) < this.heldPicos(workspaceId))
      this.#onViolation(`a hold of ${workspaceId} was placed that its wallet does not cover`)
    if (spender !== null) this.#checkSpending(workspaceId, this.#firstKeyOf(spender))
  }

  #releaseHold({ time, data: { workspaceId, holdId, reason } }: EventOf<'HoldReleased'>): void {
    const { holds } = this.of(workspaceId)
    const { deadline = '' } = holds.get(holdId) ?? {}
    if (reason === 'expired' && time < deadline)
      this.#onViolation(`hold ${holdId} expired at ${time}, its deadline is ${deadline}`)
    holds.delete(holdId)
  }

  #coverPicos({ balancePicos, creditLimitPicos, excessPicos }: ShadowWallet): bigint {
    return balancePicos + creditLimitPicos + excessPicos
  }

  #checkSpending(workspaceId: string, keyId: string): void {
    const limit = this.#spendLimits.get(keyId)
    const held = [...this.of(workspaceId).holds.values()].reduce(
      (sum, hold) => (hold.keyId === keyId ? sum + hold.picos : sum),
      0n,
    )
    const spent = this.of(workspaceId).spentPicos.get(keyId) ?? 0n
    if (limit !== undefined && spent + held > limit + this.of(workspaceId).excessPicos)
      this.#onViolation(`key ${keyId} has spent ${spent} and holds ${held}, its limit is ${limit}`)
  }

  #setLimits({ data: { keyId, limits } }: EventOf<'LimitsSet'>): void {
    if (keyId === undefined) return
    const total = limits.spend?.total
    if (total === undefined) this.#spendLimits.delete(this.#firstKeyOf(keyId))
    else this.#spendLimits.set(this.#firstKeyOf(keyId), parseUsd(total))
  }

  #adjust({ data: { workspaceId, adjustmentId, amount, keyId } }: EventOf<'AdjustmentPosted'>): void {
    if (!this.#isFirst(workspaceId, `adjustment ${adjustmentId}`)) return
    this.of(workspaceId).balancePicos += parseUsd(amount)
    if (keyId !== undefined) this.#spend(workspaceId, keyId, -parseUsd(amount))
  }

  /** What is held does not lapse. */
  #lapse({ time, data: { workspaceId, reference, amount } }: EventOf<'CreditExpired'>): void {
    const lapses = this.#lapseTimes.get(`${workspaceId} ${reference}`)
    if (lapses !== undefined && time < lapses)
      this.#onViolation(`credit ${reference} of ${workspaceId} lapsed at ${time}, not at ${lapses}`)
    const wallet = this.of(workspaceId)
    wallet.balancePicos -= parseUsd(amount)
    const left = wallet.grants.lapse(reference, parseUsd(amount))
    if (left < parseUsd(amount))
      this.#onViolation(
        `credit ${reference} of ${workspaceId} lapsed with ${amount}, and ${left} pico-dollars of it were left`,
      )
    if (this.#coverPicos(wallet) < this.heldPicos(workspaceId))
      this.#onViolation(`credit ${reference} of ${workspaceId} lapsed though it is held`)
  }

  #subscribe({ data }: EventOf<'PlanSubscribed'>): void {
    const { workspaceId, subscriptionId, expiresAt } = data
    if (!this.#isFirst(workspaceId, `plan ${subscriptionId}`)) return
    this.#beginPeriod(data)
    this.#periodEnds.set(subscriptionId, expiresAt)
  }

  /** A period begins where the one before ends, once. */
  #renew({ time, data }: EventOf<'PlanRenewed'>): void {
    const { subscriptionId, startsAt, expiresAt } = data
    if (this.#cancelled.has(subscriptionId)) this.#onViolation(`${subscriptionId} was cancelled, and is renewed`)
    if (time < startsAt) this.#onViolation(`${subscriptionId} was renewed at ${time}, before ${startsAt}`)
    if (this.#periodEnds.get(subscriptionId) !== startsAt) return
    this.#periodEnds.set(subscriptionId, expiresAt)
    this.#beginPeriod(data)
  }

  #beginPeriod(data: EventOf<'PlanSubscribed'>['data'] | EventOf<'PlanRenewed'>['data']): void {
    const { workspaceId, subscriptionId, price, includedCredit, startsAt, expiresAt } = data
    const wallet = this.of(workspaceId)
    wallet.balancePicos += parseUsd(includedCredit) - parseUsd(price)
    wallet.grants.spend(parseUsd(price), Date.parse(startsAt))
    wallet.grants.add(`${subscriptionId}@${startsAt}`, parseUsd(includedCredit), Date.parse(expiresAt))
  }

  /** A second end charges nothing. */
  #settleTask({ data: { workspaceId, taskId, total } }: EventOf<'TaskSettled'>): void {
    const wallet = this.of(workspaceId)
    const hold = wallet.holds.get(taskId)
    if (hold === undefined) return
    wallet.holds.delete(taskId)
    wallet.balancePicos -= parseUsd(total)
    wallet.grants.spend(parseUsd(total))
    if (parseUsd(total) > hold.picos) wallet.excessPicos += parseUsd(total) - hold.picos
    if (hold.keyId !== null) this.#spend(workspaceId, hold.keyId, parseUsd(total))
  }

  /** Once both sides are known, whichever came last. */
  #settle(requestId: string): void {
    const [routed, closing] = [this.#routed.get(requestId), this.#closings.get(requestId)]
    if (routed === undefined || closing?.type !== 'UsageRecorded') return
    const wallet = this.of(closing.data.workspaceId)
    const total = parseUsd(closing.data.total)
    wallet.balancePicos -= total
    wallet.grants.spend(total)
    this.#spend(closing.data.workspaceId, routed.data.keyId, total)
    const hold = wallet.holds.get(routed.data.allowanceId ?? '')
    const left = hold?.picos ?? 0n
    if (total > left) wallet.excessPicos += total - left
    if (hold !== undefined) hold.picos = left > total ? left - total : 0n
  }

  #spend(workspaceId: string, keyId: string, picos: bigint): void {
    const { spentPicos } = this.of(workspaceId)
    const first = this.#firstKeyOf(keyId)
    spentPicos.set(first, (spentPicos.get(first) ?? 0n) + picos)
  }

  #firstKeyOf(keyId: string): string {
    return this.#firstKeys.get(keyId) ?? keyId
  }

  #credit({ data: { workspaceId, reference, amount, expiresAt } }: EventOf<'WalletCredited'>): void {
    if (!this.#isFirst(workspaceId, `credit ${reference}`)) return
    const wallet = this.of(workspaceId)
    wallet.balancePicos += parseUsd(amount)
    if (expiresAt === undefined) return
    this.#lapseTimes.set(`${workspaceId} ${reference}`, expiresAt)
    wallet.grants.add(reference, parseUsd(amount), Date.parse(expiresAt))
  }

  #isFirst(workspaceId: string, id: string): boolean {
    const key = `${workspaceId} ${id}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return true
  }
}
