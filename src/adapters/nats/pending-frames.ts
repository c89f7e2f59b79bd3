import { instantWriter } from '../../domain/instant.ts'
import { getValidator, problemsText } from '../../encoding/schema-validation.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { encodeFrame, type FrameId } from '../../events/codec.ts'
import { type Event, type Fact, schemaIdOf, wrapEvent } from '../../events/envelope.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import { TransientMap } from '../../runtime/transient-map.ts'
import { natsLimits } from './limits.ts'

export interface EncodedEvents {
  readonly events: readonly Event[]
  readonly lines: readonly string[]
  readonly bytes: number
}

interface EnvelopeContext {
  /** `/gateway/<role>/<writer>`. */
  readonly source: string
  readonly clock: Clock
  readonly newId: NewId
}

const assertValid = (fact: Fact): void => {
  const problems = getValidator(schemaIdOf(fact.type))(fact.data)
  if (problems.length > 0) throw new Error(`${fact.type} does not follow its schema: ${problemsText(problems)}`)
}

const assertFits = ({ lines, bytes }: EncodedEvents): void => {
  if (lines.length === 0) throw new Error('an append without facts')
  if (lines.length > natsLimits.frameEventsMax || bytes > natsLimits.frameBytesMax)
    throw new Error(`an append of ${lines.length} events and ${bytes} bytes does not fit into one frame`)
}

const timeAt = instantWriter()
const utf8 = new TextEncoder()

/** Throws when a fact does not follow its schema, or when they do not fit into one frame. */
export const wrapFacts = (facts: readonly Fact[], { source, clock, newId }: EnvelopeContext): EncodedEvents => {
  const time = timeAt(clock())
  const events = facts.map((fact) => {
    assertValid(fact)
    return wrapEvent(fact, newId(), source, time)
  })
  const lines = events.map((event) => JSON.stringify(event))
  const sealed = { events, lines, bytes: lines.reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0) }
  assertFits(sealed)
  return sealed
}

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
    return utf8.encode(encodeFrame(this.id, this.#lines))
  }
}

export class PendingFrames {
  readonly #frames = new TransientMap<FrameId, PendingFrame>()
  readonly #onEmpty = new Set<() => void>()
  #events = 0

  open(id: FrameId): PendingFrame {
    const frame = new PendingFrame(id)
    this.#frames.set(id, frame)
    return frame
  }

  /** Throws `log_unavailable` beyond `appendQueueEventsMax`. */
  admit(events: number): void {
    if (this.#events + events > natsLimits.appendQueueEventsMax)
      throw new GatewayError('log_unavailable', 'Too many events wait for the event log.')
    this.#events += events
  }

  remove(frame: PendingFrame): void {
    this.#frames.delete(frame.id)
    this.#events -= frame.events.length
    if (this.#frames.size > 0) return
    for (const wake of this.#onEmpty) wake()
    this.#onEmpty.clear()
  }

  oldestAgeMs(): number {
    const [oldest] = this.#frames.values()
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
