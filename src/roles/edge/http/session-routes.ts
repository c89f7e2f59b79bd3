import { Router } from '@koa/router'
import { permissionsOf } from '../../../http/admin-roles.ts'
import type { HttpState } from '../../../http/context.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { findSignedIn, identifyBearer } from './authenticate.ts'
import type { SessionIdentity, Sessions } from './sessions.ts'

type SessionRoutesParts = Parameters<typeof findSignedIn>[0] & { readonly sessions: Sessions; readonly logger: Logger }

const describe = (who: NonNullable<ReturnType<typeof findSignedIn>>) =>
  'role' in who
    ? {
        administrator: { actor: `admin:${who.name}`, role: who.role, permissions: permissionsOf[who.role] },
        workspace: null,
      }
    : { administrator: null, workspace: { id: who.workspaceId, name: who.name } }

const show = (parts: SessionRoutesParts, session: Awaited<ReturnType<Sessions['find']>>) => {
  const who = session === null ? undefined : findSignedIn(parts, session.identity)
  if (session === null || who === undefined) return { object: 'session', signed_in: null }
  const expires_at = new Date(session.expiresAtMs).toISOString()
  return { object: 'session', signed_in: { ...describe(who), expires_at, csrf_token: session.csrfToken } }
}

const actorOf = (identity: SessionIdentity): string =>
  identity.by === 'key' ? `key:${identity.keyId}` : `admin:${identity.name}`

/** Of the page alone, so not in the OpenAPI document: other clients send their key or token with each request. */
export const sessionRoutes = (parts: SessionRoutesParts): Router<HttpState, object> => {
  const { sessions, logger } = parts
  const router = new Router<HttpState, object>()
  const path = '/dashboard/session'
  router.post(path, async (ctx) => {
    const session = await sessions.start(ctx, () => identifyBearer(parts, ctx.req.headers))
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
    const actor = await sessions.require(ctx, actorOf)
    sessions.end(ctx)
    ctx.body = show(parts, null)
    logger.log('session.ended', { actor })
  })
  return router
}
