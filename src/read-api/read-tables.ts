import { GatewayError } from '../errors/gateway-error.ts'
import type { HttpContext } from '../http/context.ts'
import type { AtSequence } from '../projections/checkpoint/queries.ts'

export const sequenceHeader = 'X-Gateway-Ledger-Sequence'

const retryAfterSeconds = 2

const unreadable = (cause: unknown): GatewayError =>
  new GatewayError('read_models_unavailable', 'Usage cannot be read right now. Requests are served and billed.', {
    cause,
    retryAfterSeconds,
  })

/** Throws `read_models_unavailable` where the read fails. */
export const fromTables = async <T>(reading: Promise<T>): Promise<T> => {
  try {
    return await reading
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : unreadable(fault)
  }
}

/** Notes the sequence of the log that the result reflects, for the header. */
export const readTables = async <T>(ctx: HttpContext, reading: Promise<AtSequence<T>>): Promise<T> => {
  const { sequence, value } = await fromTables(reading)
  ctx.state.reflects = sequence
  return value
}
