import type { Usage } from '../../domain/usage/usage.ts'
import { clientGoneError, GatewayError } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { Attempt, UsageRecorded } from '../../events/types.ts'
import { contradicts } from '../../providers/delivered.ts'
import type { StreamRelay } from '../../providers/dialect.ts'
import { HttpFault } from '../../providers/http.ts'
import { withTimeout } from '../../runtime/within.ts'
import type { AnswerPart, AnswerRequest } from '../dispatch.ts'
import type { EndableCall, OpenCalls } from '../open-calls.ts'
import type { Candidate } from '../role.ts'
import {
  type AttemptOutcome,
  attemptUpstream,
  type OpenStream,
  type Prepared,
  prepare,
  type UpstreamAttemptParts,
  type WholeAnswer,
} from './attempt.ts'
import { failureFact, usageFact } from './billing.ts'
import { ClosingAppender, type ClosingParts } from './closing.ts'
import { type CandidateFailure, finalFailure, type RunStopReason, streamInterrupted, type Unserved } from './failure.ts'
import { proxyLimits } from './limits.ts'
import { settleUsage } from './settle-usage.ts'

export type RunParts = UpstreamAttemptParts & ClosingParts

interface Serving<Answered> {
  readonly candidate: Candidate
  readonly askedMs: number
  readonly answered: Answered
}

type Head = Extract<AnswerPart, { type: 'head' }>

const headOf = ({ candidate, answered }: Serving<WholeAnswer | OpenStream>): Head => ({
  type: 'head',
  contentType: answered.type === 'stream' ? 'text/event-stream; charset=utf-8' : 'application/json',
  level: candidate.level,
  model: candidate.model,
})

/** After an error the failed response comes at once, or never. */
const nextChunk = (relay: StreamRelay, chunks: OpenStream['chunks']): ReturnType<OpenStream['chunks']['next']> =>
  relay.isFailing === true
    ? withTimeout(chunks.next(), proxyLimits.upstreamFailedEventMs, () => new HttpFault('timeout'))
    : chunks.next()

export class RequestRun implements EndableCall {
  readonly #parts: RunParts
  readonly #call: AnswerRequest
  readonly #clientGone: AbortSignal
  readonly #openCalls: OpenCalls | undefined
  readonly #cancel = new AbortController()
  readonly #closing: ClosingAppender
  readonly #attempts: Attempt[] = []
  readonly #deadlineTimer: NodeJS.Timeout
  readonly #onClientGone = (): void => {
    // A whole response is read to its end and billed exactly.
    if (this.#call.stream) this.#stop('client_gone')
    this.#endWithoutReader()
  }
  #stopped: RunStopReason | null = null
  #streaming: Serving<OpenStream> | null = null
  #reading: Promise<Uint8Array | null> | null = null
  #readingOn: Promise<void> | null = null
  #brokenBy: string | null = null
  #released = false
  #ended = false

