import { clientGoneError } from '../../errors/gateway-error.ts'
import type { Attempt } from '../../events/types.ts'
import type { AnswerBody, StreamRelay } from '../../providers/dialect/dialect.ts'
import { readDrainPolicy } from '../../providers/dialect/provider.ts'
import type { AnswerPart, AnswerRequest } from '../dispatch.ts'
import type { OpenCalls } from '../open-calls.ts'
import type { AbortedUsageEstimator } from './aborted-usage-estimator.ts'
import { headOf, type OpenStream, type ServedRequest, type UpstreamAttemptParts, type WholeAnswer } from './attempt.ts'
import { CandidateChain } from './candidate-chain.ts'
import { billServed, billUnanswered, ClosingAppender, type ClosingParts, failureFact } from './closing.ts'
import type { Deployments } from './deployments.ts'
import { finalFailure, streamInterrupted } from './failure.ts'
import { RunSignals } from './run-signals.ts'
import {
  beginRun,
  nextRunState,
  type RunEffect,
  type RunEvent,
  type RunHandle,
  type ServedEffect,
  stopReasonFor,
} from './run-state.ts'
import { StreamReader } from './stream-reader.ts'
import { encodeAnswer, useBody } from './use-body.ts'

const noBytes = new Uint8Array(0)

export type RunParts = UpstreamAttemptParts &
  ClosingParts & { readonly estimator: AbortedUsageEstimator; readonly deployments: Deployments }

/** The same bill, whose tokens count for the limits of the deployment that served it. */
const chargedToDeployment = (
  deployments: Deployments,
  { deployment }: ServedRequest,
  bill: ReturnType<typeof billServed>,
): ReturnType<typeof billServed> => {
  if (deployment === null) return bill
  const charge = ({ data }: Awaited<typeof bill>): void =>
    deployments.chargeTokens(deployment, data.usage, data.workspaceId)
  if (bill instanceof Promise)
    bill.then(charge, () => undefined) // A fault of the bill is the closing event's.
  else charge(bill)
  return bill
}

/** One request, until the event that ends it is appended. `run-state.ts` decides what is done when. */
export class RequestRun implements RunHandle {
  readonly #parts: RunParts
  readonly #call: AnswerRequest
  readonly #cancel = new AbortController()
  readonly #signals: RunSignals
  readonly #chain: CandidateChain
  readonly #closing: ClosingAppender
  #state: RunHandle['state']
  #served: ServedRequest | null = null
  #stream: StreamReader | null = null

  constructor(parts: RunParts, call: AnswerRequest, clientGone: AbortSignal, openCalls?: OpenCalls) {
    this.#parts = parts
    this.#call = call
    this.#state = beginRun(call.stream)
    const spans = parts.observer.tracing?.call(call) ?? null
    this.#chain = new CandidateChain(parts, call, { cancelled: this.#cancel.signal, clientGone, spans }, this)
    this.#closing = new ClosingAppender(parts, spans)
    this.#signals = new RunSignals(parts, call.deadlineMs, clientGone, openCalls, (signal) => this.apply(signal))
    this.#signals.attach()
  }

  get state(): RunHandle['state'] {
    return this.#state
  }

