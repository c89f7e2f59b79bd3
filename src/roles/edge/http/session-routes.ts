import { Router } from '@koa/router'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { permissionsOf } from '../../../http/admin-roles.ts'
import type { HttpContext, HttpState } from '../../../http/context.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { type PersonSignIn, signInWith } from './authenticate.ts'
import { listenerLimits } from './limits.ts'
import type { SessionIdentity, Sessions } from './sessions.ts'

type SessionRoutesParts = Parameters<typeof signInWith>[0] & { readonly sessions: Sessions; readonly logger: Logger }

const describe = (who: NonNullable<ReturnType<ReturnType<typeof signInWith>['find']>>) =>
  'role' in who
    ? {
        administrator: { ...who, permissions: permissionsOf[who.role] },
        workspace: null,
      }
    : { administrator: null, workspace: { id: who.workspaceId, name: who.name } }

const show = (parts: SessionRoutesParts, session: Awaited<ReturnType<Sessions['find']>>) => {
  const who = session === null ? undefined : signInWith(parts).find(session.identity)
  const shown = { object: 'session', identity_provider: parts.signIn()?.label ?? null }
  if (session === null || who === undefined) return { ...shown, signed_in: null }
  const expires_at = new Date(session.expiresAtMs).toISOString()
  return { ...shown, signed_in: { ...describe(who), expires_at, csrf_token: session.csrfToken } }
}

const printable = /^[^\p{C}]{1,150}$/u

type Claims = Awaited<ReturnType<PersonSignIn['provider']['finish']>>

/** Some providers send it as text. */
const isTrue = (claim: unknown): boolean => claim === true || claim === 'true'

/** An address that the provider does not call verified may be another person's. */
const readClaim = (claims: Claims, name: string): unknown =>
  name === 'email' && !isTrue(claims['email_verified']) ? undefined : claims[name]

const nameOf = ({ nameClaim }: PersonSignIn, claims: Claims): string => {
  const name = readClaim(claims, nameClaim)
  return typeof name === 'string' && printable.test(name) ? name : claims.sub
}

const personOf = (signIn: PersonSignIn, claims: Claims): SessionIdentity => {
  const claimed = [readClaim(claims, signIn.roleClaim)].flat().filter((value) => typeof value === 'string')
  const values = claimed.filter((value) => Object.hasOwn(signIn.roles, value))
  return { by: 'person', issuer: signIn.issuer, name: nameOf(signIn, claims), values }
}

/** Both are navigations: the second ends on the page, which has the reason of a refusal in its address. */
const routePersonSignIn = (router: Router<HttpState, object>, parts: SessionRoutesParts): void => {
  const { sessions, logger } = parts
  const people = signInWith(parts)
  const path = '/dashboard/session/oidc'
  const requireSignIn = (): PersonSignIn => {
    const signIn = parts.signIn()
    if (signIn === null) throw new GatewayError('not_found', 'No identity provider is configured: sign_in.oidc.')
    return signIn
  }
  const timeout = () => AbortSignal.timeout(listenerLimits.identityProviderMs)
  const refuse = (
    ctx: HttpContext,
    reason: 'failed' | 'no_role',
    fields: { readonly actor?: string; readonly fault?: unknown },
  ): void => {
    logger.log('session.refused', { reason, actor: null, fault: null, ...fields })
    ctx.redirect(`/dashboard?sign_in=${reason}`)
  }
  router.get(path, async (ctx) => {
    const signIn = requireSignIn()
    try {
      const { url, pending } = await signIn.provider.begin(timeout())
      await sessions.keepPending(ctx, pending, signIn)
      ctx.redirect(url)
    } catch (fault) {
      if (fault instanceof GatewayError && fault.code === 'access_denied') throw fault
      refuse(ctx, 'failed', { fault })
    }
  })
  router.get(`${path}/callback`, async (ctx) => {
    const signIn = requireSignIn()
    const pending = await sessions.takePending<Parameters<PersonSignIn['provider']['finish']>[0]>(ctx, signIn)
    if (pending === null) return refuse(ctx, 'failed', { fault: 'it was not begun in this browser' })
    try {
      const answer = new URLSearchParams(ctx.querystring)
      const person = personOf(signIn, await signIn.provider.finish(pending, answer, timeout()))
      const actor = people.actorOf(person)
      if (people.find(person) === undefined) return refuse(ctx, 'no_role', { actor })
      await sessions.startFor(ctx, person, { lastsMs: signIn.sessionMs, isTls: signIn.isTls })
      logger.log('session.started', { actor })
      ctx.redirect('/dashboard')
    } catch (fault) {
      refuse(ctx, 'failed', { fault })
    }
  })
}

/** Of the page alone, so not in the OpenAPI document: other clients send their key or token with each request. */
export const sessionRoutes = (parts: SessionRoutesParts): Router<HttpState, object> => {
  const { sessions, logger } = parts
  const { actorOf, identify } = signInWith(parts)
  const router = new Router<HttpState, object>()
  const path = '/dashboard/session'
  router.post(path, async (ctx) => {
    const session = await sessions.start(ctx, () => identify(ctx.req.headers))
    ctx.status = 201
    ctx.body = show(parts, session)
    logger.log('session.started', { actor: actorOf(session.identity) })
  })
  router.get(path, async (ctx) => {
    const shown = show(parts, await sessions.find(ctx))
    if (shown.signed_in === null && sessions.isPresent(ctx)) sessions.end(ctx)
    ctx.body = shown
  })
  router.delete(path, async (ctx) => {
    const { who: actor } = await sessions.require(ctx, actorOf)
    sessions.end(ctx)
    ctx.body = show(parts, null)
    logger.log('session.ended', { actor })
  })
  routePersonSignIn(router, parts)
  return router
}
