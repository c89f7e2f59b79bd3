import { natsLimits } from '../limits.ts'
import type { CallLink } from './link.ts'
import { encodeCredit, type PacketKind } from './message.ts'

const costOf = (piece: Uint8Array): number => piece.length + natsLimits.callsPieceOverheadBytes

/** One direction of a call, sent in pieces, exceeding what its reader has granted by less than one piece. */
export class Outflow {
  readonly #link: CallLink
  readonly #call: number
  readonly #kind: PacketKind
  #creditBytes: number
  #isStopped = false
  #skipsWaiting = false
  #isAborted = false
  #wake: (() => void) | null = null

  constructor(link: CallLink, call: number, kind: PacketKind, creditBytes: number) {
    this.#link = link
    this.#call = call
    this.#kind = kind
    this.#creditBytes = creditBytes
  }

  get isTruncated(): boolean {
    return this.#isAborted
  }

  /** Null when all was sent at once; else resolves when it was sent or the flow was stopped. One at a time. */
  send(bytes: Uint8Array): Promise<void> | null {
    const rest = this.#sendGranted(bytes)
    return rest === null ? null : this.#sendRest(rest)
  }

  grant(bytes: number): void {
    this.#creditBytes += bytes
    if (this.#creditBytes > 0) this.#resume()
  }

  stop(): void {
    this.#isStopped = true
    this.#resume()
  }

  stopWaitingForCredit(): void {
    this.#skipsWaiting = true
    this.#resume()
  }

  /** Returns what there was no credit for; null when nothing is left to send. */
  #sendGranted(bytes: Uint8Array): Uint8Array | null {
    let offset = 0
    do {
      if (this.#creditBytes <= 0 && this.#skipsWaiting) this.#truncate()
      if (this.#isStopped) return null
      if (this.#creditBytes <= 0) return bytes.subarray(offset)
      const piece = bytes.subarray(offset, offset + natsLimits.callsPieceBytesMax)
      this.#link.write({ call: this.#call, kind: this.#kind, payload: piece })
      this.#creditBytes -= costOf(piece)
      offset += piece.length
    } while (offset < bytes.length)
    return null
  }

  #truncate(): void {
    this.#isAborted ||= !this.#isStopped
    this.#isStopped = true
  }

  async #sendRest(rest: Uint8Array): Promise<void> {
    for (let left: Uint8Array | null = rest; left !== null; left = this.#sendGranted(left)) await this.#waitForCredit()
  }

  #waitForCredit(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #resume(): void {
    this.#wake?.()
    this.#wake = null
  }
}

/** Grants the sender what its reader has consumed, half a window at a time. */
export class Inflow {
  readonly #link: CallLink
  readonly #call: number
  #consumedBytes = 0

  constructor(link: CallLink, call: number) {
    this.#link = link
    this.#call = call
  }

  consume(piece: Uint8Array): void {
    this.#consumedBytes += costOf(piece)
    if (this.#consumedBytes < natsLimits.callsWindowBytes / 2) return
    this.#link.write({ call: this.#call, kind: 'credit', payload: encodeCredit(this.#consumedBytes) })
    this.#consumedBytes = 0
  }
}
