import type { FrameSource, RawFrame } from '../log/raw-frames.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { holdsOnlyCheckpoints } from './verified-checkpoints.ts'

interface UnprovenCheck {
  readonly source: Pick<FrameSource, 'read'>
  readonly sealedTo: number
  readonly lastSequence: number
  /** By the clock that stored the frames; null for a source to which no checkpoint is added any more. */
  readonly nowMs: number | null
}

const msPerSecond = 1_000
const neverSealed =
  'no checkpoint with the signature of a known key seals any frame: the log was never sealed, or its checkpoints were removed'

/** A store time ahead of the clock does not excuse a frame. */
const isOverdue = ({ storedMs }: RawFrame, nowMs: number | null): boolean =>
  nowMs === null || Math.abs(nowMs - storedMs) > sharedLimits.verifyUnsealedMs

const findOverdue = async ({ source, sealedTo, lastSequence, nowMs }: UnprovenCheck): Promise<RawFrame | null> => {
  for await (const frames of source.read(sealedTo + 1, lastSequence))
    for (const frame of frames) if (isOverdue(frame, nowMs) && !holdsOnlyCheckpoints(frame)) return frame
  return null
}

const ageText = (ageMs: number): string => {
  const seconds = Math.round(Math.abs(ageMs) / msPerSecond)
  return ageMs < 0 ? `${seconds} s ahead of the server's clock` : `${seconds} s ago`
}

const overdueText = ({ sequence, storedMs }: RawFrame, nowMs: number | null): string => {
  const unsealed = `no checkpoint seals frame ${sequence}`
  if (nowMs === null) return unsealed
  const stored = `it was stored at ${new Date(storedMs).toISOString()}, ${ageText(nowMs - storedMs)}`
  return `${unsealed}; ${stored}, and while a scheduler runs none waits for ${sharedLimits.verifyUnsealedMs / msPerSecond} s`
}

export const findUnproven = async (log: UnprovenCheck): Promise<readonly string[]> => {
  if (log.sealedTo === 0) return [neverSealed]
  const overdue = await findOverdue(log)
  return overdue === null ? [] : [overdueText(overdue, log.nowMs)]
}
