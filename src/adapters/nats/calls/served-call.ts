import { GatewayError } from '../../../errors/gateway-error.ts'
import { type AnswerPart, cancelAtOnce, type Dispatch } from '../../../roles/dispatch.ts'
import { OpenCalls } from '../../../roles/open-calls.ts'
import { streamInterrupted } from '../../../roles/proxy/failure.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { decodeCall, encodeFault, encodeHead } from './contents.ts'
import { Inflow, Outflow } from './flow.ts'
import type { CallLink, LinkedCall } from './link.ts'
import { decodeCredit, isCancelReason, noBytes, type Opening, type Packet, type PacketKind } from './message.ts'

export interface ServedCallParts {
  readonly dispatch: Dispatch
  readonly clock: Clock
  readonly logger: Logger
  /** Called once, when the call was served, or was given up before it was complete. */
  readonly onEnd: (call: ServedCall) => void
}

const ourFault = (): GatewayError => new GatewayError('internal_error', 'The gateway failed.')

export class ServedCall implements LinkedCall {
  readonly #parts: ServedCallParts
  readonly #link: CallLink
  readonly #number: number
  readonly #totalBytes: number
  readonly #clientGone = new AbortController()
  readonly #openCalls = new OpenCalls()
  readonly #inflow: Inflow
  readonly #outflow: Outflow
  #pieces: Uint8Array[] = []
  #receivedBytes = 0
  #isServing = false
  #requestId = ''

  constructor(parts: ServedCallParts, link: CallLink, { call, creditBytes, totalBytes }: Opening) {
    this.#parts = parts
    this.#link = link
    this.#number = call
    this.#totalBytes = totalBytes
    this.#inflow = new Inflow(link, call)
    this.#outflow = new Outflow(link, call, 'bytes', creditBytes)
  }

  receive({ kind, payload }: Packet): void {
    if (kind === 'credit') this.#outflow.grant(decodeCredit(payload))
    else if (kind === 'piece') this.addPiece(payload)
    else if (kind === 'cancel') this.#cancel(payload)
  }

  connectionLost(): void {
    this.#cancel(noBytes)
  }

  /** Stops waiting for its reader. The edge of an incomplete call is notified when the link ends. */
  giveUp(): void {
    if (this.#isServing) this.#outflow.stopWaitingForCredit()
    else this.#end()
  }

  addPiece(piece: Uint8Array): void {
    if (this.#isServing) return
    this.#pieces.push(piece)
    this.#receivedBytes += piece.length
    if (this.#receivedBytes < this.#totalBytes) this.#inflow.consume(piece)
    else void this.#serve()
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    try {
      for await (const part of this.#answer()) {
        const sending = this.#send(part)
        if (sending !== null) await sending
        if (this.#clientGone.signal.aborted || this.#outflow.isTruncated) break
      }
      if (this.#outflow.isTruncated) throw streamInterrupted('shutdown', true)
      this.#write('end', noBytes)
    } catch (fault) {
      this.#write('fault', encodeFault(this.#toGatewayError(fault)))
    }
    this.#end()
  }

  #answer(): AsyncIterable<AnswerPart> {
    const { dispatch, clock } = this.#parts
    const [first = noBytes, ...more] = this.#pieces
    this.#pieces = []
    const call = decodeCall(more.length === 0 ? first : Buffer.concat([first, ...more]), clock())
    this.#requestId = call.requestId
    return dispatch(call, this.#clientGone.signal, this.#openCalls)
  }

  #send(part: AnswerPart): Promise<void> | null {
    if (part.type === 'bytes') return this.#outflow.send(part.bytes)
    this.#write('head', encodeHead(part))
    return null
  }

  /** The edge of a cancelled call receives only its end. */
  #write(kind: PacketKind, payload: Uint8Array): void {
    this.#link.write({ call: this.#number, kind, payload })
  }

  #toGatewayError(fault: unknown): GatewayError {
    if (fault instanceof GatewayError) return fault
    this.#parts.logger.log('dispatch.call_failed', { fault, requestId: this.#requestId })
    return ourFault()
  }

  /** On shutdown the reader is still present and receives how the call ended. */
  #cancel(reason: Uint8Array): void {
    if (!this.#isServing) this.#end()
    else if (isCancelReason(reason, 'shutdown')) this.#openCalls.shutDown()
    else {
      this.#clientGone.abort(isCancelReason(reason, 'cancelAtOnce') ? cancelAtOnce : undefined)
      this.#outflow.stop()
    }
  }

  #end(): void {
    this.#isServing = true
    this.#pieces = []
    this.#link.calls.delete(this.#number)
    this.#parts.onEnd(this)
  }
}
