import type { StreamRelay } from '../../providers/dialect/dialect.ts'
import { HttpFault } from '../../providers/http.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { withTimeout } from '../../runtime/within.ts'
import type { AbortedUsageEstimator } from './aborted-usage-estimator.ts'
import type { OpenStream } from './attempt.ts'
import { proxyLimits } from './limits.ts'
import { isStreamOver, type RunEvent, type RunHandle } from './run-state.ts'

interface StreamReaderParts {
  readonly logger: Logger
  readonly clock: Clock
}

/** Milliseconds since the epoch; null until then. */
interface FirstInstants {
  /** Of the answer, or of its reasoning. */
  tokenMs: number | null
  visibleMs: number | null
}

/** What was read of a stream, and not handed to its client. */
class UnsentBytes {
  readonly #capturedBytesMax: number | undefined
  #next: Uint8Array | null
  /** Read after the client has left. */
  readonly #rest: Uint8Array[] = []
  #restBytes = 0

  constructor(first: Uint8Array | null, capturedBytesMax: number | undefined) {
    this.#next = first
    this.#capturedBytesMax = capturedBytesMax
  }

  get isEmpty(): boolean {
    return this.#next === null
  }

  get rest(): Uint8Array | null {
    if (this.#capturedBytesMax === undefined || this.#restBytes > this.#capturedBytesMax) return null
    return Buffer.concat(this.#next === null ? this.#rest : [this.#next, ...this.#rest])
  }

  add(bytes: Uint8Array | null, isDraining: boolean): void {
    if (!isDraining) this.#next = bytes
    else if (bytes !== null) {
      this.#restBytes += bytes.length
      if (this.#restBytes > (this.#capturedBytesMax ?? 0)) this.#rest.length = 0
      else this.#rest.push(bytes)
    }
  }

  take(): Uint8Array | null {
    const bytes = this.#next
    this.#next = null
    return bytes
  }
}

type AbandonedStream = ReturnType<AbortedUsageEstimator['describeAbandonedStream']>

/** After an error the failed response comes at once, or never. */
const nextChunk = (relay: StreamRelay, chunks: OpenStream['chunks']): ReturnType<OpenStream['chunks']['next']> =>
  relay.isFailing === true
    ? withTimeout(chunks.next(), proxyLimits.upstreamFailedEventMs, () => new HttpFault('timeout'))
    : chunks.next()

/** Reads the upstream's stream of a run: for its client, and after that has left for the upstream's own figure. */
export class StreamReader {
  readonly #parts: StreamReaderParts
  readonly #stream: OpenStream
  readonly #run: RunHandle
  readonly #unsent: UnsentBytes
  #reading: Promise<void> | null = null
  #brokenBy: string | null = null
  #drained: Promise<Uint8Array | null> | null = null
  readonly #first: FirstInstants = { visibleMs: null, tokenMs: null }

  constructor(parts: StreamReaderParts, stream: OpenStream, run: RunHandle, capturedBytesMax?: number) {
    this.#parts = parts
    this.#stream = stream
    this.#run = run
    this.#unsent = new UnsentBytes(stream.first, capturedBytesMax)
    this.#noteFirst()
  }

  get first(): Readonly<FirstInstants> {
    return this.#first
  }

  /** The next bytes for the client, counted as delivered; null where there are none. */
  async read(): Promise<Uint8Array | null> {
    if (this.#unsent.isEmpty && this.#stream.relay.state === 'open') await this.#readShared()
    if (isStreamOver(this.#run.state)) return null
    const bytes = this.#unsent.take()
    this.#run.apply(this.#describeRead(bytes !== null))
    return bytes
  }

  /** Resolves with what the client did not get; null where that is not all of the rest, or is not captured. */
  get drained(): Promise<Uint8Array | null> | null {
    return this.#drained
  }

  /** After the client has left: reads on until the run is closed. */
  beginDrain(requestId: string, abandoned: AbandonedStream): void {
    this.#drained = this.#drainLogged(requestId, abandoned)
  }

  async #drainLogged(requestId: string, abandoned: AbandonedStream): Promise<Uint8Array | null> {
    try {
      await this.#drain(abandoned)
      return this.#run.state.brokenBy === null ? this.#unsent.rest : null
    } catch (fault) {
      this.#parts.logger.log('request.abandoned_end_unread', { fault, requestId })
      this.#run.apply({ type: 'drain_overdue' })
      return null
    } finally {
      this.#run.apply({ type: 'drain_ended' })
    }
  }

  async #drain(abandoned: AbandonedStream): Promise<void> {
    const { relay, response } = this.#stream
    if (this.#reading === null) for (const chunk of response.takeArrived()) this.#unsent.add(relay.push(chunk), true)
    this.#noteFirst()
    const { phase } = this.#run.apply(this.#describeDrain(abandoned))
    if (phase === 'draining') await this.#reading
    while (this.#run.state.phase === 'draining') {
      this.#run.apply(this.#describeRead(false))
      if (relay.delivered.characters > abandoned.charactersMax) this.#run.apply({ type: 'drain_overdue' })
      if (this.#run.state.phase === 'draining') await this.#readNext()
    }
  }

  #describeDrain({ isHidden }: AbandonedStream): RunEvent {
    const { relay } = this.#stream
    if (relay.contentIsOver || relay.state !== 'open') return { type: 'drain_begun', rest: 'usage' }
    return { type: 'drain_begun', rest: isHidden(this.#first.visibleMs !== null) ? 'hidden' : 'content' }
  }

  #noteFirst(): void {
    if (this.#first.visibleMs !== null) return
    const { texts, characters } = this.#stream.relay.delivered
    if (characters > 0) this.#first.tokenMs ??= this.#parts.clock()
    if (texts.some((text) => text !== '')) this.#first.visibleMs = this.#parts.clock()
  }

  async #readShared(): Promise<void> {
    this.#reading = this.#readNext()
    try {
      await this.#reading
    } finally {
      this.#reading = null
    }
  }

  async #readNext(): Promise<void> {
    const { relay, chunks, pusher } = this.#stream
    try {
      const { done, value } = await nextChunk(relay, chunks)
      const isClosed = () => this.#run.state.phase === 'closed'
      const bytes = done === true ? null : await pusher.push(value, isClosed)
      if (isClosed()) return
      this.#unsent.add(done === true ? relay.end() : bytes, this.#run.state.phase === 'draining')
      this.#noteFirst()
    } catch (fault) {
      if (!(fault instanceof HttpFault)) throw fault
      if (relay.isFailing === true) this.#unsent.add(relay.end(), this.#run.state.phase === 'draining')
      else this.#brokenBy = fault.kind
    }
  }

  #describeRead(hasBytes: boolean): RunEvent {
    const { state, fault } = this.#stream.relay
    return {
      type: 'stream_read',
      hasBytes,
      ended: state !== 'open',
      fault: this.#brokenBy ?? fault,
    }
  }
}
