import type { Applied } from '../../../../domain/ledger/ledger.ts'
import type { SpendingHolders } from '../../../../domain/wallet/spending.ts'
import { undeliveredFact } from '../../../../domain/wallet/undelivered.ts'
import type { UsageRecorded } from '../../../../events/types.ts'
import type { LogOf } from '../../../../log/event-log.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { TransientMap } from '../../../../runtime/transient-map.ts'
import { surfaceLimits } from '../limits.ts'

interface DeliveryParts {
  readonly log: Pick<LogOf<'AdjustmentPosted'>, 'postToWallet'>
  readonly tail: LedgerTail
  readonly logger: Logger
}

interface End {
  readonly closing: NonNullable<Applied['closed']>['closing']
  readonly spender: SpendingHolders | null
}

interface Delivery {
  /** Null until the ledger has honoured a closing event. */
  end: End | null
  isLost: boolean
  readonly settled: PromiseWithResolvers<void>
}

/** Only the edge knows both what was delivered and which closing event counted, so refunds are made here. */
export class Deliveries {
  readonly #parts: DeliveryParts
  readonly #deliveries = new TransientMap<string, Delivery>()
  readonly #refunds = new Map<string, Promise<unknown>>()
  readonly #stopListening: () => void

  constructor(parts: DeliveryParts) {
    this.#parts = parts
    this.#stopListening = parts.tail.onApplied((applied) => {
      for (const { closed, movements } of applied)
        if (closed !== null)
          this.#close(closed.routed.data.requestId, {
            closing: closed.closing,
            spender: movements[0]?.spender ?? null,
          })
    })
  }

  /** Call it when the request is dispatched. */
  open(requestId: string): void {
    this.#deliveries.set(requestId, { end: null, isLost: false, settled: Promise.withResolvers() })
  }

  end(requestId: string): void {
    const delivery = this.#deliveries.get(requestId)
    if (delivery === undefined || delivery.isLost) return
    this.#deliveries.delete(requestId)
    delivery.settled.resolve()
  }

  /** Resolves when the log has all that the request will ever cost: never, where its end does not come. */
  async waitUntilSettled(requestId: string): Promise<void> {
    await this.#deliveries.get(requestId)?.settled.promise
    await this.#refunds.get(requestId)
  }

  /** The caller did not get its answer, whether the ledger has the charge already or not. */
  markUndelivered(requestId: string): void {
    const delivery = this.#deliveries.get(requestId)
    if (delivery === undefined) return
    delivery.isLost = true
    if (delivery.end !== null) this.#close(requestId, delivery.end)
    else if (this.#deliveries.size > surfaceLimits.deliveriesMax) this.#forgetOldestUndelivered()
  }

  /** When what was not delivered is taken back: also what the log charges only now. The caller waits no longer than it likes. */
  async close(): Promise<void> {
    const lost = [...this.#deliveries.values()].filter(({ isLost }) => isLost)
    await Promise.all(lost.map(({ settled }) => settled.promise))
    this.#stopListening()
    await Promise.allSettled(this.#refunds.values())
  }

  #close(requestId: string, end: End): void {
    const delivery = this.#deliveries.get(requestId)
    if (delivery === undefined) return
    delivery.end = end
    if (!delivery.isLost) return
    this.#deliveries.delete(requestId)
    const { closing, spender } = end
    delivery.settled.resolve()
    if (closing.type === 'UsageRecorded' && closing.data.total !== '0') this.#refund(closing.data, spender)
  }

  #refund(bill: UsageRecorded, spender: SpendingHolders | null): void {
    const { log, logger } = this.#parts
    const { requestId } = bill
    const refund = log.postToWallet(bill.workspaceId, [undeliveredFact(bill, spender)])
    this.#refunds.set(requestId, refund)
    void refund
      .catch((fault: unknown) => logger.log('response.refund_failed', { fault, requestId }))
      .finally(() => this.#refunds.delete(requestId))
  }

  /** Its end may never come: its proxy died while the log was away. */
  #forgetOldestUndelivered(): void {
    for (const [requestId, { isLost }] of this.#deliveries)
      if (isLost) {
        this.#deliveries.delete(requestId)
        return
      }
  }
}
