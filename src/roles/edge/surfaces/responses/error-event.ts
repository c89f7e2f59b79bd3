import type { JsonObject } from '../../../../encoding/json.ts'
import type { GatewayError } from '../../../../errors/gateway-error.ts'
import { errorBody } from '../../../../http/errors.ts'
import { sseEvent } from '../../../../providers/dialect/sse-event.ts'

/** In both forms that clients read: flat, and under `error`. `sequence` is its number in the stream, from 0. */
export const responsesErrorEvent = (failure: GatewayError, sequence: number): string => {
  const { error } = errorBody(failure)
  const { code, message, param } = error
  return sseEvent({ type: 'error', sequence_number: sequence, code, message, param, error })
}

/** Agents read the reason from it, and how long to wait. `begun`: the response as it began. */
export const failedResponseEvent = (failure: GatewayError, begun: JsonObject, sequence: number): string => {
  const error = { code: failure.code, message: failure.message }
  const response = { ...begun, error, ...failure.failedResponse, status: 'failed' }
  return sseEvent({ type: 'response.failed', sequence_number: sequence, response })
}
