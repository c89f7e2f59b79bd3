import { measureRules } from '../../domain/wallet/alerts.ts'
import { walletLimits } from '../../domain/wallet/limits.ts'
import type { Wallet } from '../../domain/wallet/wallet.ts'
import type { AlertRaised } from '../../events/types.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { WalletCommandHandler } from '../../log/wallet-command-handler.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { RunningRole } from '../role.ts'
import { schedulerLimits } from './limits.ts'
import { sendAlert } from './send-alert.ts'

type SenderParts = Parameters<typeof sendAlert>[0]
type RaisedAlert = Parameters<typeof sendAlert>[2]

interface AlerterParts extends SenderParts {
  readonly tail: Pick<LedgerTail, 'ledger'>
  readonly writer: Pick<WalletCommandHandler, 'execute'>
  readonly logger: Logger
  /** Default: that of the limits. */
  readonly tickMs?: number
}

/** Of one alert to one destination. */
interface Delivery {
  tries: number
  nextMs: number
  isOver: boolean
}

const retryDelayMs = (tries: number): number =>
  Math.min(schedulerLimits.alertRetryMaxMs, schedulerLimits.alertRetryMs * 2 ** (tries - 1))

const openDestinations = ({ destinations, deliveredTo }: RaisedAlert): readonly string[] =>
  destinations.filter((destination) => !deliveredTo.includes(destination))

const idOf = ({ alertId }: RaisedAlert, destination: string): string => `${alertId} ${destination}`

const openIdsOf = (watched: readonly Wallet[]): ReadonlySet<string> => {
  const open = new Set<string>()
  for (const { alertRules } of watched)
    for (const { alerts } of alertRules.values())
      for (const alert of alerts)
        for (const destination of openDestinations(alert)) open.add(idOf(alert, destination)).add(alert.alertId)
  return open
}

const raises = new Semaphore(schedulerLimits.alertsRaisedAtOnceMax)

/**
 * Raises alerts of rules in the log, once however many schedulers there are, and sends what the log does not have as delivered:
 * the process that raised one at once, others when that has had its time. So one is sent again, with its id, where a process
 * ends between a delivery and its record.
 */
export class Alerter implements RunningRole {
  readonly #parts: AlerterParts
  readonly #deliveries = new Map<string, Delivery>()
  readonly #own = new Set<string>()
  readonly #sending = new Set<Promise<void>>()
  readonly #giveUp = new AbortController()
  readonly #warning: ThrottledWarning
  readonly #timer: NodeJS.Timeout
  /** By workspace: one that waits for its wallet delays no other. */
  readonly #raising = new Map<string, Promise<void>>()
  readonly #failing = new Set<string>()

