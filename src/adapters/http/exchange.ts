import type { Dispatcher } from 'undici'
import { faultCode } from '../../errors/gateway-error.ts'
import { HttpFault, type HttpRequest, type HttpResponse } from '../../providers/http.ts'
import { httpClientLimits } from './limits.ts'

type Chunk = IteratorResult<Uint8Array, undefined>
type Waiter = PromiseWithResolvers<Chunk>

const ended: Chunk = { done: true, value: undefined }

const timeoutCodes: readonly unknown[] = ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']

const faultOf = (error: unknown): HttpFault => {
  if (error instanceof HttpFault) return error
  return new HttpFault(timeoutCodes.includes(faultCode(error)) ? 'timeout' : 'network', error)
}

/** On undici's handler API, without a stream object between. What is not pulled yet is buffered up to a bound. */
export class Exchange implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array> {
  readonly #signal: AbortSignal
  readonly #head = Promise.withResolvers<HttpResponse>()
  readonly #onAbort = (): void => this.#fail(new HttpFault('aborted', this.#signal.reason))
  #controller: Dispatcher.DispatchController | null = null
  readonly #idleTimeoutMs: number | undefined
  #firstByteTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #drainTimer: NodeJS.Timeout | undefined
  #chunks: Uint8Array[] = []
  #bufferedBytes = 0
  #drainedBytes = 0
  #discarding = false
  #waiter: Waiter | null = null
  #finished = false
  #fault: HttpFault | null = null

  constructor({ signal, firstByteTimeoutMs, idleTimeoutMs }: HttpRequest) {
    this.#signal = signal
    this.#idleTimeoutMs = idleTimeoutMs
    const isSilent = (): boolean => this.#firstByteTimer !== undefined
    this.#firstByteTimer = setTimeout(() => this.#timeOut(isSilent), firstByteTimeoutMs)
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get head(): Promise<HttpResponse> {
    return this.#head.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#fault !== null) controller.abort(this.#fault)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.#head.resolve({
      status,
      headers,
      body: this,
      takeArrived: () => this.takeArrived(),
      discard: () => this.discard(),
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#stopFirstByteTimer()
    if (this.#discarding) this.#drain(chunk)
    else if (this.#waiter !== null) this.#deliver({ done: false, value: chunk })
    else this.#buffer(controller, chunk)
  }

  onResponseEnd(): void {
    this.#finish()
    if (this.#waiter !== null) this.#deliver(ended)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(faultOf(error))
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    return this
  }

  next(): Promise<Chunk> {
    const value = this.#chunks.shift()
    if (value !== undefined) {
      this.#bufferedBytes -= value.byteLength
      if (this.#bufferedBytes === 0) this.#resume()
      return Promise.resolve({ done: false, value })
    }
    if (this.#fault !== null) return Promise.reject(this.#fault)
    if (this.#finished) return Promise.resolve(ended)
    this.#waiter = Promise.withResolvers()
    if (this.#firstByteTimer === undefined) this.#startIdleTimer()
    return this.#waiter.promise
  }

  takeArrived(): readonly Uint8Array[] {
    const chunks = this.#chunks
    this.#chunks = []
    this.#bufferedBytes = 0
    this.#resume()
    return chunks
  }

  return(): Promise<Chunk> {
    this.discard()
    return Promise.resolve(ended)
  }

  discard(): void {
    this.#discarding = true
    this.#chunks = []
    this.#bufferedBytes = 0
    if (this.#finished) return
    this.#drainTimer ??= setTimeout(() => this.#fail(new HttpFault('timeout')), httpClientLimits.upstreamDrainMs)
    this.#controller?.resume()
  }

  #resume(): void {
    if (!this.#finished) this.#controller?.resume()
  }

  /** Times out only while a read is pending. */
  #startIdleTimer(): void {
    if (this.#idleTimer !== undefined) this.#idleTimer.refresh()
    else if (this.#idleTimeoutMs !== undefined)
      this.#idleTimer = setTimeout(() => {
        const waiter = this.#waiter
        if (waiter !== null) this.#timeOut(() => this.#waiter === waiter)
      }, this.#idleTimeoutMs)
  }

  /** A timer can fire late, when the event loop was blocked: the sockets are read first. */
  #timeOut(isSilent: () => boolean): void {
    setImmediate(() => {
      if (isSilent()) this.#fail(new HttpFault('timeout'))
    })
  }

  #buffer(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#bufferedBytes += chunk.byteLength
    if (this.#bufferedBytes >= httpClientLimits.upstreamBufferBytesMax) controller.pause()
  }

  #drain(chunk: Uint8Array): void {
    this.#drainedBytes += chunk.byteLength
    if (this.#drainedBytes > httpClientLimits.upstreamDrainBytesMax) this.#fail(new HttpFault('aborted'))
  }

  #deliver(chunk: Chunk): void {
    this.#waiter?.resolve(chunk)
    this.#waiter = null
  }

  /** The first fault counts; chunks that came before it are still read. */
  #fail(fault: HttpFault): void {
    if (this.#finished) return
    this.#fault = fault
    this.#finish()
    this.#controller?.abort(fault)
    this.#head.reject(fault)
    this.#waiter?.reject(fault)
    this.#waiter = null
  }

  #finish(): void {
    this.#finished = true
    this.#stopFirstByteTimer()
    clearTimeout(this.#drainTimer)
    clearTimeout(this.#idleTimer)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #stopFirstByteTimer(): void {
    if (this.#firstByteTimer === undefined) return
    clearTimeout(this.#firstByteTimer)
    this.#firstByteTimer = undefined
  }
}
