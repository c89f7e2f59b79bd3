import { asObject, asText } from '../encoding/json.ts'
import { type ErrorCode, GatewayError } from '../errors/gateway-error.ts'
import type { Logger } from '../runtime/logger.ts'
import { ThrottledWarning } from '../runtime/throttled-warning.ts'
import { errorStatusOf, errorTable } from './error-table.ts'

/** On the video surfaces every error has a textual code. */
const errorObject = ({ message, code, param }: GatewayError) => ({
  message,
  type: errorTable[code].type,
  code,
  param,
})

const videoPath = /^\/v1\/(?:video\/generations|videos)(?:\/|$)/i

/** The Error object, with the members that clients of the generic video surface expect beside it. */
const videoErrorBody = (error: GatewayError) => ({
  error: errorObject(error),
  code: error.code,
  message: error.message,
  data: null,
})

/** The vendor's codes where one fits better than that of the HTTP status. */
const vendorCodes: { readonly [C in ErrorCode]?: number } = {
  missing_api_key: 1001,
  invalid_api_key: 1002,
  insufficient_user_quota: 1101,
  key_spend_limit_reached: 1101,
  invalid_request: 1200,
  invalid_json: 1200,
  request_too_large: 1200,
  unsupported_media_type: 1200,
  method_not_allowed: 1202,
  content_policy_violation: 1301,
  concurrency_limit_exceeded: 1303,
  byte_limit_exceeded: 1303,
  upstream_timeout: 5002,
}

const vendorCodesByStatus: Readonly<Record<number, number>> = {
  401: 1000,
  403: 1103,
  404: 1203,
  429: 1302,
  503: 5001,
  504: 5002,
}

const parametersCode = 1201
const internalCode = 5000

const vendorCodeOf = (error: GatewayError): number =>
  vendorCodes[error.code] ??
  vendorCodesByStatus[errorStatusOf(error)] ??
  (errorTable[error.code].status < 500 ? parametersCode : internalCode)

const nativeVideoPath = /^\/vv\/v1\/videos(?:\/|$)/i

const nativeVideoErrorBody = (error: GatewayError, requestId: string) => ({
  code: vendorCodeOf(error),
  message: error.message,
  request_id: requestId,
  data: null,
  error: errorObject(error),
})

const codeOf = ({ code }: GatewayError): ErrorCode | null => (code === 'invalid_request' ? null : code)

export const errorBody = (error: GatewayError) => {
  const { message, param } = error
  return { error: { message, type: errorTable[error.code].type, code: codeOf(error), param } }
}

/** The types of the Messages format where they differ from those of `errorTable`. */
const messagesTypes: { readonly [C in ErrorCode]?: string } = {
  insufficient_user_quota: 'billing_error',
  key_spend_limit_reached: 'billing_error',
  model_not_found: 'not_found_error',
  not_found: 'not_found_error',
  request_too_large: 'request_too_large',
}

const messagesTypeOf = ({ code, failedResponse }: GatewayError): string => {
  const reported = asText(asObject(failedResponse?.['error'])['type'])
  if (reported !== '') return reported
  const { type } = errorTable[code]
  return messagesTypes[code] ?? (type === 'upstream_error' ? 'api_error' : type)
}

export const messagesErrorBody = (error: GatewayError, requestId: string) => ({
  type: 'error',
  error: {
    type: messagesTypeOf(error),
    message: error.message,
    code: codeOf(error),
    param: error.param,
    details: error.details,
  },
  request_id: requestId,
})

const messagesPath = /^\/v1\/messages(?:\/|$)/i

/** Google's names of statuses, where HTTP's own status has one. */
const geminiStatuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const geminiStatusOf = (status: number): string =>
  geminiStatuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')

const googleType = (name: string): string => `type.googleapis.com/google.rpc.${name}`

const geminiDetails = ({ code, param, message, retryAfterSeconds }: GatewayError): readonly object[] => [
  { '@type': googleType('ErrorInfo'), reason: code, domain: 'gateway' },
  ...(param === null
    ? []
    : [{ '@type': googleType('BadRequest'), fieldViolations: [{ field: param, description: message }] }]),
  ...(retryAfterSeconds === undefined
    ? []
    : [{ '@type': googleType('RetryInfo'), retryDelay: `${retryAfterSeconds}s` }]),
]

export const geminiErrorBody = (error: GatewayError) => {
  const status = errorStatusOf(error)
  return {
    error: {
      code: status,
      message: error.message,
      status: geminiStatusOf(status),
      details: geminiDetails(error),
    },
  }
}

const geminiPath = /^\/v1beta\/|^\/v1\/models\/.*:(?:generateContent|streamGenerateContent|countTokens)\/?$/i

export type ErrorFormat = 'plain' | 'messages' | 'gemini' | 'video' | 'nativeVideo'

export const errorFormatAt = (path: string): ErrorFormat => {
  if (messagesPath.test(path)) return 'messages'
  if (geminiPath.test(path)) return 'gemini'
  if (nativeVideoPath.test(path)) return 'nativeVideo'
  return videoPath.test(path) ? 'video' : 'plain'
}

const errorBodies: { readonly [F in ErrorFormat]: (error: GatewayError, requestId: string) => object } = {
  plain: errorBody,
  messages: messagesErrorBody,
  gemini: geminiErrorBody,
  video: videoErrorBody,
  nativeVideo: nativeVideoErrorBody,
}

export const errorBodyAt = (path: string, error: GatewayError, requestId: string): object =>
  errorBodies[errorFormatAt(path)](error, requestId)

const internalError = (cause: unknown): GatewayError =>
  new GatewayError('internal_error', 'The gateway failed. Report the request id.', { cause })

/** Common to every operation, while NATS or PostgreSQL is away. */
const commonCodes: readonly ErrorCode[] = ['log_unavailable', 'read_models_unavailable']

export class FaultReporter {
  readonly #logger: Logger
  readonly #common: ReadonlyMap<ErrorCode, ThrottledWarning>

  constructor(logger: Logger) {
    this.#logger = logger
    this.#common = new Map(commonCodes.map((code) => [code, new ThrottledWarning(logger)]))
  }

  /** The error as the client sees it. An internal fault is logged here, once; its detail is not sent. */
  toGatewayError(fault: unknown, requestId: string): GatewayError {
    if (!(fault instanceof GatewayError)) {
      this.#logger.log('request.failed', { fault, requestId })
      return internalError(fault)
    }
    if (errorStatusOf(fault) >= 500 && fault.cause !== undefined) this.#log(fault, requestId)
    return fault
  }

  #log(fault: GatewayError, requestId: string): void {
    const { code } = fault
    const common = this.#common.get(code)
    const fields = { fault, requestId, code }
    if (common === undefined) this.#logger.log('request.unavailable', fields)
    else common.raise('request.unavailable', fields)
  }
}
