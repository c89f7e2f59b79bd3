import { GatewayError } from '../../../errors.ts'
import type { Logger } from '../../role.ts'

/** The Error object of the wire. */
export const errorBody = ({ message, type, code, param }: GatewayError) => ({
  error: { message, type, code: code === 'invalid_request' ? null : code, param },
})

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
