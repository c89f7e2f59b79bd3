import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { httpLimits } from '../../../../http/limits.ts'

const keyPattern = new RegExp(`^[\\x20-\\x7e]{1,${httpLimits.idempotencyKeyCharactersMax}}$`)

/** Quotes included. Throws `invalid_value` for one that is empty, too long or not ASCII. */
export const readIdempotencyKey = ({ 'idempotency-key': key }: IncomingHttpHeaders): string | null => {
  if (key === undefined) return null
  if (typeof key === 'string' && keyPattern.test(key)) return key
  throw new GatewayError(
    'invalid_value',
    `The header \`Idempotency-Key\` must be 1 to ${httpLimits.idempotencyKeyCharactersMax} printable ASCII characters.`,
    { param: 'Idempotency-Key' },
  )
}
