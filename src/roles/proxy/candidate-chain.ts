import { setTimeout as pause } from 'node:timers/promises'
import type { Candidate } from '../../domain/routing/plan.ts'
import type { Attempt } from '../../events/types.ts'
import { readUpstreamRequestId } from '../../providers/dialect/upstream-request-id.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { CallSpans } from '../../runtime/tracing.ts'
import type { AnswerRequest } from '../dispatch.ts'
import {
  attemptUpstream,
  type CalledUpstream,
  type ServedRequest,
  type UpstreamAttemptParts,
  type UpstreamTranslation,
} from './attempt.ts'
import { type CalledDeployment, DeploymentTurns } from './deployment-turns.ts'
import type { Deployments } from './deployments.ts'
import { abortedUnsent, type CandidateFailure, logFailedAttempt, type Unserved } from './failure.ts'
import { proxyLimits } from './limits.ts'
import { callAgainAfterMs, retriesFor } from './retry.ts'
import { type RunHandle, stopReasonFor } from './run-state.ts'
import { useBody } from './use-body.ts'

interface ChainContext {
  readonly cancelled: AbortSignal
  readonly clientGone: AbortSignal
  /** Null: it is not traced. */
  readonly spans: CallSpans | null
}

type CandidateParts = UpstreamAttemptParts & { readonly logger: Logger; readonly deployments: Deployments }

type AttemptEnd = Pick<Attempt, 'outcome' | 'status' | 'reason'>

interface AttemptIds {
  readonly deployment: string | undefined
  readonly upstreamRequestId: string | null
}

const attemptOf = (
  { model, provider }: Candidate,
  { outcome, status, reason }: AttemptEnd,
  { deployment, upstreamRequestId }: AttemptIds,
  elapsedMs: number,
): Attempt => {
  const isStatus = status !== null && status >= 100 && status <= 599 // An upstream may send any number.
  return {
    model,
    provider,
    outcome,
    status: isStatus ? status : null,
    reason,
    durationMs: Math.max(0, Math.round(elapsedMs)),
    ...(deployment === undefined ? {} : { deployment }),
    ...(upstreamRequestId === null ? {} : { upstreamRequestId }),
  }
}

/** Another deployment may do what this one did not; a fault of the request's own it may not. */
const isOfDeployment = ({ refusal, uncallable, reason }: CandidateFailure): boolean =>
  refusal === undefined && uncallable === undefined && reason !== 'aborted'

/** Tries the candidates of a request in order, and keeps the record of each failed attempt. */
export class CandidateChain {
  readonly begunMs: number
  readonly #parts: CandidateParts
  readonly #call: AnswerRequest
  readonly #context: ChainContext
  readonly #run: RunHandle
  readonly #attempts: Attempt[] = []
  readonly #unserved: Unserved[] = []
  #lastCalled: Omit<CalledUpstream, 'reportedUsage'> | null = null

  constructor(parts: CandidateParts, call: AnswerRequest, context: ChainContext, run: RunHandle) {
    this.begunMs = parts.clock()
    this.#parts = parts
    this.#call = call
    this.#context = context
    this.#run = run
  }

  get failedAttempts(): readonly Attempt[] {
    return this.#attempts
  }

