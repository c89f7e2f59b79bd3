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
  #hasReadFirst = false
  #reading: Promise<Uint8Array | null> | null = null
  #brokenBy: string | null = null
  #drained: Promise<void> | null = null
  #firstVisibleMs: number | null = null

  constructor(parts: StreamReaderParts, stream: OpenStream, run: RunHandle) {
    this.#parts = parts
    this.#stream = stream
    this.#run = run
    this.#noteVisible()
  }

  /** Milliseconds since the epoch; null while nothing of the answer was visible. */
  get firstVisibleMs(): number | null {
    return this.#firstVisibleMs
  }

  /** The next bytes for the client, counted as delivered; null where there are none. */
  async read(): Promise<Uint8Array | null> {
    const bytes = this.#hasReadFirst ? await this.#readShared() : this.#stream.first
    this.#hasReadFirst = true
    if (isStreamOver(this.#run.state)) return null
    const { stopped } = this.#run.apply(this.#describeRead(bytes !== null))
    return stopped === null ? bytes : null
  }

  get drained(): Promise<void> | null {
    return this.#drained
  }

  /** After the client has left: reads on until the run is closed. */
  beginDrain(requestId: string, abandoned: AbandonedStream): void {
    this.#drained = this.#drainLogged(requestId, abandoned)
  }

  async #drainLogged(requestId: string, abandoned: AbandonedStream): Promise<void> {
    try {
      await this.#drain(abandoned)
    } catch (fault) {
      this.#parts.logger.log('request.abandoned_end_unread', { fault, requestId })
      this.#run.apply({ type: 'drain_overdue' })
    } finally {
      this.#run.apply({ type: 'drain_ended' })
    }
  }

  async #drain(abandoned: AbandonedStream): Promise<void> {
    const { relay, response } = this.#stream
    if (this.#reading === null) for (const chunk of response.takeArrived()) relay.push(chunk)
    this.#noteVisible()
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
    return { type: 'drain_begun', rest: isHidden(this.#firstVisibleMs !== null) ? 'hidden' : 'content' }
  }

  #noteVisible(): void {
    if (this.#firstVisibleMs === null && this.#stream.relay.delivered.texts.some((text) => text !== ''))
      this.#firstVisibleMs = this.#parts.clock()
  }

  async #readShared(): Promise<Uint8Array | null> {
    this.#reading = this.#readNext()
    try {
      return await this.#reading
    } finally {
      this.#reading = null
    }
  }

  async #readNext(): Promise<Uint8Array | null> {
    const { relay, chunks } = this.#stream
    try {
      const { done, value } = await nextChunk(relay, chunks)
      if (this.#run.state.phase === 'closed') return null
      const bytes = done === true ? relay.end() : relay.push(value)
      this.#noteVisible()
      return bytes
    } catch (fault) {
      if (!(fault instanceof HttpFault)) throw fault
      if (relay.isFailing === true) return relay.end()
      this.#brokenBy = fault.kind
      return null
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
