import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import { faultCode } from '../../errors/gateway-error.ts'
import type { Connection } from '../../providers/dialect/provider.ts'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../providers/http.ts'
import { ReaderQueue } from '../reader-queue.ts'
import { httpClientLimits } from './limits.ts'

const timeoutCodes: readonly unknown[] = ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']

const faultOf = (error: unknown, isUnsent: boolean): HttpFault => {
  if (error instanceof HttpFault) return error
  return new HttpFault(timeoutCodes.includes(faultCode(error)) ? 'timeout' : 'network', error, isUnsent)
}

/** A timer can fire late, when the event loop was blocked: the sockets are read first. */
const afterReads = (work: () => void, ms: number): NodeJS.Timeout => setTimeout(() => setImmediate(work), ms)

/** Bounds the wait for the first chunk, and behind it each wait of a reader. */
class SilenceTimer {
  readonly #idleMs: number | undefined
  readonly #onSilence: () => void
  #timer: NodeJS.Timeout | undefined
  #chunks = 0
  #isAwaited = true

  constructor({ firstByteTimeoutMs, idleTimeoutMs }: HttpRequest, onSilence: () => void) {
    this.#idleMs = idleTimeoutMs
    this.#onSilence = onSilence
    this.#timer = setTimeout(() => this.#expire(), firstByteTimeoutMs)
  }