  attemptsWith({ candidate, calledAtMs, answered }: ServedRequest, brokenBy: string | null): readonly Attempt[] {
    const { response, target } = answered
    const ids = {
      deployment: target.provider.deployment,
      upstreamRequestId: readUpstreamRequestId(target.provider, response.headers),
    }
    const end = { outcome: 'served', status: response.status, reason: brokenBy } as const
    return [...this.#attempts, attemptOf(candidate, end, ids, this.#parts.clock() - calledAtMs)]
  }

  get unserved(): readonly Unserved[] {
    return this.#unserved
  }

  get lastCalled(): CalledUpstream {
    if (this.#lastCalled === null) throw new Error('no upstream was called')
    return { ...this.#lastCalled, reportedUsage: this.#unserved.at(-1)?.failure.reportedUsage ?? null }
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
      const hasRoom = (): boolean => this.#attempts.length + candidatesBehind < proxyLimits.attemptsMax
      const tried = await this.#tryDeployments(candidate, failures === 1 ? failedProvider : null, hasRoom)
      if (!('reason' in tried)) return tried
      if (hasRoom() && (await this.#mayRepeat(candidate, tried, failures, performance.now() - startedMs))) {
        this.#parts.observer.retried(candidate.provider)
        continue
      }
      this.#unserved.push({ candidate, failure: tried })
      return null
    }
  }

  /** Each deployment of the candidate's provider once, without a pause; the last failure where none answers. */
  async #tryDeployments(
    candidate: Candidate,
    failedProvider: string | null,
    hasRoom: () => boolean,
  ): Promise<ServedRequest | CandidateFailure> {
    const { providers, deployments, clock } = this.#parts
    const provider = providers.get(candidate.provider)
    const turnsOf = (call: AnswerRequest) => provider && new DeploymentTurns(deployments, provider, candidate, call)
    const isChoice = candidate.deployment === undefined && (provider?.deployments ?? []).length > 1
    const turns = isChoice ? await useBody(this.#call, turnsOf) : turnsOf(this.#call)
    if (stopReasonFor(this.#run.state) !== null) return abortedUnsent
    let last: CandidateFailure = { status: null, reason: 'provider_not_configured' }
    for (let place = 0; ; place += 1) {
      const called = turns === undefined ? (place === 0 ? last : null) : turns.next()
      if (called === null) return last
      if ('reason' in called) {
        this.#recordAttempt(candidate, clock(), called)
        return called
      }
      const tried = await this.#attempt(called, place === 0 ? failedProvider : null).catch((fault: unknown) => {
        turns?.ended(called, { status: null, reason: 'aborted' })
        throw fault
      })
      turns?.ended(called, 'reason' in tried ? tried : null)
      if (!('reason' in tried)) return tried
      last = tried
      if (!isOfDeployment(last) || !hasRoom() || stopReasonFor(this.#run.state) !== null) return last
    }
  }

  async #attempt(called: CalledDeployment, failedProvider: string | null): Promise<ServedRequest | CandidateFailure> {
    const { candidate, deployment, provider } = called
    let calledAtMs = this.#parts.clock()
    const onCalled = ({ dialect, target, hiding }: UpstreamTranslation): void => {
      calledAtMs = this.#parts.clock() // A large request takes long to be built: the model does not think then.
      this.#lastCalled = { candidate, calledAtMs, dialect, target, hiding }
      this.#run.apply({ type: 'upstream_called' })
    }
    const turn = { called, failedProvider, onCalled, spans: this.#context.spans }
    const answered = await attemptUpstream(this.#parts, this.#call, turn, this.#context.cancelled)
    if (answered.type !== 'failed') return { candidate, deployment, calledAtMs, answered }
    this.#recordAttempt(candidate, calledAtMs, answered.failure, provider.deployment)
    return answered.failure
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
    const signal = AbortSignal.any([this.#context.cancelled, this.#context.clientGone])
    return pause(delayMs, true, { signal }).catch(() => false)
  }

  #recordAttempt(candidate: Candidate, calledAtMs: number, failure: CandidateFailure, deployment?: string): void {
    const { status, uncallable, upstreamRequestId = null } = failure
    const outcome = uncallable === undefined ? 'failed' : 'passed_over'
    const reason = failure.reason === 'aborted' ? stopReasonFor(this.#run.state) : failure.reason
    const ids = { deployment, upstreamRequestId }
    const elapsedMs = this.#parts.clock() - calledAtMs
    this.#attempts.push(attemptOf(candidate, { outcome, status, reason }, ids, elapsedMs))
    this.#context.spans?.attemptFailed({ status, reason })
    logFailedAttempt(this.#parts.logger, this.#call.requestId, candidate, failure, deployment)
  }
}
