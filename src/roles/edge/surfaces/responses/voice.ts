import type { GatewayError } from '../../../../errors.ts'
import { keepAliveComment, type Voice } from '../voice.ts'
import { responsesErrorEvent } from './error-event.ts'

/** The member as it stands in an event; within a text its quotes are escaped. */
const member = '"sequence_number":'
const numberPattern = /^\s*(\d{1,15})/
/** The member and its number, which may be cut between two pieces. */
const reachBytes = member.length + 16

const lastNumberIn = (bytes: Buffer): number | null => {
  const at = bytes.lastIndexOf(member)
  if (at < 0) return null
  const [, digits] = numberPattern.exec(bytes.toString('latin1', at + member.length, at + reachBytes)) ?? []
  return digits === undefined ? null : Number(digits)
}

/** What the responses surface says within a stream: its events are numbered, ours too. */
export class ResponsesVoice implements Voice {
  readonly keepAlive = keepAliveComment
  #last = -1
  /** Holds a number whole, to be read when it is asked for: errors are rare, and pieces many. */
  #unread: Buffer | null = null
  /** The end of what was heard before. */
  #tail: Buffer = Buffer.alloc(0)

  hear(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const at = bytes.lastIndexOf(member)
    if (at >= 0 && at + reachBytes <= bytes.length) {
      this.#unread = bytes
      return
    }
    this.#read()
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, reachBytes)])
    this.#last = lastNumberIn(bytes) ?? lastNumberIn(seam) ?? this.#last
    this.#tail = Buffer.from((bytes.length < reachBytes ? seam : bytes).subarray(-reachBytes))
  }

  errorEvent(error: GatewayError): Uint8Array {
    this.#read()
    return Buffer.from(responsesErrorEvent(error, this.#last + 1))
  }

  #read(): void {
    if (this.#unread === null) return
    this.#last = lastNumberIn(this.#unread) ?? this.#last
    this.#tail = Buffer.from(this.#unread.subarray(-reachBytes))
    this.#unread = null
  }
}
