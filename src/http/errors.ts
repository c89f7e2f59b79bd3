import { type ErrorCode, GatewayError } from '../errors/gateway-error.ts'
import type { Logger } from '../runtime/logger.ts'
import { ThrottledWarning } from '../runtime/throttled-warning.ts'
import { errorStatusOf, errorTable } from './error-table.ts'
import { nativeVideoErrorBody, nativeVideoPath, videoErrorBody, videoPath } from './video-errors.ts'

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

const messagesTypeOf = ({ code }: GatewayError): string => {
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

export type ErrorFormat = 'plain' | 'messages' | 'video' | 'nativeVideo'

export const errorFormatAt = (path: string): ErrorFormat => {
  if (messagesPath.test(path)) return 'messages'
  if (nativeVideoPath.test(path)) return 'nativeVideo'
  return videoPath.test(path) ? 'video' : 'plain'
}

const errorBodies: { readonly [F in ErrorFormat]: (error: GatewayError, requestId: string) => object } = {
  plain: errorBody,
  messages: messagesErrorBody,
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
