import type { JsonObject } from '../encoding/json.ts'
import { sharedLimits } from '../runtime/limits.ts'

/** Every error code of the API. One table below maps a code to its HTTP status and type. */
export type ErrorCode =
  | 'invalid_request'
  | 'invalid_json'
  | 'missing_required_parameter'
  | 'invalid_value'
  | 'unsupported_parameter'
  | 'unsupported_value'
  | 'invalid_parameter_combination'
  | 'context_length_exceeded'
  | 'content_policy_violation'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'insufficient_user_quota'
  | 'key_spend_limit_reached'
  | 'access_denied'
  | 'model_not_allowed'
  | 'model_not_found'
  | 'not_found'
  | 'task_not_exist'
  | 'external_task_id_conflict'
  | 'conflict'
  | 'idempotency_key_in_use'
  | 'idempotency_outcome_not_kept'
  | 'idempotency_key_reused'
  | 'method_not_allowed'
  | 'request_too_large'
  | 'unsupported_media_type'
  | 'rate_limit_exceeded'
  | 'concurrency_limit_exceeded'
  | 'internal_error'
  | 'not_implemented'
  | 'upstream_error'
  | 'upstream_timeout'
  | 'upstream_stream_interrupted'
  | 'fallback_exhausted'
  | 'log_unavailable'
  | 'read_models_unavailable'
  | 'no_available_channel'

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_quota'
  | 'permission_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'upstream_error'

export const errorTable: { readonly [C in ErrorCode]: { readonly status: number; readonly type: ErrorType } } = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  invalid_json: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_value: { status: 400, type: 'invalid_request_error' },
  invalid_parameter_combination: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  content_policy_violation: { status: 400, type: 'invalid_request_error' },
  missing_api_key: { status: 401, type: 'authentication_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  insufficient_user_quota: { status: 402, type: 'insufficient_quota' },
  key_spend_limit_reached: { status: 402, type: 'insufficient_quota' },
  access_denied: { status: 403, type: 'permission_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  task_not_exist: { status: 404, type: 'invalid_request_error' },
  external_task_id_conflict: { status: 409, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  idempotency_key_in_use: { status: 409, type: 'invalid_request_error' },
  idempotency_outcome_not_kept: { status: 409, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 422, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  concurrency_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  not_implemented: { status: 501, type: 'api_error' },
  upstream_error: { status: 502, type: 'upstream_error' },
  upstream_timeout: { status: 502, type: 'upstream_error' },
  upstream_stream_interrupted: { status: 502, type: 'upstream_error' },
  fallback_exhausted: { status: 502, type: 'upstream_error' },
  log_unavailable: { status: 503, type: 'api_error' },
  read_models_unavailable: { status: 503, type: 'api_error' },
  no_available_channel: { status: 503, type: 'api_error' },
}

export interface ErrorDetails {
  readonly cause?: unknown
  readonly param?: string
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds?: number
  /** Set where an upstream's own 4xx status is passed on. */
  readonly status?: number
  readonly failedAt?: { readonly level: number; readonly model: string }
  /** For a response that failed within its stream: the members that its upstream sent, scrubbed. */
  readonly failedResponse?: JsonObject
  /** For an idempotency key: the request that holds it, and whether a retry can succeed. */
  readonly repeats?: { readonly requestId: string; readonly isRetryable: boolean }
  /** `error.details` of the messages surface: the official SDKs branch on its `error_code`. */
  readonly details?: JsonObject
}

/** An error that is shown to the caller. Anything else that is thrown is an internal fault and shows as 500. */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError'
  readonly code: ErrorCode
  readonly param: string | null
  readonly status: number
  readonly type: ErrorType
  readonly retryAfterSeconds: number | undefined
  readonly failedAt: ErrorDetails['failedAt']
  readonly failedResponse: ErrorDetails['failedResponse']
  readonly repeats: ErrorDetails['repeats']
  readonly details: JsonObject | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.param = details.param ?? null
    this.status = details.status ?? errorTable[code].status
    this.type = errorTable[code].type
    this.retryAfterSeconds = details.retryAfterSeconds
    this.failedAt = details.failedAt
    this.failedResponse = details.failedResponse
    this.repeats = details.repeats
    this.details = details.details
  }
}

const clientGoneStatus = 499

export const failureReason = ({ status, code }: Pick<GatewayError, 'status' | 'code'>): string =>
  status === clientGoneStatus ? 'client_gone' : code

/** The log does not accept or acknowledge events that must be recorded: nothing is served meanwhile. */
export const logUnavailable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The gateway cannot record requests right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** No client receives it; 499 is what proxies record for a client that closed the connection. */
export const clientGoneError = (): GatewayError =>
  new GatewayError('invalid_request', 'The client closed the connection before it was answered.', { status: 499 })

export const truncateName = (name: string): string => name.slice(0, sharedLimits.shownNameCharactersMax).toWellFormed()

export const faultCode = (fault: unknown): unknown =>
  fault instanceof Error && 'code' in fault ? fault.code : undefined

export const faultText = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault))
