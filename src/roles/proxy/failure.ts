import type { Candidate } from '../../domain/routing/plan.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import {
  clientGoneError,
  type ErrorCode,
  type ErrorDetails,
  failureReason,
  GatewayError,
} from '../../errors/gateway-error.ts'
import { errorStatusOf, errorTable, isErrorCode } from '../../http/error-table.ts'
import type { UpstreamRefusal } from '../../providers/dialect/dialect.ts'
import { withoutKeys } from '../../providers/dialect/scrub.ts'
import { type HttpFault, type HttpResponse, readRetryAfterMs } from '../../providers/http.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { UpstreamError } from '../../runtime/observer.ts'
import type { RoutedRequest } from '../dispatch.ts'

export interface CandidateFailure {
  /** A short code, for the attempt's record. */
  readonly reason: string
  readonly status: number | null
  /** Read from the text of a message, which may quote the caller's: no proof against a deployment. */
  readonly isInferred?: true
  /** What a stream reported before it was broken off, without an answer. */
  readonly reportedUsage?: Usage
  /** What an operator needs to find the cause: never a key or a prompt. */
  readonly detail?: string
  readonly upstreamRequestId?: string
  readonly timedOut?: boolean
  /** No call was made: there was no connection, or no credential. */
  readonly isUnsent?: boolean
  /** Seconds the upstream asked us to wait; 0 where it named none. Set only where it limits our rate. */
  readonly retryAfterSeconds?: number
  /** The call cost nothing there and may be repeated, after so many milliseconds at least. */
  readonly repeatAfterMs?: number
  /** The caller's request is at fault: no other candidate is tried. */
  readonly refusal?: GatewayError
  /** Why the candidate could not be called: no upstream call was made, and the next one is tried. */
  readonly uncallable?: GatewayError
}

export interface Unserved {
  readonly candidate: Pick<Candidate, 'level' | 'model'>
  readonly failure: CandidateFailure
}

const accountStatuses: readonly number[] = [401, 402, 403]

const upstreamStatuses: readonly number[] = [408, 409, 424, 425, 429]

/** True for a status that blames the caller's request, not the upstream or our account there. */
export const blamesCaller = (status: number): boolean =>
  status >= 400 && status < 500 && !upstreamStatuses.includes(status) && !accountStatuses.includes(status)

export const statusFailure = (status: number): CandidateFailure => ({
  status,
  reason: accountStatuses.includes(status) ? 'account' : `status_${status}`,
  timedOut: status === 408 || status === 504,
})

const repeatableFaults: readonly HttpFault['kind'][] = ['network', 'timeout']

export const abortedUnsent: CandidateFailure = { status: null, reason: 'aborted', isUnsent: true }

export const httpFailure = (fault: HttpFault): CandidateFailure => ({
  status: null,
  reason: fault.isUnsent && fault.kind === 'timeout' ? 'connect_timeout' : fault.kind,
  timedOut: fault.kind === 'timeout',
  ...(fault.isUnsent ? { isUnsent: true } : {}),
  ...(fault.isUnsent && repeatableFaults.includes(fault.kind) ? { repeatAfterMs: 0 } : {}),
  ...(fault.cause instanceof Error ? { detail: withoutKeys(fault.cause.message, []) } : {}),
})

/** OpenAI also sends 429, and 400, when our account there is empty: waiting does not help. */
const emptyAccountCodes: readonly (string | null)[] = [
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
]

/** At the start, before what a message may quote of the caller's. Anthropic names no code for the last three. Read 2026-11. */
const accountMessages: readonly RegExp[] = [
  /^(?:invalid|incorrect|expired) api[ _-]?key\b/i,
  /^(?:the |your )?(?:provided )?api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired)\b/i,
  /^your credit balance is too low\b/i,
  /^you have reached your specified (?:api |workspace )?usage limits?\b/i,
  /^(?:this|your) organi[sz]ation has been (?:disabled|deactivated)\b/i,
]

const errorName = /^\w*error:? /i

