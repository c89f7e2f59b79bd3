import { type FrameSource, FramesFault, type RawFrame } from '../log/raw-frames.ts'
import { auditLimits } from './limits.ts'
import { hashFrame } from './merkle.ts'

export interface FrameWriter {
  /** Rejects once each frame sent is acknowledged or given up. Only RestoreRefused and FramesFault are final. */
  store(frames: AsyncIterable<readonly RawFrame[]>): Promise<void>
}

export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
}

interface RestoreParts {
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
const assertPrefix = async ({ archive, log }: RestoreParts, logSize: number, size: number): Promise<void> => {
  if (logSize > size)
    throw new RestoreRefused(
      `the log holds ${logSize} frames, more than the archive's ${size}: it cannot be restored into`,
    )
  const difference = await firstDifference(archive, log, logSize)
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

/** An interrupted restore continues. Rejects with RestoreRefused if the log holds anything else. */
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
      throw new RestoreRefused(`another process writes to the log: it holds ${now} frames, and the archive ${size}`)
    storedTo = now
  }
  return size - begun
}
