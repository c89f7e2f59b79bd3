import { asObject, type JsonObject, parseExactJson, parseJson } from '../../../../encoding/json.ts'
import type { GatewayError } from '../../../../errors/gateway-error.ts'
import { errorBody } from '../../../../http/errors.ts'
import { SseEventTooLarge, SseSplitter } from '../../../../providers/dialect/sse.ts'
import { sseEvent } from '../../../../providers/dialect/sse-event.ts'
import { bareResponse } from '../../../../providers/openai-responses/response.ts'
import { keepAliveComment, type StreamFormat } from '../inference/send-answer.ts'
import { surfaceLimits } from '../limits.ts'

/** In both forms that clients read: flat, and under `error`. `sequence` is its number in the stream, from 0. */
export const responsesErrorEvent = (failure: GatewayError, sequence: number): string => {
  const { error } = errorBody(failure)
  const { code, message, param } = error
  return sseEvent({ type: 'error', sequence_number: sequence, code, message, param, error })
}

/** Agents read the reason from it, and how long to wait. `begun`: the response as it began. */
const failedResponseEvent = (failure: GatewayError, begun: JsonObject, sequence: number): string => {
  const error = { code: failure.code, message: failure.message }
  const response = { ...begun, error, ...failure.failedResponse, status: 'failed' }
  return sseEvent({ type: 'response.failed', sequence_number: sequence, response })
}

/** The member as written in an event; within a text its quotes are escaped. */
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

const identityMembers = ['id', 'created_at', 'model']

/** Of a response of which only the begin is kept: the tools in it have members of these names too. */
const identityIn = (begin: string): JsonObject => {
  const [text = ''] = begin.split('"tools":', 1)
  return Object.fromEntries(
    identityMembers.flatMap((name) => {
      const [, value] = new RegExp(`"${name}":\\s*("(?:[^"\\\\]|\\\\.){0,256}"|\\d{1,15})\\s*,`).exec(text) ?? []
      return value === undefined ? [] : [[name, parseJson(value)]]
    }),
  )
}

interface UnseenResponse {
  readonly requestId: string
  readonly model: string
  readonly createdSeconds: number
}

/** Events of the responses surface are numbered, those of the gateway too. */
export class ResponsesStreamFormat implements StreamFormat {
  readonly keepAlive = keepAliveComment
  readonly #unseen: UnseenResponse
  /** Null once the first event has come. */
  #opening: SseSplitter | null = new SseSplitter(surfaceLimits.begunResponseBytesMax)
  /** The data of the first event: the response as it began. Parsed on demand. Its identity alone where it is too large. */
  #begun = ''
  #last = -1
  /** A piece with a whole number, parsed on demand: errors are rare, and pieces many. */
  #unread: Buffer | null = null
  /** The end of the previous piece. */
  #tail: Buffer = Buffer.alloc(0)

  constructor(unseen: UnseenResponse) {
    this.#unseen = unseen
  }

  observe(piece: Uint8Array): void {
    if (this.#opening !== null) this.#readOpening(this.#opening, piece)
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
    const number = this.#last + 1
    const begun = asObject(asObject(parseExactJson(this.#begun))['response'])
    const failed = failedResponseEvent(error, { ...bareResponse(this.#unseen), ...begun }, number + 1)
    return Buffer.from(responsesErrorEvent(error, number) + failed)
  }

  #readOpening(opening: SseSplitter, piece: Uint8Array): void {
    try {
      const first = opening.push(piece).find(({ data }) => data !== null)
      if (first === undefined) return
      this.#begun = first.data ?? ''
    } catch (fault) {
      if (!(fault instanceof SseEventTooLarge)) throw fault
      this.#begun = JSON.stringify({ response: identityIn(Buffer.concat(fault.begin).toString()) })
    }
    this.#opening = null
  }

  #read(): void {
    if (this.#unread === null) return
    this.#last = lastNumberIn(this.#unread) ?? this.#last
    this.#tail = Buffer.from(this.#unread.subarray(-reachBytes))
    this.#unread = null
  }
}
