import type { GatewayError } from '../../../../errors.ts'
import { errorBody } from '../../middleware/errors.ts'

/**
 * An error inside a stream, in both spellings that clients read: flat, and under `error`. `sequence` is the number of the event in
 * the stream, from 0.
 */
export const responsesErrorEvent = (failure: GatewayError, sequence: number): string => {
  const { error } = errorBody(failure)
  const { code, message, param } = error
  return `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: sequence, code, message, param, error })}\n\n`
}
