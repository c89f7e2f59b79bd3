import { GrowingTree, hashLeaf } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier, type Signer, type Verifier } from '../../src/audit/note.ts'
import { readSeal, SealBuilder, type SnapshotHead, signSeal } from '../../src/audit/seal.ts'
import { applyFrame, initialLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { encodeLedger, snapshotFormat } from '../../src/domain/ledger/snapshot.ts'
import { encodeFrame, frameIdText } from '../../src/events/codec.ts'
import { type Fact, wrapEvent } from '../../src/events/envelope.ts'
import type { CheckpointSealed } from '../../src/events/types.ts'
import { type FrameSource, FramesFault, type RawFrame } from '../../src/log/raw-frames.ts'
import { frameFromRaw } from '../../src/log/source-log.ts'
import {
  adjusted,
  credited,
  failed,
  holdPlaced,
  holdReleased,
  opened,
  routed,
  used,
  workspaceId,
} from '../roles/projector/facts.ts'

export type Random = () => number

export const signer: Signer = createSigner('example.com/log', Buffer.alloc(32, 7))
export const verifier: Verifier = deriveVerifier(signer)
export const stranger: Signer = createSigner('example.com/log', Buffer.alloc(32, 8))

/** Frames in memory. A sequence that none has is missing. */
export class MemorySource implements FrameSource {
  readonly frames: readonly RawFrame[]
  readonly #framesAtOnce: number

  constructor(frames: readonly RawFrame[], framesAtOnce = 7) {
    this.frames = frames
    this.#framesAtOnce = framesAtOnce
  }

  async lastSequence(): Promise<number> {
    return this.frames.at(-1)?.sequence ?? 0
  }

  async *read(from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    const asked = this.frames.filter(({ sequence }) => sequence >= from && sequence <= to)
    let next = from
    for (let place = 0; place < asked.length; place += this.#framesAtOnce) {
      const given: RawFrame[] = []
      for (const frame of asked.slice(place, place + this.#framesAtOnce)) {
        if (frame.sequence !== next) {
          if (given.length > 0) yield given
          throw new FramesFault('missing', `sequence ${next} is missing`, next, frame.sequence)
        }
        given.push(frame)
        next += 1
      }
      yield given
    }
  }
}

export const renumbered = (frames: readonly RawFrame[]): readonly RawFrame[] =>
  frames.map((frame, place) => (frame.sequence === place + 1 ? frame : { ...frame, sequence: place + 1 }))

const pick = <T>(random: Random, choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!
const upTo = (random: Random, max: number): number => Math.floor(random() * (max + 1))

const storedFrom = Date.parse('2026-03-01T00:00:00.000Z')
const frameMs = 37

interface Writer {
  readonly id: string
  readonly subject: string
  counter: number
}

export interface SealedLogOptions {
  /** Frames besides those that hold checkpoints. */
  readonly frames: number
  readonly random: Random
  /** Events of a frame at most. */
  readonly eventsMax?: number
  /** Frames between two checkpoints at most. */
  readonly sealEveryMax?: number
  /** Frames at most that are stored between a checkpoint's making and its storing. */
  readonly lateMax?: number
  readonly sealers?: number
  /** Each checkpoint confirms a snapshot. */
  readonly snapshots?: boolean
  readonly signer?: Signer
  /** Signs the checkpoints after so many. */
  readonly successor?: { readonly signer: Signer; readonly after: number }
}

export interface StoredSnapshot {
  readonly head: SnapshotHead
  readonly bytes: Buffer
}

const snapshotOf = (ledger: Ledger): StoredSnapshot => {
  const lines = [...encodeLedger(ledger)]
  const tree = new GrowingTree()
  for (const line of lines) tree.append(hashLeaf(Buffer.from(line)))
  const head = { sha256: tree.root.toString('hex'), format: snapshotFormat, sequence: ledger.sequence }
  return { head, bytes: Buffer.from(`${lines.join('\n')}\n`) }
}

export interface SealedLog {
  readonly frames: readonly RawFrame[]
  /** Where the checkpoints stand, and what they say. */
  readonly seals: readonly { readonly sequence: number; readonly seal: CheckpointSealed }[]
  readonly snapshots: readonly StoredSnapshot[]
}

/** A log as the roles write it, and as sealers seal it. */
class LogMaking {
  readonly frames: RawFrame[] = []
  readonly seals: { sequence: number; seal: CheckpointSealed }[] = []
  readonly snapshots: StoredSnapshot[] = []
  readonly #ledger: Ledger | null
  readonly #random: Random
  readonly #signer: Signer
  readonly #successor: SealedLogOptions['successor']
  readonly #writers: readonly Writer[]
  readonly #sealer: Writer
  /** Requests that have no end yet. */
  readonly #routed: string[] = []
  readonly #sealings: readonly SealBuilder[]
  #events = 0

  constructor({ random, sealers = 1, signer: ours = signer, successor, snapshots = false }: SealedLogOptions) {
    this.#random = random
    this.#ledger = snapshots ? initialLedger() : null
    this.#signer = ours
    this.#successor = successor
    const writerOf = (subject: string): Writer => ({ id: this.#id('writer'), subject, counter: 0 })
    this.#sealer = writerOf('journal.scheduler')
    this.#writers = ['journal.edge', 'journal.edge', 'journal.proxy', 'journal.operator', `wallet.${workspaceId}`].map(
      writerOf,
    )
    this.#sealings = Array.from({ length: sealers }, () => new SealBuilder())
  }

  write(eventsMax: number): void {
    const writer = pick(this.#random, this.#writers)
    const facts = Array.from({ length: 1 + upTo(this.#random, eventsMax - 1) }, () => this.#fact(writer))
    this.#store(writer, facts)
  }

  /** A checkpoint of one of the sealers, stored after some late frames. */
  seal(late: number, eventsMax: number): void {
    const sealing = pick(this.#random, this.#sealings)
    if (sealing.unsealed === 0) return
    const snapshot = this.#ledger === null ? null : snapshotOf(this.#ledger)
    if (snapshot !== null) this.snapshots.push(snapshot)
    const { signer: next, after } = this.#successor ?? { signer: this.#signer, after: 0 }
    const seal = signSeal(sealing.next(), this.seals.length < after ? this.#signer : next, snapshot?.head)
    for (let each = 0; each < late; each += 1) this.write(eventsMax)
    this.#store(this.#sealer, [{ type: 'CheckpointSealed', data: seal }])
    this.seals.push({ sequence: this.frames.length, seal })
    for (const each of this.#sealings) each.advanceTo(readSeal(seal))
  }

  #id(prefix: string): string {
    this.#events += 1
    return `${prefix}-${Math.floor(this.#random() * 2 ** 40).toString(16)}-${this.#events}`
  }

  #fact({ subject }: Writer): Fact {
    if (subject.startsWith('wallet.'))
      return pick(this.#random, [credited, adjusted, holdPlaced, holdReleased])(this.#id('wallet'))
    if (subject === 'journal.operator') return opened(this.#id('workspace'))
    if (subject === 'journal.proxy') return pick(this.#random, [used, used, used, failed])(this.#takeRouted())
    const requestId = this.#id('request')
    this.#routed.push(requestId)
    return routed(requestId)
  }

  /** A request that was routed; now and then one of which that comes later, or never. */
  #takeRouted(): string {
    const isKnown = this.#routed.length > 0 && this.#random() < 0.95
    return isKnown ? this.#routed.splice(upTo(this.#random, this.#routed.length - 1), 1)[0]! : this.#id('request')
  }

  #store(writer: Writer, facts: readonly Fact[]): void {
    writer.counter += 1
    const storedMs = storedFrom + this.frames.length * frameMs
    const source = `/gateway/${writer.subject}/${writer.id}`
    const lines = facts.map((fact) =>
      JSON.stringify(wrapEvent(fact, this.#id('event'), source, new Date(storedMs).toISOString())),
    )
    const id = { writer: writer.id, counter: writer.counter }
    const frame: RawFrame = {
      sequence: this.frames.length + 1,
      subject: writer.subject,
      id: frameIdText(id),
      storedMs,
      data: Buffer.from(encodeFrame(id, lines)),
    }
    this.frames.push(frame)
    if (this.#ledger !== null) applyFrame(this.#ledger, frameFromRaw(frame))
    for (const sealing of this.#sealings) sealing.take(frame)
  }
}

/** A log of so many frames, and its checkpoints; all of it decided by `random`. */
export const sealedLog = (options: SealedLogOptions): SealedLog => {
  const { frames, random, eventsMax = 3, sealEveryMax = 12, lateMax = 2 } = options
  const making = new LogMaking(options)
  for (let written = 0; written < frames; ) {
    const before = making.frames.length - making.seals.length
    for (let each = upTo(random, sealEveryMax); each >= 0; each -= 1) making.write(eventsMax)
    making.seal(upTo(random, lateMax), eventsMax)
    written += making.frames.length - making.seals.length - before
  }
  return { frames: making.frames, seals: making.seals, snapshots: making.snapshots }
}
