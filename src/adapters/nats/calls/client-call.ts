import { clientGoneError, GatewayError } from '../../../errors/gateway-error.ts'
import { type AnswerPart, cancelAtOnce, DispatchLost, type RoutedRequest } from '../../../roles/dispatch.ts'
import type { EndableCall, OpenCalls } from '../../../roles/open-calls.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import { natsLimits } from '../limits.ts'
import { decodeFault, decodeHead, encodeCall } from './contents.ts'
import { Inflow, Outflow } from './flow.ts'
import type { CallLink, LinkedCall } from './link.ts'
import { cancelReasons, decodeCredit, noBytes, type Packet } from './message.ts'

export interface Opened {
  readonly number: number
  readonly rest: Uint8Array
}

export interface ClientCallParts {
  readonly nowMs: () => number
  readonly open: (call: ClientCall, encoded: Buffer) => Opened | null
  readonly forget: (call: ClientCall) => void
}

type Result = IteratorResult<AnswerPart, undefined>
type State = 'new' | 'opening' | 'sending' | 'answering' | 'over'

interface Reader {
  readonly resolve: (result: Result) => void
  readonly reject: (fault: Error) => void
}

const nothing: Result = { done: true, value: undefined }

const noProxy = (cause?: unknown): DispatchLost =>
  new DispatchLost('no_available_channel', 'No proxy takes calls right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

const proxyGone = (): DispatchLost =>
  new DispatchLost('upstream_stream_interrupted', 'The connection to the proxy that served the request was lost.')

const proxyLate = (): DispatchLost =>
  new DispatchLost('upstream_timeout', 'The proxy that served the request did not finish it in time.')

const gatewayStops = (): GatewayError => new GatewayError('upstream_stream_interrupted', 'The gateway stops.')

const callTooLarge = (): DispatchLost => new DispatchLost('request_too_large', 'The request is too large to be routed.')

const createClientGoneBeforeAccept = (): DispatchLost => {
  const { code, message, status } = clientGoneError()
  return new DispatchLost(code, message, { status })
}

/** A call at its edge, as returned by `dispatch`. Sent at the first `next`. One reader, one `next` at a time. */
export class ClientCall implements AsyncIterableIterator<AnswerPart, undefined>, LinkedCall, EndableCall {
  readonly #parts: ClientCallParts
  readonly #call: RoutedRequest
  readonly #clientGone: AbortSignal
  readonly #openCalls: OpenCalls | undefined
  /** Monotonic. */
  readonly #overdueMs: number
  readonly #onClientGone = (): void => this.#onClientLeft()
  #state: State = 'new'
  #number = 0
  #rest: Uint8Array = noBytes
  #link: CallLink | null = null
  #outflow: Outflow | null = null
  #inflow: Inflow | null = null
  #arrived: AnswerPart[] = []
  #reader: Reader | null = null
  #fault: Error | null = null
  #hasLeft = false
  readonly #ended = Promise.withResolvers<void>()

  constructor(parts: ClientCallParts, call: RoutedRequest, clientGone: AbortSignal, openCalls?: OpenCalls) {
    this.#parts = parts
    this.#call = call
    this.#clientGone = clientGone
    this.#openCalls = openCalls
    const leftMs = call.deadlineMs - parts.nowMs()
    this.#overdueMs = performance.now() + leftMs + sharedLimits.closingAckMs + natsLimits.callsEndLateMs
  }

  get number(): number {
    return this.#number
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#state === 'new') this.#open()
    const part = this.#arrived.shift()
    if (part !== undefined) return Promise.resolve(this.#toResult(part))
    if (this.#state === 'over') return this.#conclude()
    if (this.#reader !== null) return Promise.reject(new Error('an answer is read by one reader, one part at a time'))
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  /** Resolves when the proxy has ended the call: until it is billed the request keeps what it holds. */
  async return(): Promise<Result> {
    if (this.#state === 'answering') {
      this.#leave()
      await this.#ended.promise
    } else {
      this.#cancel()
      this.#finish(null)
    }
    this.#arrived = []
    this.#fault = null
    return nothing
  }

  accept(link: CallLink, creditBytes: number): void {
    this.#link = link
    this.#inflow = new Inflow(link, this.#number)
    link.calls.set(this.#number, this)
    this.#state = this.#rest.length === 0 ? 'answering' : 'sending'
    if (this.#clientGone.aborted) this.#onClientLeft()
    else if (this.#openCalls?.isShutDown === true) this.shutDown()
    else if (this.#state === 'sending') void this.#sendRest(link, creditBytes)
  }

  receive({ kind, payload }: Packet): void {
    try {
      if (this.#hasLeft) this.#receiveEnd(kind)
      else if (kind === 'bytes') this.#deliver({ type: 'bytes', bytes: payload })
      else if (kind === 'head') this.#deliver(decodeHead(payload))
      else if (kind === 'end') this.#finish(null)
      else if (kind === 'fault') this.#finish(decodeFault(payload))
      else if (kind === 'credit') this.#outflow?.grant(decodeCredit(payload))
    } catch (fault) {
      this.#cancel()
      this.#finish(
        new GatewayError('internal_error', 'The proxy answered in a way that cannot be read.', { cause: fault }),
      )
    }
  }

  connectionLost(): void {
    this.#finish(this.#hasLeft ? clientGoneError() : proxyGone())
  }

  refuse(cause?: unknown): void {
    this.#finish(noProxy(cause))
  }

  /** On shutdown of the edge. A proxy that has the whole call decides how the answer ends, and records it. */
  shutDown(): void {
    if (this.#state === 'sending') this.#abort(gatewayStops(), noProxy())
    else if (this.#state === 'answering')
      this.#link?.write({ call: this.#number, kind: 'cancel', payload: cancelReasons.shutdown })
  }

  abandon(): void {
    this.#abort(gatewayStops(), noProxy())
  }

  check(): void {
    if (performance.now() < this.#overdueMs) return
    this.#cancel()
    this.#finish(proxyLate())
  }

  #open(): void {
    if (this.#clientGone.aborted) this.#finish(createClientGoneBeforeAccept())
    else if (this.#openCalls?.isShutDown === true) this.#finish(noProxy())
    else this.#send(encodeCall(this.#call, this.#parts.nowMs()))
  }

  #send(encoded: Buffer): void {
    const isTooLarge = encoded.length > natsLimits.callsCallBytesMax
    const opened = isTooLarge ? null : this.#parts.open(this, encoded)
    if (opened === null) {
      this.#finish(isTooLarge ? callTooLarge() : noProxy())
      return
    }
    this.#state = 'opening'
    this.#number = opened.number
    this.#rest = opened.rest
    this.#clientGone.addEventListener('abort', this.#onClientGone)
    this.#openCalls?.enter(this)
  }

  async #sendRest(link: CallLink, creditBytes: number): Promise<void> {
    this.#outflow = new Outflow(link, this.#number, 'piece', creditBytes)
    await this.#outflow.send(this.#rest)
    this.#rest = noBytes
    if (this.#state === 'sending') this.#state = 'answering'
  }

  #onClientLeft(): void {
    // Whether a proxy has the call decides who records its end, and will be known shortly.
    if (this.#state === 'opening') return
    if (this.#state === 'answering') this.#leave()
    else this.#abort(clientGoneError(), createClientGoneBeforeAccept())
  }

  /** The proxy may read the answer on; only its end is of interest here. */
  #leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#arrived = []
    this.#cancel()
  }

  #receiveEnd(kind: Packet['kind']): void {
    if (kind === 'end' || kind === 'fault') this.#finish(clientGoneError())
  }

  /** Only a proxy that has the whole call records its end. */
  #abort(taken: GatewayError, untaken: DispatchLost): void {
    const isTaken = this.#state === 'answering'
    this.#cancel()
    this.#finish(isTaken ? taken : untaken)
  }

  /** Sends nothing before a proxy has accepted: a late acceptance is answered with `cancel` too. */
  #cancel(): void {
    if (this.#state === 'over') return
    const payload = this.#clientGone.reason === cancelAtOnce ? cancelReasons.cancelAtOnce : cancelReasons.clientGone
    this.#link?.write({ call: this.#number, kind: 'cancel', payload })
  }

  #deliver(part: AnswerPart): void {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) reader.resolve(this.#toResult(part))
    // Copied: a view would keep the whole received buffer alive.
    else this.#arrived.push(part.type === 'bytes' ? { type: 'bytes', bytes: Buffer.from(part.bytes) } : part)
  }

  #toResult(part: AnswerPart): Result {
    if (part.type === 'bytes' && this.#state !== 'over') this.#inflow?.consume(part.bytes)
    return { done: false, value: part }
  }

  #finish(fault: Error | null): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#fault = fault
    this.#clientGone.removeEventListener('abort', this.#onClientGone)
    this.#openCalls?.leave(this)
    this.#link?.calls.delete(this.#number)
    this.#outflow?.stop()
    this.#parts.forget(this)
    this.#ended.resolve()
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) this.#conclude().then(reader.resolve, reader.reject)
  }

  /** Rejects with the fault once; the answer has ended afterwards. */
  #conclude(): Promise<Result> {
    const fault = this.#fault
    this.#fault = null
    return fault === null ? Promise.resolve(nothing) : Promise.reject(fault)
  }
}
