import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts, Key } from '../../../domain/accounts/accounts.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../http/context.ts'

const bearerPattern = /^bearer +(\S+) *$/i
const keyPrefix = 'sk-'

/** Undefined where no key was presented, empty where it is malformed. A bearer token takes precedence. */
const presentedKey = (headers: IncomingHttpHeaders): string | undefined => {
  const { authorization } = headers
  if (authorization) return bearerPattern.exec(authorization)?.[1] ?? ''
  const [apiKey] = [headers['x-api-key'], headers['x-goog-api-key']].filter((each) => each !== undefined && each !== '')
  return apiKey?.toString()
}

const findKey = (accounts: Accounts, presented: string): Key | undefined =>
  presented.startsWith(keyPrefix) ? accounts.keysBySha256.get(hash('sha256', presented)) : undefined

/** Undefined for a caller without a valid key, who may read what is public. */
export const readCredential = (accounts: Accounts, headers: IncomingHttpHeaders): Key | undefined => {
  const presented = presentedKey(headers)
  return presented === undefined ? undefined : findKey(accounts, presented)
}

const identify = (accounts: Accounts, headers: IncomingHttpHeaders): Key => {
  const presented = presentedKey(headers)
  if (presented === undefined)
    throw new GatewayError('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer sk-…`.')
  const key = findKey(accounts, presented)
  if (key === undefined) throw new GatewayError('invalid_api_key', 'The API key is malformed, unknown or revoked.')
  return key
}

/** Requires a valid key. Throws `missing_api_key` or `invalid_api_key`. */
export const authenticate =
  (accounts: Accounts): HttpMiddleware =>
  (ctx, next) => {
    ctx.state.key = identify(accounts, ctx.req.headers)
    ctx.state.trace.authenticatedMs = performance.now()
    return next()
  }

/** Only the SHA-256 of an admin token is stored. */
export interface AdminIdentity {
  readonly name: string
  /** Hex. */
  readonly sha256: string
}

/** Compares all of them, whichever matches: the duration reveals nothing. */
const findAdmin = (admins: readonly AdminIdentity[], token: string): AdminIdentity | undefined => {
  const given = hash('sha256', token, 'buffer')
  return admins.filter(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), given))[0]
}

/** Throws `access_denied` where no token is configured, `missing_api_key`, or `invalid_api_key`. */
export const authenticateAdmin =
  (admins: readonly AdminIdentity[]): HttpMiddleware =>
  (ctx, next) => {
    if (admins.length === 0)
      throw new GatewayError('access_denied', 'No admin token is configured here, so the admin API is closed.')
    const { authorization } = ctx.req.headers
    if (authorization === undefined || authorization === '')
      throw new GatewayError('missing_api_key', 'No admin token was sent. Send it as `Authorization: Bearer …`.')
    const admin = findAdmin(admins, bearerPattern.exec(authorization)?.[1] ?? '')
    if (admin === undefined) throw new GatewayError('invalid_api_key', 'The admin token is wrong.')
    ctx.state.admin = admin.name
    return next()
  }
