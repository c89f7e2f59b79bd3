import type { Follower } from './event-log.ts'

export interface RawFrame {
  /** From 1, without a gap. */
  readonly sequence: number
  /** Without the log's own name (`wallet.acme`), so a log restored under another name has the same tree. */
  readonly subject: string
  /** `<writer>:<counter>`. */
  readonly id: string
  /** When the server stored it, milliseconds since the epoch. Not sealed: a restored log has its own. */
  readonly storedMs: number
  readonly data: Uint8Array
}

export interface FrameSource {
  /** The sequence of the last frame, 0 if there is none. */
  lastSequence(): Promise<number>
  /** Both ends included; in order, in batches. Throws FramesFault if some are missing or cannot be read. */
  read(from: number, to: number): AsyncIterable<readonly RawFrame[]>
}

/** Frames that a source should have and cannot return; others can still be read. */
export class FramesFault extends Error {
  override readonly name = 'FramesFault'
  /** `missing`: the log has others around them. `damaged`: what holds them cannot be read. */
  readonly reason: 'missing' | 'damaged'
  /** The sequence of the first missing frame, and the one from which reading can continue. */
  readonly from: number
  readonly resumesAt: number

  constructor(reason: FramesFault['reason'], message: string, from: number, resumesAt: number) {
    super(message)
    this.reason = reason
    this.from = from
    this.resumesAt = resumesAt
  }
}

/** Null where the log, which ends at `last`, has no such frame; reading on from its end would wait for the next. */
export const readFrameAt = async (
  frames: Pick<FrameSource, 'read'>,
  sequence: number,
  last: number,
): Promise<RawFrame | null> => {
  if (sequence < 1 || sequence > last) return null
  for await (const [frame] of frames.read(sequence, sequence)) if (frame !== undefined) return frame
  return null
}

export interface RawFrames extends FrameSource {
  /** Like `follow` of the event log, with frames that are not decoded. */
  followRaw(fromSequence: number, onFrame: (frame: RawFrame) => void | Promise<void>): Follower
}