/** Anthropic's error for an unknown member begins with the name that the caller gave it. */
const unknownMember = /: Extra inputs are not permitted/

export const rateLimitFailure = (refusal: UpstreamRefusal | null, retryAfterSeconds: number): CandidateFailure =>
  refusal !== null && emptyAccountCodes.includes(refusal.code)
    ? { status: 429, reason: 'account' }
    : { status: 429, reason: 'rate_limited', retryAfterSeconds }

/** For what the official SDKs repeat. */
export const readRepetition = (
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  nowMs: number,
): Pick<CandidateFailure, 'repeatAfterMs'> =>
  ([408, 409, 429].includes(status) || status >= 500) && headers['x-should-retry'] !== 'false'
    ? { repeatAfterMs: readRetryAfterMs({ headers }, nowMs) ?? 0 }
    : {}

/** Whole seconds, rounded up; 0 where neither a header nor the body names any. */
export const readRetryAfterSeconds = (
  response: Pick<HttpResponse, 'headers'>,
  nowMs: number,
  refusal: UpstreamRefusal | null = null,
): number => {
  const delayMs = readRetryAfterMs(response, nowMs) || (refusal?.retryAfterMs ?? 0)
  return Math.min(sharedLimits.upstreamRetryAfterSecondsMax, Math.ceil(delayMs / 1_000))
}

const codeByStatus: { readonly [status: number]: ErrorCode } = {
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'request_too_large',
  415: 'unsupported_media_type',
}

const isKnownRefusal = (code: string | null): code is ErrorCode =>
  isErrorCode(code) && errorTable[code].type === 'invalid_request_error'

/** Some upstreams send 400 where our key there is wrong, or our account cannot pay. */
const blamesOurAccount = ({ code }: UpstreamRefusal): boolean =>
  code === 'invalid_api_key' || emptyAccountCodes.includes(code)

const readsAsOurAccount = ({ message, param }: UpstreamRefusal): boolean => {
  const stated = message.replace(errorName, '')
  return param === null && !unknownMember.test(stated) && accountMessages.some((pattern) => pattern.test(stated))
}

const plainErrors: Readonly<Record<string, UpstreamError>> = {
  network: 'network',
  timeout: 'timeout',
  connect_timeout: 'timeout',
  aborted: 'aborted',
  account: 'account',
  authentication: 'account',
  rate_limited: 'rate_limited',
  refused: 'refused',
}

export const upstreamErrorOf = ({ reason, status }: CandidateFailure): UpstreamError => {
  const plain = plainErrors[reason]
  if (plain !== undefined) return plain
  if (!reason.startsWith('status_') || status === null) return 'bad_answer'
  return status >= 500 ? 'status_5xx' : 'status_4xx'
}

export const refused = (refusal: GatewayError): CandidateFailure => ({ status: null, reason: 'refused', refusal })

export const passedOver = (uncallable: GatewayError): CandidateFailure => ({
  status: null,
  reason: failureReason(uncallable),
  uncallable,
})

/** An upstream's 4xx as the caller gets it: its status, its scrubbed message, its code where that is one of ours. */
export const refusalFailure = (status: number, upstream: UpstreamRefusal): CandidateFailure => {
  if (blamesOurAccount(upstream)) return { status, reason: 'account' }
  if (readsAsOurAccount(upstream)) return { status, reason: 'account', isInferred: true }
  const { code, message, param } = upstream
  const known = isKnownRefusal(code) ? code : (codeByStatus[status] ?? 'invalid_request')
  const refusal = new GatewayError(known, message, { status, ...(param === null ? {} : { param }) })
  return { status, reason: 'refused', refusal }
}

export const logFailedAttempt = (
  logger: Logger,
  requestId: string,
  { model, provider }: Candidate,
  { reason, status, detail, upstreamRequestId, refusal, uncallable }: CandidateFailure,
  deployment?: string,
): void => {
  if (refusal === undefined && uncallable === undefined && reason !== 'aborted')
    logger.log('upstream.attempt_failed', {
      requestId,
      model,
      provider,
      deployment,
      status,
      reason,
      detail,
      upstreamRequestId,
    })
}

