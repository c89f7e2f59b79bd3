import type { Follower } from '../log/event-log.ts'
import { type Hash, hashLeaf } from './merkle.ts'

/** A frame as it is stored, byte for byte. */
export interface RawFrame {
  /** From 1, without a gap. */
  readonly sequence: number
  /** Without the log's own name: `journal.edge`, `wallet.acme`; so a log restored under another name has the same tree. */
  readonly subject: string
  /** `<writer>:<counter>`. */
  readonly id: string
  /** When it was stored, in milliseconds since the epoch, as its server told. Not sealed: a restored log has its own. */
  readonly storedMs: number
  readonly data: Uint8Array
}

/** Where frames can be read again: the live log, or an archive of it. */
export interface FrameSource {
  /** The sequence of the last frame, 0 when there is none. */
  lastSequence(): Promise<number>
  /**
   * The frames of the sequences `from` to `to`, both included, in order, some at a time. Throws a FramesFault where some are missing or
   * cannot be read.
   */
  read(from: number, to: number): AsyncIterable<readonly RawFrame[]>
}

/** Frames that a source should have and cannot give; others can still be asked for. */
export class FramesFault extends Error {
  override readonly name = 'FramesFault'
  /** `missing`: the log has others around them. `damaged`: what holds them cannot be read. */
  readonly reason: 'missing' | 'damaged'
  /** The sequence of the first that is not given, and the one from which on frames can be asked for again. */
  readonly from: number
  readonly resumesAt: number

  constructor(reason: FramesFault['reason'], message: string, from: number, resumesAt: number) {
    super(message)
    this.reason = reason
    this.from = from
    this.resumesAt = resumesAt
  }
}

/** The live log, as it is stored. */
export interface RawFrames extends FrameSource {
  /** Like `follow` of the event log, with frames that nobody has looked into. */
  followRaw(fromSequence: number, onFrame: (frame: RawFrame) => void | Promise<void>): Follower
}

const lineFeed = Buffer.from('\n')

/** The leaf of a frame in the log's tree; its place there is its sequence less one. */
export const hashFrame = ({ subject, data }: Pick<RawFrame, 'subject' | 'data'>): Hash =>
  hashLeaf(Buffer.from(subject), lineFeed, data)
