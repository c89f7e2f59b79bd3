import { type FrameSource, FramesFault, hashFrame, type RawFrame } from './frames.ts'
import { auditLimits } from './limits.ts'

export interface FrameWriter {
  /**
   * Stores frames in order, each at its own sequence. Resolves when all are stored; rejects only after every frame sent
   * was acknowledged or given up. Errors other than RestoreRefused and FramesFault may be transient.
   */
  store(frames: AsyncIterable<readonly RawFrame[]>): Promise<void>
}

export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
}

export interface RestoreParts {
  readonly archive: FrameSource
  readonly log: FrameSource
  readonly writer: FrameWriter
  readonly onProgress?: (sequence: number, lastSequence: number) => void
}

async function* iterateFrames(source: FrameSource, to: number): AsyncGenerator<RawFrame> {
  for await (const frames of source.read(1, to)) yield* frames
}

const firstDifference = async (one: FrameSource, other: FrameSource, to: number): Promise<number | null> => {
  const others = iterateFrames(other, to)
  try {
    for await (const frame of iterateFrames(one, to)) {
      const { value } = await others.next()
      if (value === undefined || !hashFrame(value).equals(hashFrame(frame))) return frame.sequence
    }
    return null
  } finally {
    await others.return(undefined)
  }
}

/** Throws RestoreRefused unless the log is empty, or holds the beginning of the archive (an interrupted restore). */
const assertPrefix = async ({ archive, log }: RestoreParts, standing: number, size: number): Promise<void> => {
  if (standing > size)
    throw new RestoreRefused(
      `the log holds ${standing} frames, more than the archive's ${size}: it is not restored into`,
    )
  const difference = await firstDifference(archive, log, standing)
  if (difference !== null)
    throw new RestoreRefused(
      `the log is not empty, and its frame ${difference} is not the archive's: it is not restored into`,
    )
}

async function* withProgressOf(
  source: AsyncIterable<readonly RawFrame[]>,
  size: number,
  onProgress: NonNullable<RestoreParts['onProgress']>,
): AsyncIterable<readonly RawFrame[]> {
  for await (const frames of source) {
    yield frames
    const last = frames.at(-1)
    if (last !== undefined) onProgress(last.sequence, size)
  }
}

/**
 * An interrupted restore continues. Resolves with the number of frames written. Rejects with RestoreRefused if the log
 * holds anything else.
 */
export const restoreLog = async (parts: RestoreParts): Promise<number> => {
  const { archive, log, writer, onProgress = () => {} } = parts
  const size = await archive.lastSequence()
  const begun = await log.lastSequence()
  await assertPrefix(parts, begun, size)
  let failures = 0
  for (let storedTo = begun; storedTo < size; ) {
    const failure: unknown = await writer
      .store(withProgressOf(archive.read(storedTo + 1, size), size, onProgress))
      .then(
        () => null,
        (fault: unknown) => fault,
      )
    if (failure instanceof RestoreRefused || failure instanceof FramesFault) throw failure
    const now = await log.lastSequence()
    failures = now > storedTo ? 0 : failures + 1
    if (failure !== null && failures > auditLimits.restoreFailuresMax) throw failure
    if (now > size)
      throw new RestoreRefused(`somebody else writes to the log: it holds ${now} frames, and the archive ${size}`)
    storedTo = now
  }
  return size - begun
}