  apply(event: RunEvent): RunHandle['state'] {
    const { state, effects } = nextRunState(this.#state, event)
    this.#state = state
    for (const effect of effects) this.#perform(effect)
    return this.#state
  }

  /** When no candidate answers, throws the caller's error once it is recorded. */
  async serve(): Promise<ServedRequest> {
    const served = await this.#chain.findServing()
    if (served !== null) return served
    const error = finalFailure(this.#call, { unserved: this.#chain.unserved, stopped: stopReasonFor(this.#state) })
    this.apply({ type: 'unserved', error, isAborted: this.#chain.isAborted })
    try {
      await this.#closing.acknowledged()
    } catch (fault) {
      const { requestId } = this.#call
      this.#parts.logger.log('request.failure_unacknowledged', { fault, requestId })
    }
    throw error
  }

  /** Records the bill of a whole response, then releases the response. Throws `log_unavailable`. */
  async settleWhole(served: ServedRequest<WholeAnswer>): Promise<readonly AnswerPart[]> {
    const { answer, bytes, dialect, target } = served.answered
    this.#served = served
    this.apply({ type: 'whole_read' })
    const counted = await this.#closing.countedUsage()
    if (this.#signals.clientIsGone) throw clientGoneError()
    const written = await bytes
    if (counted === null) return [headOf(served), { type: 'bytes', bytes: written }]
    const complete = (call: AnswerRequest): AnswerBody => dialect.completeAnswer(answer, counted, target, call)
    const body = await useBody(this.#call, complete)
    return [headOf(served), { type: 'bytes', bytes: await encodeAnswer(this.#call, written.length, body) }]
  }

  /** From here on any stop of the run bills at once what was delivered. */
  openStream(served: ServedRequest<OpenStream>): StreamReader {
    const stream = new StreamReader(this.#parts, served.answered, this, this.#call.capturedBytesMax)
    this.#served = served
    this.#stream = stream
    this.apply({ type: 'stream_opened' })
    return stream
  }

  /** The rest of the stream, once its bill is acknowledged. Throws where it has no good end, or no reader. */
  async closeStream(relay: StreamRelay): Promise<AnswerPart> {
    const hasLeft = this.#state.stopped === 'client_gone'
    const unsent = hasLeft ? ((await this.#stream?.drained) ?? null) : noBytes
    if (unsent === null) throw clientGoneError()
    const counted = await this.#closing.countedUsage()
    const { brokenBy, stopped, released } = this.#state
    if (brokenBy !== null) throw streamInterrupted(stopped, released, brokenBy, relay.failedResponse ?? null)
    const closing = relay.closing(counted)
    return { type: 'bytes', bytes: unsent.length === 0 ? closing : Buffer.concat([unsent, closing]) }
  }

  /** Always called; resolves when nothing is read any more. A reader that ends early is a client that is gone. */
  async end(): Promise<void> {
    this.apply({ type: 'reader_ended' })
    await this.#stream?.drained
  }

  #perform(effect: RunEffect): void {
    switch (effect.type) {
      case 'cancel_upstream':
        this.#cancel.abort()
        break
      case 'clear_deadline':
        this.#signals.clearDeadline()
        break
      case 'detach':
        this.#signals.detach()
        break
      case 'drain':
        this.#stream?.beginDrain(
          this.#call.requestId,
          this.#parts.estimator.describeAbandonedStream(this.#call, this.#chain.lastCalled),
        )
        break
      case 'bound_drain':
        this.#signals.boundDrain(
          effect.awaits === 'usage'
            ? this.#parts.closingUsageMs
            : readDrainPolicy(this.#chain.lastCalled.target.provider).drainMs,
        )
        break
      case 'record_unanswered':
        this.#closing.append(
          billUnanswered(this.#call, this.#chain.lastCalled, this.#chain.failedAttempts, this.#abortedUsage),
        )
        break
      case 'record_failure':
        this.#closing.append(failureFact(this.#call, effect.error, this.#chain.failedAttempts))
        break
      default:
        if (this.#served === null) throw new Error(`nothing is served, so there is no ${effect.type}`)
        this.#performServed(effect, this.#served)
    }
  }

  #performServed(effect: ServedEffect, served: ServedRequest): void {
    const { observer, clock } = this.#parts
    const firstTokenMs = this.#stream?.first.tokenMs ?? null
    const attempts = (): readonly Attempt[] => this.#chain.attemptsWith(served, this.#state.brokenBy)
    switch (effect.type) {
      case 'discard_rest':
        served.answered.response.discard()
        break
      case 'observe_whole':
        observer.stageEnded('upstream_whole', this.#call.surface, Math.max(0, clock() - served.calledAtMs) / 1_000)
        this.#parts.estimator.observe(served, this.#stream?.first.visibleMs ?? null)
        break
      case 'report_upstream':
        observer.upstreamFailed(served.candidate.provider, 'answer', effect.error)
        break
      case 'record_usage':
        this.#closing.append(
          chargedToDeployment(
            this.#parts.deployments,
            served,
            billServed(this.#call, served, {
              outcome: effect.outcome,
              attempts: attempts(),
              aborted: this.#abortedUsage,
              firstTokenMs:
                firstTokenMs === null ? undefined : Math.max(0, Math.round(firstTokenMs - this.#chain.begunMs)),
            }),
          ),
          firstTokenMs === null ? null : Math.max(0, clock() - firstTokenMs),
        )
        break
      case 'record_undelivered':
        this.#closing.append(failureFact(this.#call, streamInterrupted(this.#state.stopped, false), attempts()))
    }
  }

  get #abortedUsage(): Parameters<typeof billUnanswered>[3] {
    const { estimator, clock } = this.#parts
    return { estimator, visibleMs: this.#stream?.first.visibleMs ?? clock() }
  }
}
