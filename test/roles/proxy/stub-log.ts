import { getValidator } from '../../../src/encoding/schema-validation.ts'
import type { FactOf } from '../../../src/events/envelope.ts'
import type { Appended, LogOf } from '../../../src/log/event-log.ts'
import type { ProxyEvent } from '../../../src/roles/proxy/closing.ts'

type Said = FactOf<ProxyEvent>

/** A log in memory whose acknowledgements can be kept back. Every fact is held against its schema. */
export class StubLog implements LogOf<ProxyEvent> {
  readonly writer = 'writer'
  /** Stored and acknowledged. */
  readonly facts: Said[] = []
  #gate: PromiseWithResolvers<void> | null = null
  #refusing = false
  /** Handed over, stored or not. */
  appended = 0

  /** From here on nothing is acknowledged. */
  hold(): void {
    this.#gate ??= Promise.withResolvers()
  }

  release(): void {
    this.#gate?.resolve()
    this.#gate = null
  }

  /** From here on every append is refused. */
  refuse(): void {
    this.#refusing = true
  }

  async append(facts: readonly Said[]): Promise<Appended> {
    this.appended += facts.length
    for (const { type, data } of facts) {
      const problems = getValidator(`events/${type}.v1.json`, { allErrors: true })(data)
      if (problems.length > 0) throw new Error(`${type}: ${JSON.stringify(problems)}`)
    }
    if (this.#refusing) throw new Error('the queue is full')
    await (this.#gate?.promise ?? null)
    this.facts.push(...facts)
    return { sequence: this.facts.length }
  }

  postToWallet(_workspaceId: string, facts: readonly Said[]): Promise<Appended> {
    return this.append(facts)
  }

  appendToWallet(): Promise<Appended> {
    throw new Error('a proxy decides nothing')
  }

  follow(): never {
    throw new Error('a proxy follows nothing')
  }

  lastSequence(): Promise<number> {
    return Promise.resolve(this.facts.length)
  }

  oldestUnacknowledgedMs(): number {
    return 0
  }
}
