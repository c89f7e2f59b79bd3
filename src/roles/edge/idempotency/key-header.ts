import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { edgeLimits } from '../limits.ts'

const keyPattern = new RegExp(`^[\\x20-\\x7e]{1,${edgeLimits.idempotencyKeyCharactersMax}}$`)

/**
 * The key as its client sent it, quotes included; null for a request without one. Throws `invalid_value` for one that
 * is empty, too long or not ASCII.
 */
export const readIdempotencyKey = ({ 'idempotency-key': key }: IncomingHttpHeaders): string | null => {
  if (key === undefined) return null
  if (typeof key === 'string' && keyPattern.test(key)) return key
  throw new GatewayError(
    'invalid_value',
    `The header \`Idempotency-Key\` must be 1 to ${edgeLimits.idempotencyKeyCharactersMax} printable ASCII characters.`,
    { param: 'Idempotency-Key' },
  )
}
