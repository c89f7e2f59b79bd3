import type { Usage } from '../../domain/usage/usage.ts'
import { GatewayError, logUnavailable } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import { withTimeout } from '../../runtime/within.ts'
import type { CallsInFlight } from './calls-in-flight.ts'

export type ProxyEvent = 'UsageRecorded' | 'RequestFailed'

export interface ClosingParts {
  readonly log: LogOf<ProxyEvent>
  readonly logger: Logger
  readonly observer: Observer
  readonly inFlight: CallsInFlight
  readonly closingAckMs: number
}

type ClosingFact = FactOf<'UsageRecorded'> | FactOf<'RequestFailed'>

/** Keeps the charge where the vendor's details beside it are invalid. */
const dropOptionalFields = (fact: ClosingFact): ClosingFact => {
  if (fact.type === 'RequestFailed') return { type: fact.type, data: { ...fact.data, attempts: [] } }
  const { storedResponseId: _storedResponseId, ...data } = fact.data
  return { type: fact.type, data: { ...data, attempts: [] } }
}

export class ClosingAppender {
  readonly #parts: ClosingParts
  #appended: Promise<ClosingFact> | null = null
  #stored: Promise<ClosingFact> | null = null

  constructor(parts: ClosingParts) {
    this.#parts = parts
  }

  get begun(): boolean {
    return this.#appended !== null
  }

  /** The first fact counts; later ones are ignored. A fact may still be a promise, such as a count under way. */
  append(fact: ClosingFact | Promise<ClosingFact>): void {
    if (this.begun) return
    this.#appended = Promise.resolve(fact)
    this.#stored = fact instanceof Promise ? fact.then((counted) => this.#append(counted)) : this.#append(fact)
    this.#parts.inFlight.track(this.#stored, (fault) => this.#parts.logger.log('request.end_not_recorded', { fault }))
  }

  /** Resolves with the stored fact; throws `log_unavailable` when the log has not acknowledged it in time. */
  async acknowledged(): Promise<ClosingFact> {
    if (this.#stored === null) throw new Error('a closing event is acknowledged before it was appended')
    await this.#appended
    return withTimeout(this.#stored, this.#parts.closingAckMs, () => logUnavailable())
  }

  /** Resolves, once the bill is stored, with the usage that we counted; null where the upstream reported it. */
  async countedUsage(): Promise<Usage | null> {
    const fact = await this.acknowledged()
    return fact.type === 'UsageRecorded' && fact.data.source === 'estimated' ? fact.data.usage : null
  }

  async #append(closing: ClosingFact): Promise<ClosingFact> {
    const appendedMs = performance.now()
    try {
      await this.#parts.log.append([closing])
      this.#parts.observer.stageEnded('closing_ack', closing.data.surface, (performance.now() - appendedMs) / 1_000)
      return closing
    } catch (fault) {
      if (fault instanceof GatewayError) throw fault
      this.#parts.logger.log('request.end_invalid', { fault })
      return this.#appendMinimal(dropOptionalFields(closing))
    }
  }

  async #appendMinimal(bare: ClosingFact): Promise<ClosingFact> {
    try {
      await this.#parts.log.append([bare])
      return bare
    } catch (fault) {
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }
}