  constructor(parts: AlerterParts) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
    this.#timer = setInterval(() => this.#work(), parts.tickMs ?? schedulerLimits.alertTickMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#giveUp.abort()
    await waitAtMost(Promise.all([...this.#raising.values(), ...this.#sending]), schedulerLimits.schedulerStopMs)
  }

  #work(): void {
    const { tail, clock } = this.#parts
    const watched = [...tail.ledger.wallets.values()].filter(({ alertRules }) => alertRules.size > 0)
    const open = openIdsOf(watched)
    for (const known of [this.#deliveries, this.#own])
      for (const id of known.keys()) if (!open.has(id)) known.delete(id)
    const waiting = new Set<string>()
    for (const wallet of watched) {
      const { workspaceId } = wallet
      const alerts = measureRules(wallet, clock(), tail.ledger.reconciled).flatMap(({ due }) => due ?? [])
      this.#sendAll(wallet)
      if (alerts.length === 0) continue
      waiting.add(workspaceId)
      if (!this.#raising.has(workspaceId)) this.#raising.set(workspaceId, this.#raiseAll(workspaceId, alerts))
    }
    for (const workspaceId of this.#failing) if (!waiting.has(workspaceId)) this.#failing.delete(workspaceId)
    if (this.#failing.size === 0) this.#warning.clear('scheduler.available', {})
  }

  async #raiseAll(workspaceId: string, alerts: readonly AlertRaised[]): Promise<void> {
    try {
      await raises.run(workspaceId, async () => {
        for (const alert of alerts) await this.#raise(alert)
      })
      this.#failing.delete(workspaceId)
      const wallet = this.#parts.tail.ledger.wallets.get(workspaceId)
      if (wallet !== undefined) this.#sendAll(wallet)
    } catch (fault) {
      this.#failing.add(workspaceId)
      this.#warning.raise('scheduler.unavailable', { fault })
    } finally {
      this.#raising.delete(workspaceId)
    }
  }

  async #raise(alert: AlertRaised): Promise<void> {
    const { writer, logger } = this.#parts
    const { workspaceId, alertId, measure, figure, threshold } = alert
    const outcome = await writer.execute(workspaceId, { type: 'RaiseAlert', alert })
    if (!('facts' in outcome) || outcome.facts.length === 0) return
    this.#own.add(alertId)
    logger.log('alert.raised', { workspaceId, alertId, measure, figure, threshold })
  }

  #sendAll({ alertRules }: Wallet): void {
    for (const { alerts } of alertRules.values()) for (const alert of alerts) this.#send(alert)
  }

  #send(alert: RaisedAlert): void {
    const { clock, logger } = this.#parts
    const { workspaceId, alertId, raisedAt } = alert
    const nowMs = clock()
    const isPast = nowMs - Date.parse(raisedAt) > walletLimits.alertTriesMs
    for (const destination of openDestinations(alert)) {
      const id = idOf(alert, destination)
      const delivery = this.#deliveries.get(id) ?? this.#firstOf(alert, isPast)
      this.#deliveries.set(id, delivery)
      if (isPast && !delivery.isOver) logger.log('alert.given_up', { workspaceId, alertId, destination })
      delivery.isOver ||= isPast
      if (delivery.isOver || nowMs < delivery.nextMs) continue
      delivery.nextMs = Number.POSITIVE_INFINITY
      const sending = this.#deliver(alert, destination, delivery).finally(() => this.#sending.delete(sending))
      this.#sending.add(sending)
    }
  }

  /** What was given up before this process has started is over without a line in its log. */
  #firstOf({ alertId, raisedAt }: RaisedAlert, isPast: boolean): Delivery {
    const isOwn = this.#own.has(alertId)
    const nextMs = isOwn ? 0 : Date.parse(raisedAt) + schedulerLimits.alertTakeoverMs
    return { tries: 0, nextMs, isOver: isPast && !isOwn }
  }

  async #deliver(alert: RaisedAlert, destination: string, delivery: Delivery): Promise<void> {
    const { clock, logger } = this.#parts
    const { workspaceId, alertId } = alert
    const named = { workspaceId, alertId, destination }
    const reason =
      (await sendAlert(this.#parts, destination, alert, this.#giveUp.signal)) ??
      (await this.#confirm(alert, destination))
    delivery.tries += 1
    if (reason === null) {
      logger.log('alert.delivered', named)
      return
    }
    if (!this.#giveUp.signal.aborted) await this.#recordFailure(alert, destination, reason)
    delivery.nextMs = clock() + retryDelayMs(delivery.tries)
    if (!this.#giveUp.signal.aborted) logger.log('alert.delivery_failed', { ...named, reason })
  }

  /** Once for each reason. */
  async #recordFailure(
    { workspaceId, alertId, rule }: RaisedAlert,
    destination: string,
    reason: string,
  ): Promise<void> {
    const command = { type: 'RecordAlertFailure', rule, alertId, destination, reason } as const
    try {
      await this.#parts.writer.execute(workspaceId, command)
    } catch {
      // The log line has the reason, and the next try records it.
    }
  }

  /** Null once it is recorded, else why it is not. */
  async #confirm({ workspaceId, alertId, rule }: RaisedAlert, destination: string): Promise<string | null> {
    try {
      await this.#parts.writer.execute(workspaceId, { type: 'ConfirmAlert', rule, alertId, destination })
      return null
    } catch {
      return 'it was accepted, and the log could not record it'
    }
  }
}
