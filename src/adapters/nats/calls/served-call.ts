import { GatewayError } from '../../../errors/gateway-error.ts'
import { cancelAtOnce, type Dispatch } from '../../../roles/dispatch.ts'
import { OpenCalls } from '../../../roles/open-calls.ts'
import { streamInterrupted } from '../../../roles/proxy/failure.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { decodeCall, encodeFault, encodeHead } from './contents.ts'
import { Inflow, Outflow } from './flow.ts'
import type { CallLink, LinkedCall } from './link.ts'
import { decodeCredit, isCancelReason, noBytes, type Opening, type Packet, type PacketKind } from './message.ts'

interface ServedCallParts {
  readonly dispatch: Dispatch
  readonly clock: Clock
  readonly logger: Logger
  /** Called once, when the call was served, or was given up before it was complete. */
  readonly onEnd: (call: ServedCall) => void
}

class CallPieces {
  readonly #totalBytes: number
  #pieces: Uint8Array[] = []
  #receivedBytes = 0

  constructor(totalBytes: number) {
    this.#totalBytes = totalBytes
  }

  /** True when the call is complete. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece)
    this.#receivedBytes += piece.length
    return this.#receivedBytes >= this.#totalBytes
  }

  take(): Uint8Array {
    const [first = noBytes, ...more] = this.#pieces
    this.#pieces = []
    return more.length === 0 ? first : Buffer.concat([first, ...more])
  }
}

export class ServedCall implements LinkedCall {
  readonly #parts: ServedCallParts
  readonly #link: CallLink
  readonly #number: number
  readonly #clientGone = new AbortController()
  readonly #openCalls = new OpenCalls()
  readonly #pieces: CallPieces
  readonly #inflow: Inflow
  readonly #outflow: Outflow
  #isServing = false
  /** The edge reads the answer on after its client has left. */
  #isCaptured = false

  constructor(parts: ServedCallParts, link: CallLink, { call, creditBytes, totalBytes }: Opening) {
    this.#parts = parts
    this.#link = link
    this.#number = call
    this.#pieces = new CallPieces(totalBytes)
    this.#inflow = new Inflow(link, call)
    this.#outflow = new Outflow(link, call, 'bytes', creditBytes)
  }

  receive({ kind, payload }: Packet): void {
    if (kind === 'credit') this.#outflow.grant(decodeCredit(payload))
    else if (kind === 'piece') this.addPiece(payload)
    else if (kind === 'cancel') this.#cancel(payload)
  }

  connectionLost(): void {
    this.#isCaptured = false
    this.#cancel(noBytes)
  }

  /** Stops waiting for its reader. The edge of an incomplete call is notified when the link ends. */
  giveUp(): void {
    if (this.#isServing) this.#outflow.stopWaitingForCredit()
    else this.#end()
  }

  addPiece(piece: Uint8Array): void {
    if (this.#isServing) return
    if (this.#pieces.add(piece)) void this.#serve()
    else this.#inflow.consume(piece)
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    const { dispatch, clock, logger } = this.#parts
    let requestId = ''
    try {
      const decoded = decodeCall(this.#pieces.take(), clock())
      const call = decoded instanceof Promise ? await decoded : decoded
      requestId = call.requestId
      this.#isCaptured = call.capturedBytesMax !== undefined
      for await (const part of dispatch(call, this.#clientGone.signal, this.#openCalls)) {
        if (part.type === 'head') this.#write('head', encodeHead(part))
        else {
          const sending = this.#outflow.send(part.bytes)
          if (sending !== null) await sending
        }
        if ((this.#clientGone.signal.aborted && !this.#isCaptured) || this.#outflow.isTruncated) break
      }
      if (this.#outflow.isTruncated) throw streamInterrupted('shutdown', true)
      this.#write('end', noBytes)
    } catch (fault) {
      if (!(fault instanceof GatewayError)) logger.log('dispatch.call_failed', { fault, requestId })
      const error = fault instanceof GatewayError ? fault : new GatewayError('internal_error', 'The gateway failed.')
      this.#write('fault', encodeFault(error))
    }
    this.#end()
  }

  #write(kind: PacketKind, payload: Uint8Array): void {
    this.#link.write({ call: this.#number, kind, payload })
  }

  /** On shutdown the edge still reads, and so it does where it captures the answer, until it cancels again. */
  #cancel(reason: Uint8Array): void {
    if (!this.#isServing) this.#end()
    else if (isCancelReason(reason, 'shutdown')) this.#openCalls.shutDown()
    else {
      this.#isCaptured &&= !this.#clientGone.signal.aborted
      this.#clientGone.abort(isCancelReason(reason, 'cancelAtOnce') ? cancelAtOnce : undefined)
      if (!this.#isCaptured) this.#outflow.stop()
    }
  }

  #end(): void {
    this.#isServing = true
    this.#pieces.take()
    this.#link.calls.delete(this.#number)
    this.#parts.onEnd(this)
  }
}
