import { GatewayError } from '../../../errors/gateway-error.ts'
import type { AtSequence } from '../../../projections/checkpoint.ts'
import type { EdgeContext } from '../middleware/context.ts'

/** The sequence of the log that an answer from the tables reflects. */
export const sequenceHeader = 'X-Gateway-Ledger-Sequence'

const retryAfterSeconds = 2

const unreadable = (cause: unknown): GatewayError =>
  new GatewayError('read_models_unavailable', 'Usage cannot be read right now. Requests are served and billed.', {
    cause,
    retryAfterSeconds,
  })

/** What the tables answer. Throws `read_models_unavailable` where they do not. */
export const fromTables = async <T>(reading: Promise<T>): Promise<T> => {
  try {
    return await reading
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : unreadable(fault)
  }
}

/** What the tables answer; the response tells which sequence of the log that reflects. */
export const readTables = async <T>(ctx: EdgeContext, reading: Promise<AtSequence<T>>): Promise<T> => {
  const { sequence, value } = await fromTables(reading)
  ctx.set(sequenceHeader, String(sequence))
  return value
}
