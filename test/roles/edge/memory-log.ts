import { type Event, type Fact, sealEvent } from '../../../src/events/envelope.ts'
import type { Appended, EventLog, Follower, Frame } from '../../../src/log/event-log.ts'

/** The log's port over an array, which can stop to acknowledge or to deliver. */
export class MemoryLog implements EventLog {
  readonly writer = 'writer-of-a-test'
  readonly frames: Frame[] = []
  readonly #heldAcks: (() => void)[] = []
  readonly #deliveries = new Set<() => void>()
  #stalledSinceMs: number | null = null
  #delivering = true

  get events(): readonly Event[] {
    return this.frames.flatMap(({ events }) => events)
  }

  async append(facts: readonly Fact[]): Promise<Appended> {
    await this.#acknowledging()
    return this.#store(facts, null)
  }

  async appendToWallet(
    workspaceId: string,
    facts: readonly Fact[],
    expectedSequence: number,
  ): ReturnType<EventLog['appendToWallet']> {
    await this.#acknowledging()
    const last = this.frames.findLast(({ walletSubject }) => walletSubject === workspaceId)?.sequence ?? 0
    return last === expectedSequence ? this.#store(facts, workspaceId) : { conflict: true, sequence: last }
  }

  async postToWallet(workspaceId: string, facts: readonly Fact[]): Promise<Appended> {
    await this.#acknowledging()
    return this.#store(facts, workspaceId)
  }

  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower {
    let next = fromSequence
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const deliver = (): void => {
      if (!this.#delivering) return
      for (let frame = this.frames[next - 1]; frame !== undefined; frame = this.frames[next - 1]) {
        next += 1
        void onFrame(frame)
      }
    }
    const deliverSoon = (): void => void setImmediate(deliver)
    this.#deliveries.add(deliverSoon)
    deliverSoon()
    return {
      done,
      stop: async () => {
        this.#deliveries.delete(deliverSoon)
        resolve()
      },
    }
  }

  async lastSequence(): Promise<number> {
    return this.frames.length
  }

  oldestUnacknowledgedMs(): number {
    return this.#stalledSinceMs === null || this.#heldAcks.length === 0 ? 0 : Date.now() - this.#stalledSinceMs
  }

  /** Acknowledges nothing until `resume`. */
  stall(sinceMs: number = Date.now()): void {
    this.#stalledSinceMs = sinceMs
  }

  resume(): void {
    this.#stalledSinceMs = null
    for (const acknowledge of this.#heldAcks.splice(0)) acknowledge()
  }

  /** Stores and acknowledges, but followers hear nothing until it is called again with true. */
  deliver(delivering: boolean): void {
    this.#delivering = delivering
    for (const each of this.#deliveries) each()
  }

  #acknowledging(): Promise<void> {
    if (this.#stalledSinceMs === null) return Promise.resolve()
    return new Promise((resolve) => this.#heldAcks.push(resolve))
  }

  #store(facts: readonly Fact[], walletSubject: string | null): Appended {
    const sequence = this.frames.length + 1
    const events = facts.map((fact, index) =>
      sealEvent(fact, `event-${sequence}-${index}`, '/gateway/test', new Date().toISOString()),
    )
    this.frames.push({ sequence, walletSubject, writer: this.writer, counter: sequence, events })
    for (const each of this.#deliveries) each()
    return { sequence }
  }
}
