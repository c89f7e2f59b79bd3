import { GatewayError } from '../../errors/gateway-error.ts'
import { encodeFrame, type FrameId } from '../../events/codec.ts'
import type { Event } from '../../events/envelope.ts'
import { natsLimits } from './limits.ts'
import type { EncodedEvents } from './wrap-facts.ts'

export class PendingFrame {
  readonly id: FrameId
  readonly openedMs = performance.now()
  sends = 0
  readonly events: Event[] = []
  readonly #lines: string[] = []
  #bytes = 0

  constructor(id: FrameId) {
    this.id = id
  }

  hasRoomFor({ lines, bytes }: EncodedEvents): boolean {
    return (
      this.#lines.length + lines.length <= natsLimits.frameEventsMax && this.#bytes + bytes <= natsLimits.frameBytesMax
    )
  }

  add({ events, lines, bytes }: EncodedEvents): void {
    this.events.push(...events)
    this.#lines.push(...lines)
    this.#bytes += bytes
  }

  encode(): Uint8Array {
    return Buffer.from(encodeFrame(this.id, this.#lines))
  }
}

export class PendingFrames {
  readonly #frames = new Set<PendingFrame>()
  readonly #onEmpty = new Set<() => void>()
  #events = 0

  open(id: FrameId): PendingFrame {
    const frame = new PendingFrame(id)
    this.#frames.add(frame)
    return frame
  }

  /** Throws `log_unavailable` beyond `appendQueueEventsMax`. */
  admit(events: number): void {
    if (this.#events + events > natsLimits.appendQueueEventsMax)
      throw new GatewayError('log_unavailable', 'Too many events wait for the event log.')
    this.#events += events
  }

  remove(frame: PendingFrame): void {
    this.#frames.delete(frame)
    this.#events -= frame.events.length
    if (this.#frames.size > 0) return
    for (const wake of this.#onEmpty) wake()
    this.#onEmpty.clear()
  }

  oldestAgeMs(): number {
    // A set keeps the order of insertion: its first frame is the oldest.
    const [oldest] = this.#frames
    return oldest === undefined ? 0 : performance.now() - oldest.openedMs
  }

  waitUntilEmpty(withinMs: number): Promise<void> {
    if (this.#frames.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs)
      this.#onEmpty.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
