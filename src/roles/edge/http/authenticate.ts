import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Accounts, Key } from '../../../domain/accounts/accounts.ts'
import { GatewayError, truncateName } from '../../../errors/gateway-error.ts'
import { type AdminRole, isPermitted, type Permission, requirePermission } from '../../../http/admin-roles.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import type { Clock } from '../../../runtime/clock.ts'
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

/** The scheduler revokes what has expired, but it may be late, or stopped. */
const unlessExpired = (key: Key | undefined, nowMs: number): Key | undefined =>
  key === undefined || (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) ? undefined : key

type HashOf = (presented: string) => string

const sha256Of: HashOf = (presented) => hash('sha256', presented)

/** Of the last key of each connection, most of whose requests have the same. */
const lastHashes = new WeakMap<Socket, { readonly presented: string; readonly sha256: string }>()

const sha256On =
  (socket: Socket): HashOf =>
  (presented) => {
    const last = lastHashes.get(socket)
    if (last?.presented === presented) return last.sha256
    const sha256 = sha256Of(presented)
    lastHashes.set(socket, { presented, sha256 })
    return sha256
  }

const findKey = (accounts: Accounts, presented: string, nowMs: number, hashOf: HashOf): Key | undefined =>
  presented.startsWith(keyPrefix) ? unlessExpired(accounts.keysBySha256.get(hashOf(presented)), nowMs) : undefined

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

/** Throws `missing_api_key`, `invalid_api_key` or `access_denied`. */
const identifyKey = (
  accounts: Accounts,
  headers: IncomingHttpHeaders,
  nowMs: number,
  hashOf: HashOf = sha256Of,
): Key => {
  const presented = presentedKey(headers)
  if (presented === undefined)
    throw new GatewayError('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer sk-…`.')
  const key = findKey(accounts, presented, nowMs, hashOf)
  if (key === undefined) throw new GatewayError('invalid_api_key', 'The API key is malformed, unknown or revoked.')
  requireOrigin(key, headers)
  return key
}

/** Undefined for a caller without a key, who may read what is public. Throws `invalid_api_key` or `access_denied`. */
export const readCredential = (accounts: Accounts, headers: IncomingHttpHeaders, nowMs: number): Key | undefined => {
  if (presentedKey(headers) === undefined) return undefined
  const key = identifyKey(accounts, headers, nowMs)
  requireServed(accounts, key, 'read')
  return key
}

const keyOfSession = (accounts: Accounts, identity: SessionIdentity, nowMs: number): Key | undefined => {
  if (identity.by !== 'key')
    throw new GatewayError('access_denied', 'An administrator is signed in: this takes a key of a workspace.')
  const key = accounts.keys.get(identity.keyId)
  return key?.revoked === false ? unlessExpired(key, nowMs) : undefined
}

/**
 * Requires a valid key of this origin, or a session that began with it, of a workspace that is not closed and, for a call,
 * not suspended. Throws `missing_api_key`, `invalid_api_key` or `access_denied`.
 */