  readBegins(): void {
    this.#isAwaited = true
    if (this.#chunks === 0) return
    if (this.#timer !== undefined) this.#timer.refresh()
    else if (this.#idleMs !== undefined) this.#timer = setTimeout(() => this.#expire(), this.#idleMs)
  }

  chunkReceived(): void {
    if (this.#chunks === 0) this.stop()
    this.#chunks += 1
    this.#isAwaited = false
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #expire(): void {
    const before = this.#chunks
    if (this.#isAwaited)
      setImmediate(() => {
        if (this.#chunks === before) this.#onSilence()
      })
  }
}

interface BodyParts {
  readonly onReadBegins: () => void
  readonly onRoom: () => void
  readonly onDiscard: () => void
}

/** What has arrived and was not read, up to a bound, and the reader that waits for more. */
class ResponseBody implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: BodyParts
  readonly #queue = new ReaderQueue<Uint8Array>()
  #unreadBytes = 0

  constructor(parts: BodyParts) {
    this.#parts = parts
  }

  get isOver(): boolean {
    return this.#queue.isOver
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#queue.shift()
    if (value === undefined) {
      if (!this.#queue.isOver) this.#parts.onReadBegins()
      return this.#queue.wait()
    }
    this.#unreadBytes -= value.byteLength
    if (this.#unreadBytes === 0) this.#parts.onRoom()
    return Promise.resolve({ done: false, value })
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.discard()
    return Promise.resolve({ done: true, value: undefined })
  }

  takeArrived(): readonly Uint8Array[] {
    const chunks = this.#queue.takeAll()
    this.#unreadBytes = 0
    this.#parts.onRoom()
    return chunks
  }

  discard(): void {
    this.#queue.takeAll()
    this.#unreadBytes = 0
    this.#parts.onDiscard()
  }

  /** False when the upstream must wait for the reader. */
  push(chunk: Uint8Array): boolean {
    if (!this.#queue.isAwaited) this.#unreadBytes += chunk.byteLength
    this.#queue.push(chunk)
    return this.#unreadBytes < httpClientLimits.upstreamBufferBytesMax
  }

  end(fault: HttpFault | null): void {
    this.#queue.end(fault)
  }
}

/** On undici's handler API, without a stream object between. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #head = Promise.withResolvers<HttpResponse>()
  readonly #silence: SilenceTimer
  readonly #body = new ResponseBody({
    onReadBegins: () => this.#silence.readBegins(),
    onRoom: () => this.#resume(),
    onDiscard: () => this.#drain(),
  })
  readonly #onAbort = (): void => this.#fail(new HttpFault('aborted', this.#signal.reason))
  #controller: Dispatcher.DispatchController | null = null
  readonly #timers: NodeJS.Timeout[] = []
  #drainTimer: NodeJS.Timeout | undefined
  #drainedBytes = 0

  constructor(request: HttpRequest) {
    this.#signal = request.signal
    const { connectTimeoutMs, answerTimeoutMs } = request
    const onTimeout = (): void => this.#fail(new HttpFault('timeout'))
    const onUnconnected = (): void => {
      if (this.#controller === null) this.#fail(new HttpFault('timeout', new Error('no connection in time'), true))
    }
    this.#silence = new SilenceTimer(request, onTimeout)
    if (connectTimeoutMs !== undefined) this.#timers.push(afterReads(onUnconnected, connectTimeoutMs))
    if (answerTimeoutMs !== undefined) this.#timers.push(afterReads(onTimeout, answerTimeoutMs))
    if (this.#signal.aborted) this.#onAbort()
    else this.#signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get head(): Promise<HttpResponse> {
    return this.#head.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#body.isOver) controller.abort(new HttpFault('aborted'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    const body = this.#body
    this.#head.resolve({
      status,
      headers,
      body,
      takeArrived: () => body.takeArrived(),
      discard: () => body.discard(),
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#silence.chunkReceived()
    if (this.#drainTimer === undefined) {
      if (!this.#body.push(chunk)) controller.pause()
      return
    }
    this.#drainedBytes += chunk.byteLength
    if (this.#drainedBytes > httpClientLimits.upstreamDrainBytesMax) this.#fail(new HttpFault('aborted'))
  }

  onResponseEnd(): void {
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(faultOf(error, this.#controller === null))
  }

  #resume(): void {
    if (!this.#body.isOver) this.#controller?.resume()
  }

  #drain(): void {
    if (this.#body.isOver) return
    this.#drainTimer ??= setTimeout(() => this.#fail(new HttpFault('timeout')), httpClientLimits.upstreamDrainMs)
    this.#resume()
  }

  #fail(fault: HttpFault): void {
    if (this.#body.isOver) return
    this.#finish(fault)
    this.#controller?.abort(fault)
    this.#head.reject(fault)
  }

  #finish(fault: HttpFault | null): void {
    this.#silence.stop()
    for (const timer of this.#timers) clearTimeout(timer)
    clearTimeout(this.#drainTimer)
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#body.end(fault)
  }
}

type Target = Pick<Dispatcher.DispatchOptions, 'origin' | 'path'>

export const urlTarget = ({ origin, pathname, search }: URL): Target => ({ origin, path: pathname + search })

export const exchange = (dispatcher: Dispatcher, target: Target, request: HttpRequest): Promise<HttpResponse> => {
  const handler = new Exchange(request)
  dispatcher.dispatch(
    {
      ...target,
      method: request.method,
      headers: { ...request.headers, 'accept-encoding': 'identity' },
      body: request.body ?? null,
    },
    handler,
  )
  return handler.head
}

const agentOptions = {
  connections: httpClientLimits.upstreamConnectionsMax,
  pipelining: 1,
  allowH2: false, // With HTTP/2 one broken connection would fail the calls of others.
  keepAliveTimeout: httpClientLimits.upstreamKeepAliveMs,
  keepAliveMaxTimeout: httpClientLimits.upstreamKeepAliveMs,
  headersTimeout: 0, // `Exchange` has its own timeouts.
  bodyTimeout: 0,
} as const

const proxyTokenOf = ({ username, password }: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`

const openAgent = ({ proxyUrl, ca }: Connection): Dispatcher => {
  const tls = { timeout: httpClientLimits.upstreamConnectMs, ...(ca === undefined ? {} : { ca }) }
  if (proxyUrl === undefined) return new Agent({ ...agentOptions, connect: tls })
  const url = new URL(proxyUrl)
  return new ProxyAgent({
    ...agentOptions,
    uri: url.origin,
    ...(url.username === '' ? {} : { token: proxyTokenOf(url) }),
    requestTls: tls,
    proxyTls: tls,
  })
}

const direct: Connection = {}

const wayOf = ({ proxyUrl = '', ca = '' }: Connection): string => `${proxyUrl} ${ca}`
const directWay = wayOf(direct)

/** One pool of kept-alive HTTP/1.1 connections per way and origin; ways are the configuration's. */
export class UndiciClient implements HttpClient {
  readonly #agents = new Map<string, Dispatcher>()
  readonly #targets = new Map<string, Target>()

  request(request: HttpRequest): Promise<HttpResponse> {
    return exchange(this.#agentFor(request.connection ?? direct), this.#targetOf(request.url), request)
  }

  #targetOf(url: string): Target {
    const known = this.#targets.get(url)
    if (known !== undefined) return known
    const target = urlTarget(new URL(url))
    if (this.#targets.size >= httpClientLimits.upstreamTargetsMax) this.#targets.clear()
    this.#targets.set(url, target)
    return target
  }

  /** Closes every connection; exchanges under way fail with HttpFault `network`. */
  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  #agentFor(connection: Connection): Dispatcher {
    const way = connection === direct ? directWay : wayOf(connection)
    const known = this.#agents.get(way)
    if (known !== undefined) return known
    const agent = openAgent(connection)
    this.#agents.set(way, agent)
    if (this.#agents.size > httpClientLimits.upstreamWaysMax) this.#closeOldest()
    return agent
  }

  /** An authority's file that changes makes another way; what is under way there goes on to its end. */
  #closeOldest(): void {
    const [[way, agent] = []] = this.#agents
    if (way === undefined || agent === undefined) return
    this.#agents.delete(way)
    agent.close().catch(() => undefined)
  }
}
