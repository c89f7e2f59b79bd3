import { isObject } from '../encoding/json.ts'
import { decodeFrame } from '../events/codec.ts'
import type { StoredEvent } from '../events/upcast.ts'
import type { FrameSource, RawFrame } from '../log/raw-frames.ts'
import type { Verifier } from './note.ts'
import { readCheckpoints, type VerifiedSeal, verifyCheckpoint } from './verified-checkpoints.ts'

export interface FoundEvent {
  readonly frame: RawFrame
  readonly event: StoredEvent
  readonly indexInFrame: number
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const endings = ['UsageRecorded', 'TaskSettled', 'RequestFailed', 'HoldReleased', 'LateVerdictSeen']
/** The event itself, or a charge: no later frame has a better one. */
const rankOfCharge = 2

const matchesId = ({ id, data }: StoredEvent, asked: string): boolean => {
  if (id === asked || !isObject(data)) return id === asked
  return data['requestId'] === asked || data['taskId'] === asked || data['holdId'] === asked
}

const rankOf = ({ id, type }: StoredEvent, asked: string): number => {
  if (id === asked) return 0
  const rank = endings.indexOf(type)
  return rank < 0 ? endings.length + 1 : rank + 1
}

const eventsIn = (frame: RawFrame, asked: string): readonly FoundEvent[] =>
  decodeFrame(utf8.decode(frame.data)).events.flatMap((event, indexInFrame) =>
    matchesId(event, asked) ? [{ frame, event, indexInFrame }] : [],
  )

/** By its own id, or as the end of the request or task with that id, preferring the charge. Skips unreadable frames. */
export const findEvent = async (
  read: AsyncIterable<readonly RawFrame[]>,
  asked: string,
): Promise<FoundEvent | null> => {
  const mark = Buffer.from(JSON.stringify(asked))
  let best: FoundEvent | null = null
  for await (const frames of read)
    for (const frame of frames) {
      if (Buffer.from(frame.data.buffer, frame.data.byteOffset, frame.data.length).indexOf(mark) < 0) continue
      for (const found of eventsIn(frame, asked))
        if (best === null || rankOf(found.event, asked) < rankOf(best.event, asked)) best = found
      if (best !== null && rankOf(best.event, asked) <= rankOfCharge) return best
    }
  return best
}

const readVerifiedSeals = (frame: RawFrame, verifiers: readonly Verifier[]): readonly VerifiedSeal[] => {
  try {
    return readCheckpoints(frame).map((checkpoint) => verifyCheckpoint(checkpoint, verifiers))
  } catch {
    return [] // `verify` reports it; another checkpoint seals as much.
  }
}

/** The first verified checkpoint in the frames `from` to `to` that lists the leaf of a sequence; null if none does. */
export const findSeal = async (
  source: Pick<FrameSource, 'read'>,
  sequence: number,
  verifiers: readonly Verifier[],
  from: number,
  to: number,
): Promise<VerifiedSeal | null> => {
  for await (const frames of source.read(from, to))
    for (const frame of frames)
      for (const seal of readVerifiedSeals(frame, verifiers))
        if (seal.from < sequence && sequence <= seal.size) return seal
  return null
}