  constructor(parts: RunParts, call: AnswerRequest, clientGone: AbortSignal, openCalls?: OpenCalls) {
    this.#parts = parts
    this.#call = call
    this.#clientGone = clientGone
    this.#openCalls = openCalls
    this.#closing = new ClosingAppender(parts)
    this.#deadlineTimer = setTimeout(() => this.#stop('deadline'), Math.max(0, call.deadlineMs - parts.clock()))
    parts.inFlight.enter(this)
    openCalls?.enter(this)
    if (clientGone.aborted) this.#onClientGone()
    else clientGone.addEventListener('abort', this.#onClientGone, { once: true })
  }

  /** Tries the candidates in order. When none answers, throws the caller's error once it is recorded. */
  async serve(): Promise<Serving<WholeAnswer | OpenStream>> {
    const unserved: Unserved[] = []
    for (const candidate of this.#call.candidates) {
      if (this.#isOver()) break
      const askedMs = this.#parts.clock()
      const prepared = prepare(this.#parts, this.#call, candidate)
      const answered = prepared.type === 'failed' ? prepared : await this.#ask(prepared)
      if (answered.type !== 'failed') return { candidate, askedMs, answered }
      const { failure } = answered
      unserved.push({ candidate, failure })
      this.#attempts.push(this.#failedAttempt(candidate, askedMs, failure))
      this.#logFailure(candidate, failure)
      if (failure.refusal !== undefined) break
    }
    const stopped = this.#stopped ?? (this.#clientGone.aborted ? 'client_gone' : null)
    return this.#fail(finalFailure(this.#call, { unserved, stopped }))
  }

  #ask(prepared: Prepared): Promise<AttemptOutcome> {
    const before = this.#attempts.findLast(({ outcome }) => outcome === 'failed')
    if (before !== undefined) this.#parts.observer.fellBack(before.provider)
    return attemptUpstream(this.#parts, prepared, this.#call, this.#cancel.signal)
  }

  #logFailure({ model, provider }: Candidate, { reason, status, detail, refusal, unaskable }: CandidateFailure): void {
    if (refusal !== undefined || unaskable !== undefined || reason === 'aborted') return
    const { requestId } = this.#call
    this.#parts.logger.warn({ requestId, model, provider, status, reason, detail }, 'a provider did not serve')
  }

  /** Records the bill of a whole response, then releases the response. Throws `log_unavailable`. */
  async settleWhole(serving: Serving<WholeAnswer>): Promise<readonly AnswerPart[]> {
    const { answer, bytes, dialect, target } = serving.answered
    const { reportedUsage } = answer
    this.#disarm()
    this.#noteWhole(serving)
    this.#appendEnd(this.#bill(serving, this.#clientGone.aborted ? 'client_gone' : 'completed', reportedUsage))
    const counted = await this.#acknowledged()
    if (this.#clientGone.aborted) throw clientGoneError()
    const body = counted === null ? (answer.body ?? bytes) : dialect.completeAnswer(answer, counted, target, this.#call)
    return [headOf(serving), { type: 'bytes', bytes: body }]
  }

  /** From here on any stop of the call bills at once what was delivered. */
  openStream(serving: Serving<OpenStream>): Head {
    this.#streaming = serving
    if (this.#stopped !== null) this.#appendStopped(serving, this.#stopped)
    return headOf(serving)
  }

  /** False once no more bytes may be delivered; otherwise counts them as delivered. */
  release(bytes: Uint8Array | null): bytes is Uint8Array {
    if (this.#stopped !== null) return false
    this.#concludeStream(bytes !== null)
    if (bytes === null) return false
    this.#released = true
    return true
  }

  get streamIsOver(): boolean {
    return this.#closing.begun || this.#stopped !== null
  }

  async read(stream: OpenStream): Promise<Uint8Array | null> {
    this.#reading = this.#readNext(stream)
    try {
      return await this.#reading
    } finally {
      this.#reading = null
    }
  }

  /** The end of the stream, once its bill is acknowledged. Throws where the stream has no good end. */
  async closeStream({ relay }: OpenStream): Promise<AnswerPart> {
    if (this.#stopped === 'client_gone') {
      await this.#readingOn
      throw clientGoneError()
    }
    const counted = await this.#acknowledged()
    if (this.#brokenBy !== null)
      throw streamInterrupted(this.#stopped, this.#released, this.#brokenBy, relay.failedResponse ?? null)
    return { type: 'bytes', bytes: relay.closing(counted) }
  }

  /** A fault of ours still ends the call in the log. */
  recordFault(): void {
    if (this.#closing.begun || this.#readingOn !== null) return
    this.#appendEnd(failureFact(this.#call, new GatewayError('internal_error', ''), this.#attempts))
  }

  /** The edge or the proxy stops: what was delivered is billed now, what has not come is not waited for. */
  shutDown(): void {
    this.#stop('shutdown')
    this.#endWithoutReader()
  }

  /** Always called; resolves when nothing is read any more. A reader that ends early is a client that is gone. */
  async end(): Promise<void> {
    if (!this.#closing.begun) this.#stop('client_gone')
    if (this.#readingOn === null) this.#leave()
    else await this.#readingOn
  }

  #leave(): void {
    if (this.#ended) return
    this.#ended = true
    this.#disarm()
    this.#clientGone.removeEventListener('abort', this.#onClientGone)
    this.#parts.inFlight.leave(this)
    this.#openCalls?.leave(this)
  }

  /** The reader may never come back for the rest: what the log is owed is tracked by itself. */
  #endWithoutReader(): void {
    if (this.#closing.begun) this.#leave()
  }

  #isOver(): boolean {
    return this.#stopped !== null || this.#clientGone.aborted
  }

  #disarm(): void {
    clearTimeout(this.#deadlineTimer)
  }

  /** What stops a call after its client has left also ends the reading on. */
  #stop(why: RunStopReason): void {
    if (this.#closing.begun || (this.#stopped !== null && why === 'client_gone')) return
    this.#stopped ??= why
    if (why === 'client_gone' && this.#streaming !== null) this.#readingOn = this.#readOn(this.#streaming)
    else this.#cut(this.#stopped)
  }

  #cut(why: RunStopReason): void {
    this.#cancel.abort()
    if (this.#streaming !== null) this.#appendStopped(this.#streaming, why)
  }

  /** After a client left: where only the end is awaited, the upstream's own figure is moments away. */
  async #readOn({ answered }: Serving<OpenStream>): Promise<void> {
    const bound = setTimeout(() => this.#stop('deadline'), this.#parts.closingUsageMs)
    try {
      if (!this.#awaitsEnd(answered)) return this.#cut('client_gone')
      await this.#reading
      for (this.#concludeStream(false); !this.#closing.begun; this.#concludeStream(false))
        await this.#readNext(answered)
    } catch (fault) {
      const { requestId } = this.#call
      this.#parts.logger.error({ fault, requestId }, 'the end of an answer that its client has left could not be read')
      this.#stop('deadline')
    } finally {
      clearTimeout(bound)
      this.#leave()
    }
  }

  /** Output that has come and was not read yet was generated too. */
  #awaitsEnd({ relay, response }: OpenStream): boolean {
    if (this.#reading === null) for (const chunk of response.takeArrived()) relay.push(chunk)
    return relay.contentIsOver || relay.state !== 'open'
  }

  async #readNext({ relay, chunks }: OpenStream): Promise<Uint8Array | null> {
    try {
      const { done, value } = await nextChunk(relay, chunks)
      if (this.#closing.begun) return null
      return done === true ? relay.end() : relay.push(value)
    } catch (fault) {
      if (!(fault instanceof HttpFault)) throw fault
      if (relay.isFailing === true) return relay.end()
      this.#brokenBy = fault.kind
      return null
    }
  }

  #appendEnd(fact: Parameters<ClosingAppender['append']>[0]): void {
    this.#closing.append(fact)
  }

  #appendStopped(serving: Serving<OpenStream>, why: RunStopReason): void {
    this.#brokenBy = why
    if (why === 'deadline') this.#parts.observer.upstreamFailed(serving.candidate.provider, 'answer', 'timeout')
    this.#appendDelivered(serving, why === 'client_gone' ? 'client_gone' : 'interrupted', this.#released)
  }

  /** Nothing delivered is free, except after a client left; usage that was not reported is counted. */
  #appendDelivered(serving: Serving<OpenStream>, outcome: UsageRecorded['outcome'], delivered: boolean): void {
    const { reportedUsage } = serving.answered.relay
    if (delivered || (reportedUsage !== null && outcome === 'client_gone'))
      this.#appendEnd(this.#bill(serving, outcome, reportedUsage))
    else this.#appendUndelivered(serving)
  }

  #appendUndelivered(serving: Serving<OpenStream>): void {
    const error = streamInterrupted(this.#stopped, false)
    this.#attempts.push(this.#servedAttempt(serving))
    this.#appendEnd(failureFact(this.#call, error, this.#attempts))
  }

  /** Appends the bill as soon as the upstream has ended, so that it is under way while the last bytes are delivered. */
  #concludeStream(hasBytes: boolean): void {
    const serving = this.#streaming
    if (serving === null || this.#closing.begun) return
    const { relay, response } = serving.answered
    this.#brokenBy ??= relay.fault
    if (this.#brokenBy === null && relay.state === 'open') return
    this.#disarm()
    const hasLeft = this.#stopped === 'client_gone'
    if (this.#brokenBy === null) {
      response.discard()
      this.#noteWhole(serving)
      if (hasLeft) this.#appendDelivered(serving, 'client_gone', this.#released)
      else this.#appendEnd(this.#bill(serving, 'completed', relay.reportedUsage))
    } else {
      this.#cancel.abort()
      this.#parts.observer.upstreamFailed(
        serving.candidate.provider,
        'answer',
        this.#brokenBy === 'timeout' ? 'timeout' : 'broken_off',
      )
      this.#appendDelivered(serving, hasLeft ? 'client_gone' : 'interrupted', this.#released || hasBytes)
    }
  }

  #noteWhole({ askedMs }: Serving<WholeAnswer | OpenStream>): void {
    const { observer, clock } = this.#parts
    observer.stageEnded('upstream_whole', this.#call.surface, Math.max(0, clock() - askedMs) / 1_000)
  }

  #bill(
    serving: Serving<WholeAnswer | OpenStream>,
    outcome: UsageRecorded['outcome'],
    reported: Usage | null,
  ): FactOf<'UsageRecorded'> | Promise<FactOf<'UsageRecorded'>> {
    const { candidate, answered } = serving
    const { dialect, target } = answered
    const { delivered, storedId = null } = answered.type === 'whole' ? answered.answer : answered.relay
    const attempts = [...this.#attempts, this.#servedAttempt(serving)]
    const bill = { candidate, outcome, attempts, storedId }
    const isFinal = answered.type === 'whole' || answered.relay.isFinished
    if (reported !== null && isFinal && !contradicts(reported, delivered))
      return usageFact(this.#call, { ...bill, usage: reported, source: 'reported' })
    return dialect
      .countUsage(target, this.#call, delivered)
      .then((counted) => usageFact(this.#call, { ...bill, ...settleUsage(reported, counted) }))
  }

  /** Resolves with the usage that we counted; null where the upstream reported it. */
  async #acknowledged(): Promise<Usage | null> {
    const fact = await this.#closing.acknowledged()
    return fact.type === 'UsageRecorded' && fact.data.source === 'estimated' ? fact.data.usage : null
  }

  async #fail(error: GatewayError): Promise<never> {
    this.#disarm()
    this.#appendEnd(failureFact(this.#call, error, this.#attempts))
    try {
      await this.#closing.acknowledged()
    } catch (fault) {
      const { requestId } = this.#call
      this.#parts.logger.warn({ fault, requestId }, 'a failed request is answered before the log has it')
    }
    throw error
  }

  #servedAttempt({ candidate, askedMs, answered }: Serving<WholeAnswer | OpenStream>): Attempt {
    const { status } = answered.response
    return this.#attemptOf(candidate, askedMs, 'served', status, this.#brokenBy)
  }

  #failedAttempt(candidate: Candidate, askedMs: number, { status, reason, unaskable }: CandidateFailure): Attempt {
    const outcome = unaskable === undefined ? 'failed' : 'passed_over'
    return this.#attemptOf(candidate, askedMs, outcome, status, reason === 'aborted' ? this.#stopped : reason)
  }

  #attemptOf(
    { model, provider }: Candidate,
    askedMs: number,
    outcome: Attempt['outcome'],
    status: number | null,
    reason: string | null,
  ): Attempt {
    const durationMs = Math.max(0, Math.round(this.#parts.clock() - askedMs))
    const isStatus = status !== null && status >= 100 && status <= 599 // An upstream may send any number.
    return { model, provider, outcome, status: isStatus ? status : null, reason, durationMs }
  }
}
