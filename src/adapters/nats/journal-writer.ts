import type { Appended } from '../../log/event-log.ts'
import type { FrameStore } from './frame-store.ts'
import { natsLimits } from './limits.ts'
import type { EncodedEvents, PendingFrame, PendingFrames } from './pending-frames.ts'

interface QueuedFrame {
  readonly frame: PendingFrame
  readonly stored: PromiseWithResolvers<Appended>
}

/** Group commit: what is appended while frames are in flight goes into the next. No frame waits for a timer. */
export class JournalWriter {
  readonly #writer: string
  readonly #subject: string
  readonly #store: FrameStore
  readonly #pending: PendingFrames
  readonly #queued: QueuedFrame[] = []
  #counter = 0
  #inFlight = 0
  #flushIsDue = false

  constructor(writer: string, subject: string, store: FrameStore, pending: PendingFrames) {
    this.#writer = writer
    this.#subject = subject
    this.#store = store
    this.#pending = pending
  }

  append(facts: EncodedEvents): Promise<Appended> {
    this.#pending.admit(facts.lines.length)
    const { frame, stored } = this.#frameFor(facts)
    frame.add(facts)
    this.#flushSoon()
    return stored.promise
  }

  #frameFor(facts: EncodedEvents): QueuedFrame {
    const last = this.#queued.at(-1)
    if (last?.frame.hasRoomFor(facts)) return last
    this.#counter += 1
    const frame = this.#pending.open({ writer: this.#writer, counter: this.#counter })
    const gathered = { frame, stored: Promise.withResolvers<Appended>() }
    this.#queued.push(gathered)
    return gathered
  }

  /** At the end of the event loop's turn, so that what all its callbacks append is sent together; where many append, some turns later. */
  #flushSoon(): void {
    if (this.#flushIsDue || this.#inFlight === natsLimits.framesInFlightMax) return
    this.#flushIsDue = true
    setImmediate(() => this.#endTurn(natsLimits.frameTurnsMax - 1))
  }

  #endTurn(turnsLeft: number): void {
    const events = this.#queued[0]?.frame.events.length ?? 0
    if (turnsLeft > 0 && events >= natsLimits.frameGatheredEventsMin && events < natsLimits.frameGatheredEventsMax) {
      setImmediate(() => this.#endTurn(turnsLeft - 1))
      return
    }
    this.#flushIsDue = false
    this.#flush()
  }

  #flush(): void {
    while (this.#inFlight < natsLimits.framesInFlightMax) {
      const next = this.#queued.shift()
      if (next === undefined) return
      this.#inFlight += 1
      void this.#send(next)
    }
  }

  async #send({ frame, stored }: QueuedFrame): Promise<void> {
    try {
      stored.resolve(await this.#store.store(frame, { subject: this.#subject }))
    } catch (error) {
      stored.reject(error)
    }
    this.#inFlight -= 1
    this.#pending.remove(frame)
    if (this.#queued.length > 0) this.#flushSoon()
  }
}
