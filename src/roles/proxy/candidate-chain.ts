import { setTimeout as pause } from 'node:timers/promises'
import type { Candidate } from '../../domain/routing/plan.ts'
import type { Attempt } from '../../events/types.ts'
import { readUpstreamRequestId } from '../../providers/dialect/upstream-request-id.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { AnswerRequest } from '../dispatch.ts'
import {
  attemptUpstream,
  type CalledUpstream,
  type ServedRequest,
  type UpstreamAttemptParts,
  type UpstreamTranslation,
} from './attempt.ts'
import { type CandidateFailure, logFailedAttempt, type Unserved } from './failure.ts'
import { proxyLimits } from './limits.ts'
import { callAgainAfterMs, retriesFor } from './retry.ts'
import { type RunHandle, stopReasonFor } from './run-state.ts'

interface ChainSignals {
  readonly cancelled: AbortSignal
  readonly clientGone: AbortSignal
}

type CandidateParts = UpstreamAttemptParts & { readonly logger: Logger }

const attemptOf = (
  { model, provider }: Candidate,
  { outcome, status, reason, ...ids }: Pick<Attempt, 'outcome' | 'status' | 'reason' | 'upstreamRequestId'>,
  elapsedMs: number,
): Attempt => {
  const isStatus = status !== null && status >= 100 && status <= 599 // An upstream may send any number.
  const durationMs = Math.max(0, Math.round(elapsedMs))
  return { model, provider, outcome, status: isStatus ? status : null, reason, durationMs, ...ids }
}

const requestIdMember = (upstreamRequestId: string | null): Pick<Attempt, 'upstreamRequestId'> =>
  upstreamRequestId === null ? {} : { upstreamRequestId }

/** Tries the candidates of a request in order, and keeps the record of each failed attempt. */
export class CandidateChain {
  readonly #parts: CandidateParts
  readonly #call: AnswerRequest
  readonly #signals: ChainSignals
  readonly #run: RunHandle
  readonly #attempts: Attempt[] = []
  readonly #unserved: Unserved[] = []
  #lastCalled: CalledUpstream | null = null

  constructor(parts: CandidateParts, call: AnswerRequest, signals: ChainSignals, run: RunHandle) {
    this.#parts = parts
    this.#call = call
    this.#signals = signals
    this.#run = run
  }

  get failedAttempts(): readonly Attempt[] {
    return this.#attempts
  }

  attemptsWith({ candidate, calledAtMs, answered }: ServedRequest, brokenBy: string | null): readonly Attempt[] {
    const { response, target } = answered
    const end = { outcome: 'served', status: response.status, reason: brokenBy } as const
    const ids = requestIdMember(readUpstreamRequestId(target.provider, response.headers))
    return [...this.#attempts, attemptOf(candidate, { ...end, ...ids }, this.#parts.clock() - calledAtMs)]
  }

  get unserved(): readonly Unserved[] {
    return this.#unserved
  }

  get lastCalled(): CalledUpstream {
    if (this.#lastCalled === null) throw new Error('no upstream was called')
    return this.#lastCalled
  }

  get isAborted(): boolean {
    const { reason, isUnsent = false } = this.#unserved.at(-1)?.failure ?? {}
    return reason === 'aborted' && !isUnsent
  }

  /** Null where none answers, or the run was stopped. */
  async findServing(): Promise<ServedRequest | null> {
    for (const [place, candidate] of this.#call.candidates.entries()) {
      if (stopReasonFor(this.#run.state) !== null) return null
      const served = await this.#serveBy(candidate, this.#call.candidates.length - place - 1)
      if (served !== null) return served
      if (this.#unserved.at(-1)?.failure.refusal !== undefined) return null
    }
    return null
  }

  /** Null where it fails, with its retries, of which those are kept that the candidates behind it need. */
  async #serveBy(candidate: Candidate, candidatesBehind: number): Promise<ServedRequest | null> {
    const startedMs = performance.now()
    const failedProvider = this.#attempts.findLast(({ outcome }) => outcome === 'failed')?.provider ?? null
    for (let failures = 1; ; failures += 1) {
      const calledAtMs = this.#parts.clock()
      const onCalled = ({ dialect, target }: UpstreamTranslation): void => {
        this.#lastCalled = { candidate, calledAtMs, dialect, target }
        this.#run.apply({ type: 'upstream_called' })
      }
      const turn = { candidate, failedProvider: failures === 1 ? failedProvider : null, onCalled }
      const answered = await attemptUpstream(this.#parts, this.#call, turn, this.#signals.cancelled)
      if (answered.type !== 'failed') return { candidate, calledAtMs, answered }
      const { failure } = answered
      this.#recordAttempt(candidate, calledAtMs, failure)
      const hasRoom = this.#attempts.length + candidatesBehind < proxyLimits.attemptsMax
      if (hasRoom && (await this.#mayRepeat(candidate, failure, failures, performance.now() - startedMs))) continue
      this.#unserved.push({ candidate, failure })
      return null
    }
  }

  async #mayRepeat(
    candidate: Candidate,
    { repeatAfterMs }: CandidateFailure,
    failures: number,
    elapsedMs: number,
  ): Promise<boolean> {
    const provider = this.#parts.providers.get(candidate.provider)
    if (provider === undefined || repeatAfterMs === undefined) return false
    const tried = { failures, elapsedMs, retryAfterMs: repeatAfterMs }
    const delayMs = callAgainAfterMs(retriesFor(provider, candidate.model), tried, this.#parts.random)
    if (delayMs === null || this.#parts.clock() + delayMs >= this.#call.deadlineMs) return false
    const signal = AbortSignal.any([this.#signals.cancelled, this.#signals.clientGone])
    return pause(delayMs, true, { signal }).catch(() => false)
  }

  #recordAttempt(candidate: Candidate, calledAtMs: number, failure: CandidateFailure): void {
    const { status, uncallable } = failure
    const outcome = uncallable === undefined ? 'failed' : 'passed_over'
    const reason = failure.reason === 'aborted' ? stopReasonFor(this.#run.state) : failure.reason
    const end = { outcome, status, reason, ...requestIdMember(failure.upstreamRequestId ?? null) } as const
    this.#attempts.push(attemptOf(candidate, end, this.#parts.clock() - calledAtMs))
    logFailedAttempt(this.#parts.logger, this.#call.requestId, candidate, failure)
  }
}
