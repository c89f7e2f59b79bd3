import { setImmediate as turn } from 'node:timers/promises'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import { encodeFrame, frameIdText } from '../../src/events/codec.ts'
import { type Event, type Fact, wrapEvent } from '../../src/events/envelope.ts'
import type { Appended, EventLog, Follower, Frame } from '../../src/log/event-log.ts'
import type { RawFrame, RawFrames } from '../../src/log/raw-frames.ts'

export interface MemoryLogOptions {
  readonly writer?: string
  /** ISO 8601 time of the events of the frame with this sequence. */
  readonly timeOf?: (sequence: number) => string
  /** Every fact is held against its schema. */
  readonly checksSchemas?: boolean
}

const framesBetweenTurns = 256
const startOfTime = Date.parse('2026-03-01T00:00:00.000Z')

/** A frame as a server would have stored it. */
export const rawFrameOf = ({ walletSubject, events, ...frame }: Frame): RawFrame => ({
  sequence: frame.sequence,
  subject: walletSubject === null ? 'journal.test' : `wallet.${walletSubject}`,
  id: frameIdText(frame),
  storedMs: startOfTime + frame.sequence * 1_000,
  data: Buffer.from(
    encodeFrame(
      frame,
      events.map((event) => JSON.stringify(event)),
    ),
  ),
})

const checkSchema = ({ type, data }: Fact): void => {
  const problems = getValidator(`events/${type}.v1.json`, { allErrors: true })(data)
  if (problems.length > 0) throw new Error(`${type}: ${JSON.stringify(problems)}`)
}

/** The log as an array, in one process: what is appended is stored at once, unless a test stalls it. */
export class MemoryLog implements EventLog, RawFrames {
  readonly writer: string
  readonly frames: Frame[] = []
  readonly #timeOf: (sequence: number) => string
  readonly #counters = { journal: 0, wallet: 0 }
  readonly #checksSchemas: boolean
  readonly #wakers = new Set<() => void>()
  readonly #raw = new WeakMap<Frame, RawFrame>()
  #events = 0
  #stall: { readonly sinceMs: number; readonly gate: PromiseWithResolvers<void>; waiting: number } | null = null
  #delivering = true
  #refusing = false
  /** Of its followers. */
  behindSinceMs: number | null = null
  /** Facts that were handed over, stored or not. */
  appended = 0

  constructor({ writer = 'test-writer', timeOf, checksSchemas = false }: MemoryLogOptions = {}) {
    this.writer = writer
    this.#checksSchemas = checksSchemas
    this.#timeOf = timeOf ?? ((sequence) => new Date(startOfTime + sequence * 1_000).toISOString())
  }

  get events(): readonly Event[] {
    return this.frames.flatMap(({ events }) => events)
  }

  /** Appends wait, unstored and unacknowledged, until `resume`. */
  stall(sinceMs: number = Date.now()): void {
    this.#stall ??= { sinceMs, gate: Promise.withResolvers(), waiting: 0 }
  }

  resume(): void {
    this.#stall?.gate.resolve()
    this.#stall = null
  }

  /** From here on every append is refused. */
  refuse(): void {
    this.#refusing = true
  }

  /** Appends are stored and acknowledged, but followers receive nothing until it is called again with true. */
  deliver(delivering: boolean): void {
    this.#delivering = delivering
    for (const wake of this.#wakers) wake()
  }

  async append(facts: readonly Fact[]): Promise<Appended> {
    await this.#accept(facts)
    return this.#store(null, facts)
  }

  async appendToWallet(workspaceId: string, facts: readonly Fact[], expectedSequence: number) {
    await this.#accept(facts)
    const sequence = this.frames.findLast((frame) => frame.walletSubject === workspaceId)?.sequence ?? 0
    return sequence === expectedSequence ? this.#store(workspaceId, facts) : { conflict: true as const, sequence }
  }

  async postToWallet(workspaceId: string, facts: readonly Fact[]): Promise<Appended> {
    await this.#accept(facts)
    return this.#store(workspaceId, facts)
  }

  /** Stores a frame that some writer made, its sequence aside. */
  store(frame: Omit<Frame, 'sequence'>): Appended {
    const sequence = this.frames.length + 1
    this.frames.push({ ...frame, sequence })
    for (const wake of this.#wakers) wake()
    return { sequence }
  }

  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower {
    let stopped = false
    let wake = () => {}
    const waker = () => wake()
    const deliver = async (): Promise<void> => {
      for (let next = fromSequence - 1; !stopped; ) {
        if (next === this.frames.length || !this.#delivering) {
          await new Promise<void>((resolve) => {
            wake = resolve
            if (stopped || (this.#delivering && next < this.frames.length)) resolve()
          })
          continue
        }
        const busy = onFrame(this.frames[next]!)
        next += 1
        if (busy instanceof Promise) await busy
        else if (next % framesBetweenTurns === 0) await turn()
      }
    }
    this.#wakers.add(waker)
    const done = turn()
      .then(deliver)
      .finally(() => this.#wakers.delete(waker))
    const behindSinceMs = (): number | null => this.behindSinceMs
    return {
      done,
      get behindSinceMs() {
        return behindSinceMs()
      },
      stop: async () => {
        stopped = true
        wake()
        // A follower that failed has said so through `done`.
        await done.catch(() => {})
      },
    }
  }

  followRaw(fromSequence: number, onFrame: (frame: RawFrame) => void | Promise<void>): Follower {
    return this.follow(fromSequence, (frame) => onFrame(rawFrameOf(frame)))
  }

  async *read(from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    for (let next = from - 1; next < to; next += framesBetweenTurns)
      yield this.frames.slice(next, Math.min(to, next + framesBetweenTurns)).map((frame) => this.#rawOf(frame))
  }

  /** Some tests read the whole log again for each of its frames. */
  #rawOf(frame: Frame): RawFrame {
    const raw = this.#raw.get(frame) ?? rawFrameOf(frame)
    this.#raw.set(frame, raw)
    return raw
  }

  async lastSequence(): Promise<number> {
    return this.frames.length
  }

  oldestUnacknowledgedMs(): number {
    return this.#stall === null || this.#stall.waiting === 0 ? 0 : Date.now() - this.#stall.sinceMs
  }

  async #accept(facts: readonly Fact[]): Promise<void> {
    this.appended += facts.length
    if (this.#checksSchemas) facts.forEach(checkSchema)
    if (this.#refusing) throw new Error('the queue is full')
    if (this.#stall === null) return
    this.#stall.waiting += 1
    await this.#stall.gate.promise
  }

  #store(walletSubject: string | null, facts: readonly Fact[]): Appended {
    const time = this.#timeOf(this.frames.length + 1)
    const events = facts.map((fact): Event => wrapEvent(fact, this.#nextId(), `/gateway/test/${this.writer}`, time))
    // As the log does: a journal's counters have no gaps, so wallet frames have a writer of their own.
    if (walletSubject !== null) {
      this.#counters.wallet += 1
      return this.store({ walletSubject, writer: `${this.writer}-wallet`, counter: this.#counters.wallet, events })
    }
    this.#counters.journal += 1
    return this.store({ walletSubject, writer: this.writer, counter: this.#counters.journal, events })
  }

  #nextId(): string {
    this.#events += 1
    return `00000000-0000-7000-8000-${String(this.#events).padStart(12, '0')}`
  }
}
