import { type FrameSource, FramesFault, hashFrame, type RawFrame } from '../audit/frames.ts'
import type { EventLog, Follower, Frame } from './event-log.ts'
import { type AllowedWriters, assertBelongs, decodeEvents, frameIdOf, parseSubject, unreadable } from './read-frame.ts'

/** Every event checked and raised to its current version, as the live log's reader does it. */
export const frameFromRaw = ({ sequence, subject, data }: RawFrame, speakers?: AllowedWriters): Frame => {
  try {
    const events = decodeEvents(data)
    const standing = parseSubject(subject)
    assertBelongs(events, standing, speakers)
    return { sequence, walletSubject: standing.wallet, ...frameIdOf(data), events }
  } catch (cause) {
    throw unreadable(sequence, cause)
  }
}

class SourceFollower implements Follower {
  readonly done: Promise<void>
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
  speakers?: AllowedWriters,
): Pick<EventLog, 'follow' | 'lastSequence'> => ({
  lastSequence: () => source.lastSequence(),
  follow: (fromSequence, onFrame) => {
    async function* frames(): AsyncIterable<readonly RawFrame[]> {
      yield* source.read(fromSequence, await source.lastSequence())
    }
    return new SourceFollower(frames(), (frame) => onFrame(frameFromRaw(frame, speakers)))
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

/** Throws FramesFault where the log holds another frame than the archive at the archive's end. */
export const assertContinues = async (archive: FrameSource, log: FrameSource): Promise<void> => {
  const end = await archive.lastSequence()
  if (end === 0 || (await log.lastSequence()) < end) return
  const leaves: string[] = []
  for (const source of [archive, log])
    for await (const [frame] of source.read(end, end))
      if (frame !== undefined) leaves.push(hashFrame(frame).toString('hex'))
  if (leaves[0] !== leaves[1])
    throw new FramesFault(
      'missing',
      `the log does not go on where the archive ends: its frame ${end} is another`,
      end,
      end + 1,
    )
}
