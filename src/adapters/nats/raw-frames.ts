import { frameIdText } from '../../events/codec.ts'
import type { Follower } from '../../log/event-log.ts'
import { FramesFault, type RawFrame } from '../../log/raw-frames.ts'
import { frameIdOf } from '../../log/read-frame.ts'
import { LogFault } from './follow-session.ts'
import { natsLimits } from './limits.ts'
import type { LogMessage } from './read-frame.ts'
import type { LogNames } from './streams.ts'

const readFrameId = (data: Uint8Array): string => {
  try {
    return frameIdText(frameIdOf(data))
  } catch {
    return ''
  }
}

/** An undecoded frame: its bytes may be anything, and its id is empty when none can be read. */
export const toRawFrame = ({ sequence, subject, storedMs, data }: LogMessage, names: LogNames): RawFrame => ({
  sequence,
  subject: subject.slice(names.prefix.length),
  id: readFrameId(data),
  storedMs,
  data,
})

type FollowRaw = (from: number, onFrame: (frame: RawFrame) => void | Promise<void>) => Follower

/** Frames between a follower and a reader; the follower waits while it is full. */
class FrameBuffer {
  #frames: RawFrame[] = []
  #bytes = 0
  #arrived = Promise.withResolvers<void>()
  #taken = Promise.withResolvers<void>()

  add(frame: RawFrame): Promise<void> | undefined {
    this.#frames.push(frame)
    this.#bytes += frame.data.length
    this.#arrived.resolve()
    const isFull = this.#bytes >= natsLimits.readBytesMax || this.#frames.length >= natsLimits.readFramesMax
    return isFull ? this.#taken.promise : undefined
  }

  async take(broken: Promise<never>): Promise<readonly RawFrame[]> {
    if (this.#frames.length === 0) await Promise.race([this.#arrived.promise, broken])
    const frames = this.#frames
    this.#frames = []
    this.#bytes = 0
    this.#arrived = Promise.withResolvers()
    this.release()
    return frames
  }

  release(): void {
    this.#taken.resolve()
    this.#taken = Promise.withResolvers()
  }
}

const toFramesFault = (fault: unknown): unknown =>
  fault instanceof LogFault && fault.gap !== null
    ? new FramesFault('missing', fault.message, fault.gap.from, fault.gap.resumesAt)
    : fault

/** The frames from `from` to `to`, both included. */
export async function* readFrameRange(follow: FollowRaw, from: number, to: number): AsyncIterable<readonly RawFrame[]> {
  if (from > to) return
  const waiting = new FrameBuffer()
  const follower = follow(from, (frame) => (frame.sequence <= to ? waiting.add(frame) : undefined))
  const broken = follower.done.then(
    () => {
      throw new Error('the log was closed while it was read')
    },
    (fault: unknown) => {
      throw toFramesFault(fault)
    },
  )
  broken.catch(() => {}) // Reported by `take`; here only kept from being an unhandled rejection.
  try {
    for (let next = from; next <= to; ) {
      const frames = await waiting.take(broken)
      next += frames.length
      yield frames
    }
  } finally {
    waiting.release()
    await follower.stop()
  }
}
