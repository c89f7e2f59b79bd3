import { hash, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../http/context.ts'

/** Only the SHA-256 of an admin token is stored. */
export interface AdminIdentity {
  readonly name: string
  /** Hex. */
  readonly sha256: string
}

const bearerPattern = /^bearer +(\S+) *$/i

const closed = (): GatewayError =>
  new GatewayError('access_denied', 'No admin token is configured here, so the admin API is closed.')

const missing = (): GatewayError =>
  new GatewayError('missing_api_key', 'No admin token was sent. Send it as `Authorization: Bearer …`.')

const wrong = (): GatewayError => new GatewayError('invalid_api_key', 'The admin token is wrong.')

/** Compares all of them, whichever matches: the duration reveals nothing. */
const findAdmin = (admins: readonly AdminIdentity[], token: string): AdminIdentity | undefined => {
  const given = hash('sha256', token, 'buffer')
  return admins.filter(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), given))[0]
}

/** Throws `access_denied` where no token is configured, `missing_api_key`, or `invalid_api_key`. */
export const authenticateAdmin =
  (admins: readonly AdminIdentity[]): HttpMiddleware =>
  (ctx, next) => {
    if (admins.length === 0) throw closed()
    const { authorization } = ctx.req.headers
    if (authorization === undefined || authorization === '') throw missing()
    const admin = findAdmin(admins, bearerPattern.exec(authorization)?.[1] ?? '')
    if (admin === undefined) throw wrong()
    ctx.state.admin = admin.name
    return next()
  }
