import type { ErrorCode, GatewayError } from '../errors/gateway-error.ts'

type ErrorType =
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
  byte_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  idempotency_quota_exceeded: { status: 429, type: 'rate_limit_error' },
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

export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(errorTable, value)

export const errorStatusOf = ({ status, code }: Pick<GatewayError, 'status' | 'code'>): number =>
  status ?? errorTable[code].status
