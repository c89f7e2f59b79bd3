import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts, Key } from '../../../domain/accounts/accounts.ts'
import { GatewayError, truncateName } from '../../../errors/gateway-error.ts'
import { type AdminRole, type Permission, requirePermission } from '../../../http/admin-roles.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import type { SessionIdentity, Sessions } from './sessions.ts'

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

/** Browsers send the origin of a page with what its scripts ask of another one. */
const requireOrigin = ({ origins }: Key, { origin }: IncomingHttpHeaders): void => {
  if (origins === undefined || (origin !== undefined && origins.includes(origin))) return
  throw new GatewayError(
    'access_denied',
    origin === undefined
      ? 'This key works only for scripts of the pages that it was issued for, and the request has no header `Origin`. Use a key without origins.'
      : `This key works only for scripts of the pages that it was issued for, and \`${truncateName(origin)}\` is none of their origins. Issue a key for this origin.`,
  )
}

const requireServed = ({ workspaces }: Accounts, { workspaceId }: Key, use: 'read' | 'call'): void => {
  const status = workspaces.get(workspaceId)?.status
  if (status === 'closed')
    throw new GatewayError('access_denied', 'The workspace is closed: its keys are refused everything.')
  if (status === 'suspended' && use === 'call')
    throw new GatewayError(
      'access_denied',
      'The workspace is suspended: its keys can read, and call no model until the operator resumes it.',
    )
}

/** Undefined for a caller without a valid key, who may read what is public. Throws `access_denied` as `authenticate` does. */
export const readCredential = (accounts: Accounts, headers: IncomingHttpHeaders): Key | undefined => {
  const presented = presentedKey(headers)
  const key = presented === undefined ? undefined : findKey(accounts, presented)
  if (key === undefined) return undefined
  requireOrigin(key, headers)
  requireServed(accounts, key, 'read')
  return key
}

/** Throws `missing_api_key`, `invalid_api_key` or `access_denied`. */
const identifyKey = (accounts: Accounts, headers: IncomingHttpHeaders): Key => {
  const presented = presentedKey(headers)
  if (presented === undefined)
    throw new GatewayError('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer sk-…`.')
  const key = findKey(accounts, presented)
  if (key === undefined) throw new GatewayError('invalid_api_key', 'The API key is malformed, unknown or revoked.')
  requireOrigin(key, headers)
  return key
}

const keyOfSession = (accounts: Accounts, identity: SessionIdentity): Key | undefined => {
  if (identity.by !== 'key')
    throw new GatewayError('access_denied', 'An administrator is signed in: this takes a key of a workspace.')
  const key = accounts.keys.get(identity.keyId)
  if (key?.revoked === false) return key
  return undefined
}

/**
 * Requires a valid key of this origin, or a session that began with it, of a workspace that is not closed and, for a call,
 * not suspended. Throws `missing_api_key`, `invalid_api_key` or `access_denied`.
 */
export const authenticate = (accounts: Accounts, use: 'read' | 'call', sessions: Sessions): HttpMiddleware => {
  const accept = (ctx: HttpContext, key: Key): void => {
    requireServed(accounts, key, use)
    ctx.state.key = key
    ctx.state.trace.authenticatedMs = performance.now()
  }
  const acceptSession = async (ctx: HttpContext): Promise<void> => {
    const key = await sessions.require(ctx, (identity) => keyOfSession(accounts, identity))
    requireOrigin(key, ctx.req.headers)
    accept(ctx, key)
  }
  return (ctx, next) => {
    if (presentedKey(ctx.req.headers) === undefined && sessions.isPresent(ctx))
      return acceptSession(ctx).then(() => next())
    accept(ctx, identifyKey(accounts, ctx.req.headers))
    return next()
  }
}

/** Only the SHA-256 of an admin token is stored. */
export interface AdminIdentity {
  readonly name: string
  readonly sha256: string
  readonly role: AdminRole
}

/** Compares all of them, whichever matches: the duration reveals nothing. */
const findAdmin = (admins: readonly AdminIdentity[], token: string): AdminIdentity | undefined => {
  const given = hash('sha256', token, 'buffer')
  return admins.filter(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), given))[0]
}

type FindAdmins = () => readonly AdminIdentity[]

/** Throws `missing_api_key`, `invalid_api_key`, or `access_denied` where no token is configured. */
const identifyAdmin = (findAdmins: FindAdmins, { authorization }: IncomingHttpHeaders): AdminIdentity => {
  const admins = findAdmins()
  if (admins.length === 0)
    throw new GatewayError('access_denied', 'No admin token is configured here, so the admin API is closed.')
  if (authorization === undefined || authorization === '')
    throw new GatewayError('missing_api_key', 'No admin token was sent. Send it as `Authorization: Bearer …`.')
  const admin = findAdmin(admins, bearerPattern.exec(authorization)?.[1] ?? '')
  if (admin === undefined) throw new GatewayError('invalid_api_key', 'The admin token is wrong.')
  return admin
}

const adminOfSession = (findAdmins: FindAdmins, identity: SessionIdentity): AdminIdentity | undefined => {
  if (identity.by !== 'token')
    throw new GatewayError('access_denied', 'A key of a workspace is signed in: this takes an administrator.')
  return findAdmins().find(({ name, sha256 }) => name === identity.name && sha256 === identity.sha256)
}

/**
 * Requires the token of an administrator whose role has the permission, or a session that began with it. Throws
 * `missing_api_key`, `invalid_api_key`, or `access_denied`: for the role, or where no token is configured.
 */
export const authenticateAdmin =
  (findAdmins: FindAdmins, permission: Permission, sessions: Sessions): HttpMiddleware =>
  async (ctx, next) => {
    const { headers } = ctx.req
    const isSession = !headers.authorization && sessions.isPresent(ctx)
    const admin = isSession
      ? await sessions.require(ctx, (identity) => adminOfSession(findAdmins, identity))
      : identifyAdmin(findAdmins, headers)
    requirePermission(admin.role, permission)
    ctx.state.admin = `admin:${admin.name}`
    ctx.state.adminRole = admin.role
    return next()
  }

interface SignInParts {
  readonly accounts: Accounts
  readonly admins: FindAdmins
}

/** An administrator's token may begin as keys do. Throws what a request with that key or token is refused with. */
export const identifyBearer = ({ accounts, admins }: SignInParts, headers: IncomingHttpHeaders): SessionIdentity => {
  try {
    const { name, sha256 } = identifyAdmin(admins, headers)
    return { by: 'token', name, sha256 }
  } catch (fault) {
    if (presentedKey(headers)?.startsWith(keyPrefix) !== true) throw fault
    const key = identifyKey(accounts, headers)
    requireServed(accounts, key, 'read')
    return { by: 'key', keyId: key.keyId }
  }
}

/** Undefined where the key or token that a session began with does not work any more. */
export const findSignedIn = ({ accounts, admins }: SignInParts, identity: SessionIdentity) => {
  if (identity.by === 'token') return adminOfSession(admins, identity)
  const key = keyOfSession(accounts, identity)
  const workspace = key === undefined ? undefined : accounts.workspaces.get(key.workspaceId)
  return workspace?.status === 'closed' ? undefined : workspace
}
