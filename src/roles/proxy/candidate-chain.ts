import type { Candidate } from '../../domain/routing/plan.ts'
import type { Attempt } from '../../events/types.ts'
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
import { type RunHandle, stopReasonFor } from './run-state.ts'

type CandidateParts = UpstreamAttemptParts & { readonly logger: Logger }

const attemptOf = (
  { model, provider }: Candidate,
  { outcome, status, reason }: Pick<Attempt, 'outcome' | 'status' | 'reason'>,
  elapsedMs: number,
): Attempt => {
  const isStatus = status !== null && status >= 100 && status <= 599 // An upstream may send any number.
  const durationMs = Math.max(0, Math.round(elapsedMs))
  return { model, provider, outcome, status: isStatus ? status : null, reason, durationMs }
}

/** Tries the candidates of a request in order, and keeps the record of each failed attempt. */
export class CandidateChain {
  readonly #parts: CandidateParts
  readonly #call: AnswerRequest
  readonly #signal: AbortSignal
  readonly #run: RunHandle
  readonly #attempts: Attempt[] = []
  readonly #unserved: Unserved[] = []
  #lastCalled: CalledUpstream | null = null

  constructor(parts: CandidateParts, call: AnswerRequest, signal: AbortSignal, run: RunHandle) {
    this.#parts = parts
    this.#call = call
    this.#signal = signal
    this.#run = run
  }

  get failedAttempts(): readonly Attempt[] {
    return this.#attempts
  }

  attemptsWith({ candidate, calledAtMs, answered }: ServedRequest, brokenBy: string | null): readonly Attempt[] {
    const end = { outcome: 'served', status: answered.response.status, reason: brokenBy } as const
    return [...this.#attempts, attemptOf(candidate, end, this.#parts.clock() - calledAtMs)]
  }

  get unserved(): readonly Unserved[] {
    return this.#unserved
  }

  get lastCalled(): CalledUpstream {
    if (this.#lastCalled === null) throw new Error('no upstream was called')
    return this.#lastCalled
  }

  get isAborted(): boolean {
    return this.#unserved.at(-1)?.failure.reason === 'aborted'
  }

  /** Null where none answers, or the run was stopped. */
  async findServing(): Promise<ServedRequest | null> {
    for (const candidate of this.#call.candidates) {
      if (stopReasonFor(this.#run.state) !== null) return null
      const calledAtMs = this.#parts.clock()
      const failedProvider = this.#attempts.findLast(({ outcome }) => outcome === 'failed')?.provider ?? null
      const onCalled = ({ dialect, target }: UpstreamTranslation): void => {
        this.#lastCalled = { candidate, calledAtMs, dialect, target }
        this.#run.apply({ type: 'upstream_called' })
      }
      const turn = { candidate, failedProvider, onCalled }
      const answered = await attemptUpstream(this.#parts, this.#call, turn, this.#signal)
      if (answered.type !== 'failed') return { candidate, calledAtMs, answered }
      this.#onFailure(candidate, calledAtMs, answered.failure)
      if (answered.failure.refusal !== undefined) return null
    }
    return null
  }

  #onFailure(candidate: Candidate, calledAtMs: number, failure: CandidateFailure): void {
    this.#unserved.push({ candidate, failure })
    const { status, uncallable } = failure
    const outcome = uncallable === undefined ? 'failed' : 'passed_over'
    const reason = failure.reason === 'aborted' ? stopReasonFor(this.#run.state) : failure.reason
    this.#attempts.push(attemptOf(candidate, { outcome, status, reason }, this.#parts.clock() - calledAtMs))
    logFailedAttempt(this.#parts.logger, this.#call.requestId, candidate, failure)
  }
}
