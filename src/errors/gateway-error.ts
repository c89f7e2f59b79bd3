import type { JsonObject } from '../encoding/json.ts'

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
  | 'byte_limit_exceeded'
  | 'idempotency_quota_exceeded'
  | 'internal_error'
  | 'not_implemented'
  | 'upstream_error'
  | 'upstream_timeout'
  | 'upstream_stream_interrupted'
  | 'fallback_exhausted'
  | 'log_unavailable'
  | 'read_models_unavailable'
  | 'no_available_channel'

export interface ErrorDetails {
  readonly cause?: unknown
  readonly param?: string
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds?: number
  /** Only where the response's status is not that of the code: an upstream's own 4xx, or a fault of the transport. */
  readonly status?: number | undefined
  readonly failedAt?: { readonly level: number; readonly model: string }
  /** For a response that failed within its stream: the members that its upstream sent, scrubbed; of Claude's the type of the error. */
  readonly failedResponse?: JsonObject
  /** For an idempotency key: the request that holds it, and whether a retry can succeed. */
  readonly repeats?: { readonly requestId: string; readonly isRetryable: boolean }
  /** `error.details` of the messages surface: the official SDKs branch on its `error_code`. */
  readonly details?: JsonObject
}

/** Of what quotes a caller's member, which may have megabytes: an error is sent and logged, and is one packet of a call. */
const messageCharactersMax = 4_096
const paramCharactersMax = 1_024

const shorten = (text: string, charactersMax: number): string =>
  text.length > charactersMax ? text.slice(0, charactersMax).toWellFormed() : text

/** An error that is shown to the caller. Anything else that is thrown is an internal fault and shows as 500. */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError'
  readonly code: ErrorCode
  readonly param: string | null
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  readonly failedAt: ErrorDetails['failedAt']
  readonly failedResponse: ErrorDetails['failedResponse']
  readonly repeats: ErrorDetails['repeats']
  readonly details: JsonObject | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(shorten(message, messageCharactersMax), { cause: details.cause })
    this.code = code
    this.param = details.param === undefined ? null : shorten(details.param, paramCharactersMax)
    this.status = details.status
    this.retryAfterSeconds = details.retryAfterSeconds
    this.failedAt = details.failedAt
    this.failedResponse = details.failedResponse
    this.repeats = details.repeats
    this.details = details.details
  }
}

/** `message` ends the sentence. */
export const invalidValue = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_value', `Invalid value for '${param}': ${message}.`, { param })

const clientGoneStatus = 499

export const failureReason = ({ status, code }: Pick<GatewayError, 'status' | 'code'>): string =>
  status === clientGoneStatus ? 'client_gone' : code

/** The log does not accept or acknowledge events that must be recorded: nothing is served meanwhile. */
export const logUnavailable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The gateway cannot record requests right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

export const stoppingError = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

/** No client receives it; 499 is what proxies record for a client that closed the connection. */
export const clientGoneError = (): GatewayError =>
  new GatewayError('invalid_request', 'The client closed the connection before it was answered.', { status: 499 })

const shownNameCharactersMax = 100 // Of a caller's name within a message: it may have megabytes.

export const truncateName = (name: string): string => name.slice(0, shownNameCharactersMax).toWellFormed()

export const faultCode = (fault: unknown): unknown =>
  fault instanceof Error && 'code' in fault ? fault.code : undefined

export const faultText = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault))
