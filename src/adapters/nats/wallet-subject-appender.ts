import {
  type JetStreamManager,
  type LastForMsgRequest,
  PubHeaders,
  type SeqMsgRequest,
  type StoredMsg,
} from '@nats-io/jetstream'
import { frameIdText } from '../../events/codec.ts'
import type { Appended } from '../../log/event-log.ts'
import type { FrameStore } from './frame-store.ts'
import type { Link } from './link.ts'
import type { EncodedEvents, PendingFrame, PendingFrames } from './pending-frames.ts'

type WalletAppended = Appended | { readonly conflict: true; readonly sequence: number }

interface WalletSubjectAppenderParts {
  /**
   * Not the journal's writer: a frame that meets a conflict uses up its counter, and the journal's counters are dense.
   * Gaps do no harm here: the expected sequence, or the ids within a frame, prevent a double effect.
   */
  readonly writer: string
  readonly jsm: JetStreamManager
  readonly stream: string
  readonly link: Link
  readonly store: FrameStore
  readonly pending: PendingFrames
}

interface SubjectState {
  /** Null when our frame is not stored. */
  readonly ownSequence: number | null
  readonly last: number
}

type Query = (SeqMsgRequest & { readonly next_by_subj: string }) | LastForMsgRequest

export class WalletSubjectAppender {
  readonly #parts: WalletSubjectAppenderParts
  #counter = 0

  constructor(parts: WalletSubjectAppenderParts) {
    this.#parts = parts
  }

  append(subject: string, facts: EncodedEvents, expectedSequence: number): Promise<WalletAppended> {
    return this.#withFrame(facts, (frame) => this.#appendExpecting(subject, frame, expectedSequence))
  }

  post(subject: string, facts: EncodedEvents): Promise<Appended> {
    return this.#withFrame(facts, (frame) => this.#parts.store.store(frame, { subject }))
  }

  async #withFrame<T>(facts: EncodedEvents, work: (frame: PendingFrame) => Promise<T>): Promise<T> {
    const { pending, writer } = this.#parts
    pending.admit(facts.lines.length)
    this.#counter += 1
    const frame = pending.open({ writer, counter: this.#counter })
    frame.add(facts)
    try {
      return await work(frame)
    } finally {
      pending.remove(frame)
    }
  }

  async #appendExpecting(subject: string, frame: PendingFrame, expectedSequence: number): Promise<WalletAppended> {
    for (let attempt = 0; ; attempt += 1) {
      const { outcome, ...result } = await this.#parts.store.send(frame, { subject, expectedSequence })
      if ('sequence' in result) return { sequence: result.sequence }
      // A frame may be refused because it was stored and its acknowledgement was lost: only the log shows that.
      const { ownSequence, last } = await this.#readSubject(subject, frame, expectedSequence)
      if (ownSequence !== null) return { sequence: ownSequence }
      if (last > expectedSequence) return { conflict: true, sequence: last }
      if (outcome === 'refused') await this.#assertLast(subject, expectedSequence)
      await this.#parts.link.backOff(attempt)
    }
  }

  async #readSubject(subject: string, frame: PendingFrame, expectedSequence: number): Promise<SubjectState> {
    const id = frameIdText(frame.id)
    let last = expectedSequence
    for (;;) {
      const message = await this.#read({ seq: last + 1, next_by_subj: subject })
      if (message === null) return { ownSequence: null, last }
      last = message.seq
      if (message.header.get(PubHeaders.MsgIdHdr) === id) return { ownSequence: last, last }
    }
  }

  /** Without this check a caller that folded another log, or this one before it lost its end, is refused for ever. */
  async #assertLast(subject: string, expectedSequence: number): Promise<void> {
    const last = (await this.#read({ last_by_subj: subject }))?.seq ?? 0
    if (last < expectedSequence) throw new Error(`${subject} ends at sequence ${last}, before ${expectedSequence}`)
  }

  /** From the stream's leader, since the stream has no direct get: a replica could be behind. */
  async #read(query: Query): Promise<StoredMsg | null> {
    const { jsm, link, stream } = this.#parts
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await link.runWhileUp(() => jsm.streams.getMessage(stream, query))
      } catch {
        // The store reports the failure; the read is retried until the log is back or closed.
        await link.backOff(attempt)
      }
    }
  }
}