export const authenticate = (
  accounts: Accounts,
  use: 'read' | 'call',
  sessions: Sessions,
  clock: Clock,
): HttpMiddleware => {
  const accept = (ctx: HttpContext, key: Key, find: () => Key | undefined): void => {
    requireServed(accounts, key, use)
    ctx.state.key = key
    if (use === 'read')
      ctx.state.isStillAllowed = () =>
        find() !== undefined && accounts.workspaces.get(key.workspaceId)?.status !== 'closed'
    ctx.state.trace.authenticatedMs = performance.now()
  }
  const acceptSession = async (ctx: HttpContext): Promise<void> => {
    const { who: key, findNow } = await sessions.require(ctx, (identity) => keyOfSession(accounts, identity, clock()))
    requireOrigin(key, ctx.req.headers)
    accept(ctx, key, findNow)
  }
  return (ctx, next) => {
    if (presentedKey(ctx.req.headers) === undefined && sessions.isPresent(ctx))
      return acceptSession(ctx).then(() => next())
    const key = identifyKey(accounts, ctx.req.headers, clock(), sha256On(ctx.req.socket))
    accept(ctx, key, () => unlessExpired(accounts.keysBySha256.get(key.sha256), clock()))
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

interface PendingSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

type Claims = Readonly<Record<string, unknown>> & { readonly sub: string }

/** OpenID Connect's authorization code flow. */
interface IdentityProvider {
  /** Rejects with `upstream_error`. */
  begin(signal: AbortSignal): Promise<{ readonly url: string; readonly pending: PendingSignIn }>
  /** The person's claims. Rejects where the answer is not that to `pending`, or the provider refuses the code. */
  finish(pending: PendingSignIn, answer: URLSearchParams, signal: AbortSignal): Promise<Claims>
}

export interface PersonSignIn {
  readonly provider: IdentityProvider
  /** Shown on the button. */
  readonly label: string
  readonly issuer: string
  /** Whether browsers reach the page by TLS. */
  readonly isTls: boolean
  readonly sessionMs: number
  readonly nameClaim: string
  readonly roleClaim: string
  /** By the value of the claim; the first that a person has counts. */
  readonly roles: Readonly<Record<string, AdminRole>>
}

type Person = Extract<SessionIdentity, { readonly by: 'person' }>

/** Undefined where the configuration of now gives the person none. */
const roleOfPerson = (signIn: PersonSignIn | null, { issuer, values }: Person): AdminRole | undefined =>
  signIn === null || signIn.issuer !== issuer
    ? undefined
    : Object.entries(signIn.roles).find(([value]) => values.includes(value))?.[1]

interface AdminParts {
  readonly admins: () => readonly AdminIdentity[]
  /** Null where people cannot sign in by an identity provider. */
  readonly signIn: () => PersonSignIn | null
}

/** Throws `missing_api_key`, `invalid_api_key`, or `access_denied` where no token is configured. */
const identifyAdmin = (
  { admins: findAdmins, signIn }: AdminParts,
  { authorization }: IncomingHttpHeaders,
): AdminIdentity => {
  const admins = findAdmins()
  if (admins.length === 0 && signIn() === null)
    throw new GatewayError('access_denied', 'No admin token is configured here, so the admin API is closed.')
  if (authorization === undefined || authorization === '')
    throw new GatewayError('missing_api_key', 'No admin token was sent. Send it as `Authorization: Bearer …`.')
  const admin = findAdmin(admins, bearerPattern.exec(authorization)?.[1] ?? '')
  if (admin === undefined) throw new GatewayError('invalid_api_key', 'The admin token is wrong.')
  return admin
}

interface SignedInAdmin {
  readonly actor: string
  readonly role: AdminRole
}

const adminOfSession = ({ admins, signIn }: AdminParts, identity: SessionIdentity): SignedInAdmin | undefined => {
  if (identity.by === 'key')
    throw new GatewayError('access_denied', 'A key of a workspace is signed in: this takes an administrator.')
  const actor = actorOf(identity)
  const role =
    identity.by === 'person'
      ? roleOfPerson(signIn(), identity)
      : admins().find(({ name, sha256 }) => name === identity.name && sha256 === identity.sha256)?.role
  return role === undefined ? undefined : { actor, role }
}

/** As events and log lines name them. */
const actorOf = (identity: SessionIdentity): string => {
  if (identity.by === 'key') return `key:${identity.keyId}`
  return identity.by === 'token' ? `admin:${identity.name}` : `person:${identity.name}`
}

/**
 * Requires the token of an administrator whose role has one of the permissions, or a session that began with it. Throws
 * `missing_api_key`, `invalid_api_key`, or `access_denied`: for the role, or where no token is configured.
 */
export const authenticateAdmin = (
  parts: AdminParts & { readonly sessions: Sessions },
  permissions: readonly Permission[],
): HttpMiddleware => {
  const identify = ({ headers }: IncomingMessage) => {
    const { name, sha256 } = identifyAdmin(parts, headers)
    const findNow = () => adminOfSession(parts, { by: 'token', name, sha256 })
    return { who: findNow()!, findNow }
  }
  return async (ctx, next) => {
    const isSession = !ctx.req.headers.authorization && parts.sessions.isPresent(ctx)
    const { who, findNow } = isSession
      ? await parts.sessions.require(ctx, (identity) => adminOfSession(parts, identity))
      : identify(ctx.req)
    requirePermission(who.role, ...permissions)
    ctx.state.admin = who.actor
    ctx.state.adminRole = who.role
    ctx.state.isStillAllowed = () => {
      const admin = findNow()
      return admin !== undefined && permissions.some((each) => isPermitted(admin.role, each))
    }
    return next()
  }
}

interface SignInParts extends AdminParts {
  readonly accounts: Accounts
  readonly clock: Clock
}

export const signInWith = (parts: SignInParts) => ({
  actorOf,
  /** An administrator's token may begin as keys do. Throws what a request with that key or token is refused with. */
  identify: (headers: IncomingHttpHeaders): SessionIdentity => {
    const { accounts } = parts
    try {
      const { name, sha256 } = identifyAdmin(parts, headers)
      return { by: 'token', name, sha256 }
    } catch (fault) {
      if (presentedKey(headers)?.startsWith(keyPrefix) !== true) throw fault
      const key = identifyKey(accounts, headers, parts.clock())
      requireServed(accounts, key, 'read')
      return { by: 'key', keyId: key.keyId }
    }
  },
  /** Undefined where what a session began with does not work any more. */
  find: (identity: SessionIdentity) => {
    if (identity.by !== 'key') return adminOfSession(parts, identity)
    const { accounts } = parts
    const key = keyOfSession(accounts, identity, parts.clock())
    const workspace = key === undefined ? undefined : accounts.workspaces.get(key.workspaceId)
    return workspace?.status === 'closed' ? undefined : workspace
  },
})
