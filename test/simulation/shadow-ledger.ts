import { parseUsd } from '../../src/domain/money.ts'
import type { Event, EventOf } from '../../src/events/envelope.ts'
import type { Frame } from '../../src/log/event-log.ts'

interface ShadowWallet {
  balancePicos: bigint
  /** What is left of each open hold. */
  readonly holds: Map<string, bigint>
}

type Closing = EventOf<'UsageRecorded'> | EventOf<'RequestFailed'>

/** Wallets by the rules of the documentation, restated without any code of the fold: what both say must be the same. */
export class ShadowLedger {
  readonly wallets = new Map<string, ShadowWallet>()
  readonly #frames = new Set<string>()
  /** Ids that count once: of credits, fees, adjustments, holds. */
  readonly #seen = new Set<string>()
  readonly #routed = new Map<string, EventOf<'RequestRouted'>>()
  /** Of the running period of each subscription. */
  readonly #periodEnds = new Map<string, string>()
  readonly #closings = new Map<string, Closing>()

  take({ walletSubject, writer, counter, events }: Frame): void {
    const id = `${writer}:${counter}`
    if (walletSubject === null && this.#frames.has(id)) return
    this.#frames.add(id)
    for (const event of events) this.#apply(event)
  }

  of(workspaceId: string): ShadowWallet {
    const known = this.wallets.get(workspaceId) ?? { balancePicos: 0n, holds: new Map() }
    this.wallets.set(workspaceId, known)
    return known
  }

  #apply(event: Event): void {
    switch (event.type) {
      case 'WalletCredited':
        this.#moveOnce(event.data.workspaceId, `credit ${event.data.reference}`, parseUsd(event.data.amount))
        break
      case 'AdjustmentPosted':
        this.#moveOnce(event.data.workspaceId, `adjustment ${event.data.adjustmentId}`, parseUsd(event.data.amount))
        break
      case 'CreditExpired':
        this.of(event.data.workspaceId).balancePicos -= parseUsd(event.data.amount)
        break
      case 'PlanSubscribed': {
        const { workspaceId, subscriptionId, price, includedCredit, expiresAt } = event.data
        if (this.#isFirst(workspaceId, `plan ${subscriptionId}`)) {
          this.of(workspaceId).balancePicos += parseUsd(includedCredit) - parseUsd(price)
          this.#periodEnds.set(subscriptionId, expiresAt)
        }
        break
      }
      case 'HoldPlaced':
        if (this.#isFirst(event.data.workspaceId, `hold ${event.data.holdId}`))
          this.of(event.data.workspaceId).holds.set(event.data.holdId, parseUsd(event.data.amount))
        break
      case 'HoldReleased':
        this.of(event.data.workspaceId).holds.delete(event.data.holdId)
        break
      case 'TaskSettled':
        // A second end charges nothing.
        if (this.of(event.data.workspaceId).holds.delete(event.data.taskId))
          this.of(event.data.workspaceId).balancePicos -= parseUsd(event.data.total)
        break
      case 'PlanRenewed':
        this.#renew(event)
        break
      case 'PlanEnded':
        this.#periodEnds.delete(event.data.subscriptionId)
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

  /** A period begins where the one before ends, once. */
  #renew({ data }: EventOf<'PlanRenewed'>): void {
    const { workspaceId, subscriptionId, price, includedCredit, startsAt, expiresAt } = data
    if (this.#periodEnds.get(subscriptionId) !== startsAt) return
    this.#periodEnds.set(subscriptionId, expiresAt)
    this.of(workspaceId).balancePicos += parseUsd(includedCredit) - parseUsd(price)
  }

  /** Once both sides are known, whichever came last. */
  #settle(requestId: string): void {
    const [routed, closing] = [this.#routed.get(requestId), this.#closings.get(requestId)]
    if (routed === undefined || closing?.type !== 'UsageRecorded') return
    const wallet = this.of(closing.data.workspaceId)
    const total = parseUsd(closing.data.total)
    wallet.balancePicos -= total
    const left = wallet.holds.get(routed.data.allowanceId ?? '')
    if (left !== undefined) wallet.holds.set(routed.data.allowanceId ?? '', left > total ? left - total : 0n)
  }

  #moveOnce(workspaceId: string, id: string, picos: bigint): void {
    if (this.#isFirst(workspaceId, id)) this.of(workspaceId).balancePicos += picos
  }

  #isFirst(workspaceId: string, id: string): boolean {
    const key = `${workspaceId} ${id}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return true
  }
}
