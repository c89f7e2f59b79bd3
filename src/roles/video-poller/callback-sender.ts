import { faultText } from '../../errors/gateway-error.ts'
import type { CallbackFailed } from '../../events/types.ts'
import type { LogOf } from '../../log/event-log.ts'
import { type HttpClient, HttpFault } from '../../providers/http.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { CallbackOutcome, Observer } from '../../runtime/observer.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import { webhookHeaders } from '../../runtime/webhooks.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { QueueConsumer, WorkItem, WorkQueue } from '../work-queue.ts'
import type { PollerBounds } from './bounds.ts'
import { type CallbackMessage, decodeCallback } from './callback-message.ts'
import { pollerLimits } from './limits.ts'
import type { PaceRandom } from './pace.ts'

export interface Webhooks {
  /** Connects to public addresses alone. */
  readonly http: HttpClient
  /** Standard Webhooks: `whsec_` and base64. */
  readonly secretOf: (workspaceId: string) => string
}

interface CallbackSenderParts {
  readonly log: Pick<LogOf<'CallbackFailed'>, 'append'>
  readonly callbacks: Pick<WorkQueue, 'take'>
  readonly webhooks: Webhooks
  readonly clock: Clock
  readonly random: PaceRandom
  readonly logger: Logger
  readonly observer: Observer
  readonly bounds: Pick<
    PollerBounds,
    | 'callbackMs'
    | 'callbackTriesMax'
    | 'callbackRetryMs'
    | 'callbacksMax'
    | 'callbacksHeldMax'
    | 'queueRenewMs'
    | 'stopMs'
    | 'lastAnswerMs'
  >
}

/** `gone`: the receiver wants no more; `refused`, below: the address may not be called. */
const outcomeOf = (status: number): CallbackOutcome => {
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'gone' : 'failed'
}

/** The outcome of a try and its reason, without the address: its owner may have put a secret in it. */
interface Tried {
  readonly outcome: CallbackOutcome
  readonly reason: string
}

const unsent = (fault: unknown): Tried => {
  if (!(fault instanceof HttpFault)) return { outcome: 'failed', reason: 'it cannot be sent' }
  if (fault.kind !== 'refused') return { outcome: 'failed', reason: fault.kind }
  return { outcome: 'refused', reason: faultText(fault.cause) }
}

const hostOf = ({ url }: CallbackMessage): string | undefined => URL.parse(url)?.host

/** Posts the entries of the callback queue. A slow receiver delays others of its workspace, and no task. */
export class CallbackSender {
  readonly #parts: CallbackSenderParts
  readonly #giveUp = new AbortController()
  readonly #sending = new Set<Promise<void>>()
  readonly #held = new Set<WorkItem>()
  readonly #posts: Semaphore
  readonly #leaseTimer: NodeJS.Timeout
  readonly #taking: QueueConsumer

  constructor(parts: CallbackSenderParts) {
    this.#parts = parts
    const { callbacksMax, callbacksHeldMax, queueRenewMs } = parts.bounds
    this.#posts = new Semaphore(callbacksMax)
    this.#leaseTimer = setInterval(() => this.#keepLeases(), queueRenewMs)
    this.#taking = parts.callbacks.take(callbacksHeldMax, (item) => this.#take(item))
  }

  get check(): Check {
    return this.#taking.check
  }

  async stop(): Promise<void> {
    const { stopMs, lastAnswerMs } = this.#parts.bounds
    clearInterval(this.#leaseTimer)
    this.#held.clear()
    const stopped = this.#taking.stop()
    await waitAtMost(Promise.all(this.#sending), stopMs)
    this.#giveUp.abort()
    await waitAtMost(Promise.all(this.#sending), lastAnswerMs)
    await stopped
  }

  #take(item: WorkItem): void {
    this.#held.add(item)
    const sending = this.#send(item).finally(() => {
      this.#held.delete(item)
      this.#sending.delete(sending)
    })
    this.#sending.add(sending)
  }

  #keepLeases(): void {
    for (const item of this.#held) item.renew()
  }

  async #send(item: WorkItem): Promise<void> {
    const { logger, observer } = this.#parts
    try {
      const bytes = await item.bytes()
      const message = bytes === null ? null : decodeCallback(bytes)
      if (message === null) {
        logger.log('callback.unreadable', { taskId: item.id })
        return await item.done()
      }
      const tried = await this.#postInTurn(item, message)
      if (tried === null) return
      observer.callbackTried(tried.outcome)
      await this.#conclude(item, message, tried)
    } catch (fault) {
      logger.log('callback.handling_failed', { fault, taskId: item.id })
      item.again(this.#delayMs(item.deliveries))
    }
  }

  async #conclude(item: WorkItem, message: CallbackMessage, { outcome, reason }: Tried): Promise<void> {
    const { bounds, logger } = this.#parts
    if (outcome === 'delivered' || outcome === 'gone') return item.done()
    const triesMax = outcome === 'refused' ? pollerLimits.callbackRefusedTriesMax : bounds.callbackTriesMax
    const givenUp = item.deliveries >= triesMax
    if (givenUp || item.deliveries === 1) await this.#recordFailure(item, message, { reason, givenUp })
    if (!givenUp) return item.again(this.#delayMs(item.deliveries))
    const host = hostOf(message)
    logger.log('callback.given_up', { taskId: item.id, outcome, host, reason })
    return item.done()
  }

  async #recordFailure(
    { id: taskId, deliveries: tries }: WorkItem,
    { workspaceId }: CallbackMessage,
    { reason, givenUp }: Pick<CallbackFailed, 'reason' | 'givenUp'>,
  ): Promise<void> {
    try {
      await this.#parts.log.append([{ type: 'CallbackFailed', data: { taskId, workspaceId, tries, reason, givenUp } }])
    } catch {
      // The callback does not depend on it: a log without room for it, or of an older format, keeps none back.
    }
  }

  #delayMs(tries: number): number {
    const { bounds, random } = this.#parts
    const doublings = Math.min(tries, bounds.callbackTriesMax) - 1
    return bounds.callbackRetryMs * pollerLimits.callbackRetryFactor ** doublings * (1 + random() / 10)
  }

  /** Null where it is not held any more when its turn comes. */
  #postInTurn(item: WorkItem, message: CallbackMessage): Promise<Tried | null> {
    return this.#posts.run(message.workspaceId, async () =>
      this.#held.has(item) ? this.#post(item.id, message) : null,
    )
  }

  async #post(taskId: string, { url, workspaceId, body }: CallbackMessage): Promise<Tried> {
    const { webhooks, clock, bounds } = this.#parts
    try {
      const response = await webhooks.http.request({
        url,
        method: 'POST',
        headers: webhookHeaders(webhooks.secretOf(workspaceId), taskId, clock(), body),
        body,
        signal: AbortSignal.any([this.#giveUp.signal, AbortSignal.timeout(bounds.callbackMs)]),
        firstByteTimeoutMs: bounds.callbackMs,
      })
      response.discard()
      return { outcome: outcomeOf(response.status), reason: `status ${response.status}` }
    } catch (fault) {
      // The fault may quote the address, in which its owner may have put a secret.
      if (!(fault instanceof HttpFault)) this.#parts.logger.log('callback.send_failed', { taskId })
      return unsent(fault)
    }
  }
}