export type RunStopReason = 'client_gone' | 'deadline' | 'shutdown'

interface FailedAttempts {
  readonly unserved: readonly Unserved[]
  readonly stopped: RunStopReason | null
}

const rateLimited = (failures: readonly CandidateFailure[], details: ErrorDetails): GatewayError => {
  const named = failures.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds).filter((seconds) => seconds > 0)
  const retryAfterSeconds = named.length === 0 ? 1 : Math.min(...named)
  return new GatewayError(
    'rate_limit_exceeded',
    'The upstream provider limits the rate of requests. Try again later.',
    {
      ...details,
      retryAfterSeconds,
    },
  )
}

const timedOut = (details: ErrorDetails): GatewayError =>
  new GatewayError('upstream_timeout', 'The upstream provider did not answer in time.', details)

const stopping = (details: ErrorDetails = {}): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Try again.', {
    ...details,
    retryAfterSeconds: 1,
  })

/** `delivered`: a part is out. `brokenBy`: how, if not stopped by us. `failedResponse`: the upstream's own, if any. */
export const streamInterrupted = (
  stopped: RunStopReason | null,
  delivered: boolean,
  brokenBy: string | null = null,
  failedResponse: JsonObject | null = null,
): GatewayError => {
  switch (stopped) {
    case 'client_gone':
      return clientGoneError()
    case 'deadline':
      return new GatewayError('upstream_timeout', 'The upstream provider did not finish the answer in time.')
    case 'shutdown':
      if (!delivered) return stopping()
      return new GatewayError('upstream_stream_interrupted', 'The gateway was stopped before the answer was complete.')
    case null:
      if (brokenBy === 'timeout')
        return new GatewayError('upstream_timeout', 'The upstream provider did not complete the answer in time.')
      return new GatewayError('upstream_stream_interrupted', 'The upstream provider broke off the answer.', {
        ...(failedResponse === null ? {} : { failedResponse }),
      })
  }
}

/** Of several refusals of ours, one that names what to change is of more use than a missing surface. */
const firstUncallable = (unserved: readonly Unserved[]): Unserved | undefined =>
  unserved.find(({ failure }) => failure.uncallable !== undefined && errorStatusOf(failure.uncallable) < 500) ??
  unserved[0]

const detailsOf = (deciding: Unserved | undefined): ErrorDetails => {
  if (deciding === undefined) return {}
  const { level, model } = deciding.candidate
  return { failedAt: { level, model } }
}

/**
 * The error of a request that no candidate served. The last failure of one that was called decides; 429 only where
 * every one of these was rate-limited. Where none could be called, our own refusal is it.
 */
export const finalFailure = (call: RoutedRequest, { unserved, stopped }: FailedAttempts): GatewayError => {
  const called = unserved.filter(({ failure }) => failure.uncallable === undefined)
  const deciding = called.at(-1) ?? firstUncallable(unserved)
  const details = detailsOf(deciding)
  const last = deciding?.failure
  if (last?.refusal !== undefined) return withDetails(last.refusal, details)
  if (stopped === 'client_gone') return clientGoneError()
  if (stopped === 'deadline') return timedOut(details)
  if (stopped === 'shutdown') return stopping(details)
  if (last?.uncallable !== undefined) return withDetails(last.uncallable, details)
  const failures = called.map(({ failure }) => failure)
  if (failures.length > 0 && failures.every(({ retryAfterSeconds }) => retryAfterSeconds !== undefined))
    return rateLimited(failures, details)
  if (call.chain || call.candidates.length > 1)
    return new GatewayError('fallback_exhausted', 'All upstream providers failed.', details)
  if (last?.timedOut === true) return timedOut(details)
  return new GatewayError('upstream_error', 'The upstream provider failed to answer.', details)
}

const withDetails = ({ code, message, status, param }: GatewayError, details: ErrorDetails): GatewayError =>
  new GatewayError(code, message, { ...details, status, ...(param === null ? {} : { param }) })
