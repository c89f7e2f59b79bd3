import { createHash } from 'node:crypto'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { Clock } from '../../../runtime/clock.ts'
import { natsLimits } from '../limits.ts'
import type { QueueNames } from '../streams.ts'
import type { QueueStore } from './store.ts'

const idPattern = /^[A-Za-z0-9_-]{1,64}$/

/** An id is one token of a subject. */
const assertId = (id: string): void => {
  if (!idPattern.test(id)) throw new Error(`${JSON.stringify(id)} cannot be the id of an item: ${idPattern}`)
}

const piecesHeader = 'Gateway-Pieces'
const sha256Header = 'Gateway-Sha256'

/** An item's contents are in its own message, or in pieces whose joint SHA-256 is in that message. */
export interface ItemLocation {
  readonly id: string
  readonly sequence: number
  readonly pieces: number
  readonly sha256: string
}

export const parseItemLocation = (id: string, sequence: number, headers: MsgHdrs | undefined): ItemLocation => ({
  id,
  sequence,
  pieces: Number(headers?.get(piecesHeader) || 0),
  sha256: headers?.get(sha256Header) ?? '',
})

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const splitIntoPieces = (bytes: Uint8Array): readonly Uint8Array[] => {
  const size = natsLimits.queuePieceBytesMax
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))
}

export class QueueContents {
  readonly #queue: QueueNames
  readonly #store: QueueStore
  readonly #clock: Clock
  readonly #isPutOnce: boolean

  constructor(queue: QueueNames, store: QueueStore, clock: Clock, isPutOnce: boolean) {
    this.#queue = queue
    this.#store = store
    this.#clock = clock
    this.#isPutOnce = isPutOnce
  }

  /** Large contents are put in pieces before the item, so that its consumer finds them all. */
  async put(id: string, bytes: Uint8Array): Promise<void> {
    assertId(id)
    const subject = `${this.#queue.itemPrefix}${id}`
    const item = { subject, ...(this.#isPutOnce ? { messageId: subject } : {}) }
    if (bytes.length <= natsLimits.queuePieceBytesMax) return this.#store.put({ ...item, bytes })
    const pieces = splitIntoPieces(bytes)
    if (pieces.length > natsLimits.queuePiecesMax)
      throw new Error(`${bytes.length} bytes are too many for a work queue`)
    for (const [n, piece] of pieces.entries())
      await this.#store.put({ subject: this.#pieceSubject(id, n), bytes: piece })
    const headers = { [piecesHeader]: String(pieces.length), [sha256Header]: sha256Of(bytes) }
    await this.#store.put({ ...item, bytes: new Uint8Array(), headers })
  }

  /** Null when it is gone or its SHA-256 differs. Rejects with `log_unavailable`. */
  async read({ id, sequence, pieces, sha256 }: ItemLocation): Promise<Uint8Array | null> {
    if (pieces === 0) return (await this.#store.find({ seq: sequence }))?.data ?? null
    const found: Uint8Array[] = []
    for (let n = 0; n < Math.min(pieces, natsLimits.queuePiecesMax); n += 1) {
      const piece = await this.#store.find({ last_by_subj: this.#pieceSubject(id, n) })
      if (piece === null) return null
      found.push(piece.data)
    }
    const bytes = Buffer.concat(found)
    return sha256Of(bytes) === sha256 ? bytes : null
  }

  /** Removes an item with its pieces. Rejects with `log_unavailable`. */
  async withdraw(id: string): Promise<void> {
    assertId(id)
    await this.#store.remove(`${this.#queue.itemPrefix}${id}`)
    await this.#removePieces(id)
  }

  async remove({ id, pieces }: ItemLocation): Promise<void> {
    if (pieces > 0) await this.#removePieces(id)
  }

  /** Removes pieces whose item was never put, or was done by a process that ended before removing them. */
  async sweep(): Promise<void> {
    const { piecePrefix } = this.#queue
    const subjects = await this.#store.subjects(`${piecePrefix}>`)
    const byId = new Map(subjects.map((subject) => [subject.slice(piecePrefix.length).split('.')[0]!, subject]))
    for (const [id, subject] of byId) if (await this.#isOrphan(id, subject)) await this.#removePieces(id)
  }

  #removePieces(id: string): Promise<void> {
    return this.#store.remove(`${this.#queue.piecePrefix}${id}.*`)
  }

  async #isOrphan(id: string, pieceSubject: string): Promise<boolean> {
    const piece = await this.#store.find({ last_by_subj: pieceSubject })
    if (piece === null || this.#clock() - piece.time.getTime() < natsLimits.queueOrphanMs) return false
    return (await this.#store.find({ last_by_subj: `${this.#queue.itemPrefix}${id}` })) === null
  }

  #pieceSubject(id: string, n: number): string {
    return `${this.#queue.piecePrefix}${id}.${n}`
  }
}
