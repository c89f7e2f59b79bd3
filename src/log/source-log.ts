import type { EventLog, Follower, Frame } from './event-log.ts'
import type { FrameSource, RawFrame } from './raw-frames.ts'
import { type AllowedWriters, assertBelongs, decodeEvents, frameIdOf, parseSubject, unreadable } from './read-frame.ts'

/** Every event checked and raised to its current version, as the live log's reader does it. */
export const frameFromRaw = ({ sequence, subject, data }: RawFrame, permittedTypes?: AllowedWriters): Frame => {
  try {
    const events = decodeEvents(data)
    const parsedSubject = parseSubject(subject)
    assertBelongs(events, parsedSubject, permittedTypes)
    return { sequence, walletSubject: parsedSubject.wallet, ...frameIdOf(data), events }
  } catch (cause) {
    throw unreadable(sequence, cause)
  }
}

class SourceFollower implements Follower {
  readonly done: Promise<void>
  readonly behindSinceMs = null
  readonly #stopped = Promise.withResolvers<void>()
  #isOver = false

  constructor(frames: AsyncIterable<readonly RawFrame[]>, onFrame: (frame: RawFrame) => void | Promise<void>) {
    this.done = this.#run(frames, onFrame)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.#stopped.resolve()
    // A follower that failed has reported that through `done`.
    await this.done.catch(() => {})
  }

  async #run(
    batches: AsyncIterable<readonly RawFrame[]>,
    onFrame: (frame: RawFrame) => void | Promise<void>,
  ): Promise<void> {
    for await (const frames of batches)
      for (const frame of frames) {
        if (this.#isOver) return
        const busy = onFrame(frame)
        if (busy instanceof Promise) await busy
      }
    await this.#stopped.promise
  }
}

/** Frames that can be read again, followed like the log itself; frames added after the start are not waited for. */
export const followSource = (
  source: FrameSource,
  permittedTypes?: AllowedWriters,
): Pick<EventLog, 'follow' | 'lastSequence'> => ({
  lastSequence: () => source.lastSequence(),
  follow: (fromSequence, onFrame) => {
    async function* frames(): AsyncIterable<readonly RawFrame[]> {
      yield* source.read(fromSequence, await source.lastSequence())
    }
    return new SourceFollower(frames(), (frame) => onFrame(frameFromRaw(frame, permittedTypes)))
  },
})

/** The frames of an archive, and behind its end those of the live log. */
export class ArchiveThenLog implements FrameSource {
  readonly #archive: FrameSource
  readonly #log: FrameSource

  constructor(archive: FrameSource, log: FrameSource) {
    this.#archive = archive
    this.#log = log
  }

  async lastSequence(): Promise<number> {
    return Math.max(await this.#archive.lastSequence(), await this.#log.lastSequence())
  }

  async *read(from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    const end = await this.#archive.lastSequence()
    yield* this.#archive.read(from, Math.min(to, end))
    if (to > end) yield* this.#log.read(Math.max(from, end + 1), to)
  }
}
