import { type ErrorCode, errorTable, GatewayError } from '../../../errors.ts'
import type { Logger } from '../../role.ts'
import { nativeVideoErrorBody, nativeVideoPath, videoErrorBody, videoPath } from './video-errors.ts'

const codeOf = ({ code }: GatewayError): ErrorCode | null => (code === 'invalid_request' ? null : code)

/** The Error object of the wire. */
export const errorBody = (error: GatewayError) => {
  const { message, type, param } = error
  return { error: { message, type, code: codeOf(error), param } }
}

/** The words of the Messages format where they differ from those of `errorTable`. */
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

/** The error of the Messages format, with the members of the Error object that it leaves out. */
export const messagesErrorBody = (error: GatewayError, requestId: string) => ({
  type: 'error',
  error: { type: messagesTypeOf(error), message: error.message, code: codeOf(error), param: error.param },
  request_id: requestId,
})

const messagesPath = /^\/v1\/messages(?:\/|$)/i

export type ErrorFormat = 'plain' | 'messages' | 'video' | 'nativeVideo'

/** How the surface at `path` says what is wrong. */
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

/** The body of an error in the words of the surface at `path`. */
export const errorBodyAt = (path: string, error: GatewayError, requestId: string): object =>
  errorBodies[errorFormatAt(path)](error, requestId)

const internalError = (cause: unknown): GatewayError =>
  new GatewayError('internal_error', 'The gateway failed. The request id tells us where.', { cause })

/** What the client is told of a fault. A fault of ours is logged here, once, and its detail stays here. */
export const tellable = (fault: unknown, requestId: string, logger: Logger): GatewayError => {
  if (!(fault instanceof GatewayError)) {
    logger.error({ fault, requestId }, 'a request failed')
    return internalError(fault)
  }
  if (fault.status >= 500 && fault.cause !== undefined)
    logger.warn({ fault, requestId, code: fault.code }, 'a request could not be served')
  return fault
}
