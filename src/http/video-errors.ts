import type { ErrorCode, GatewayError } from '../errors/gateway-error.ts'
import { errorStatusOf, errorTable } from './error-table.ts'

/** On the video surfaces every error has a textual code. */
const errorObject = ({ message, code, param }: GatewayError) => ({
  message,
  type: errorTable[code].type,
  code,
  param,
})

export const videoPath = /^\/v1\/(?:video\/generations|videos)(?:\/|$)/i

/** The Error object, with the members that clients of the generic video surface expect beside it. */
export const videoErrorBody = (error: GatewayError) => ({
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

export const nativeVideoPath = /^\/vv\/v1\/videos(?:\/|$)/i

export const nativeVideoErrorBody = (error: GatewayError, requestId: string) => ({
  code: vendorCodeOf(error),
  message: error.message,
  request_id: requestId,
  data: null,
  error: errorObject(error),
})
