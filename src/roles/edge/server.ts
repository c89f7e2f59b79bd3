import type { RequestListener } from 'node:http'
import { Router } from '@koa/router'
import Koa from 'koa'
import type { FrameSource } from '../../audit/frames.ts'
import type { Verifier } from '../../audit/note.ts'
import type { Catalog } from '../../domain/routing/plan.ts'
import { videoKinds } from '../../domain/video/request.ts'
import type { EventLog } from '../../log/event-log.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import type { Checks } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import { type EdgeBounds, edgeBoundsWith } from './bounds.ts'
import { HttpListener, type ListenerPhase } from './http-listener.ts'
import type { IdempotencyKeys } from './idempotency/idempotency-keys.ts'
import type { Inference } from './inference.ts'
import { authenticate } from './middleware/authenticate.ts'
import { type AdminIdentity, authenticateAdmin } from './middleware/authenticate-admin.ts'
import { boundAt, boundByMoney } from './middleware/body-bound.ts'
import type { EdgeContext, EdgeMiddleware, EdgeState } from './middleware/context.ts'
import { FaultReporter } from './middleware/errors.ts'
import { readJson } from './middleware/json-body.ts'
import { limitOpenRequests } from './middleware/limit-open-requests.ts'
import { limitRate } from './middleware/limit-rate.ts'
import { normalizeTarget } from './middleware/normalize-target.ts'
import { readAll, readNamed } from './middleware/read-ledger.ts'
import { refuseAmbiguous } from './middleware/refuse-ambiguous.ts'
import { refuseExpectation } from './middleware/refuse-expectation.ts'
import { refusePipelined } from './middleware/refuse-pipelined.ts'
import { refuseUnrouted } from './middleware/refuse-unrouted.ts'
import { refuseWhileStopping } from './middleware/refuse-while-stopping.ts'
import { renderErrors } from './middleware/render-errors.ts'
import { identifyRequest } from './middleware/request-id.ts'
import { requireLog } from './middleware/require-log.ts'
import { OpenRequestCounter } from './open-requests.ts'
import { operations } from './openapi/operations.ts'
import type { Rates } from './rates/rates.ts'
import type { EdgeReadModels } from './read-models.ts'
import type { RequestWatch } from './request-watch.ts'
import type { ResponseOwners } from './response-owners.ts'
import type { AdminParts, PathNames } from './surfaces/admin/route.ts'
import { adminRoutes } from './surfaces/admin/routes.ts'
import { completeChat } from './surfaces/chat/handler.ts'
import { showBillingSubscription, showBillingUsage } from './surfaces/dashboard/billing.ts'
import { serveDashboard } from './surfaces/dashboard/page.ts'
import { showHealth, showReadiness } from './surfaces/health/health.ts'
import type { LiveTails } from './surfaces/ledger/live-tails.ts'
import { ledgerPrefixes, ledgerRoutes } from './surfaces/ledger/routes.ts'
import { createMessage, serveTokenCount } from './surfaces/messages/handler.ts'
import { requireVersion } from './surfaces/messages/version.ts'
import { listModels, showModel } from './surfaces/models/models.ts'
import { listNative, showNative, submitNative } from './surfaces/native-video/handler.ts'
import { showOpenapi } from './surfaces/openapi/openapi.ts'
import { createResponse, serveStoredResponse } from './surfaces/responses/handler.ts'
import { readJsonOrForm } from './surfaces/video/form.ts'
import { showGeneration, submitGeneration } from './surfaces/video/handler.ts'
import { createVideo, downloadVideo, retrieveVideo } from './surfaces/video/openai.ts'
import type { VideoTasks } from './video-tasks.ts'

export interface ServerParts {
  readonly inference: Inference
  readonly videoTasks: VideoTasks
  readonly keys: IdempotencyKeys
  readonly tail: LedgerTail
  readonly rates: Rates
  readonly requestWatch: RequestWatch
  readonly ready: () => Checks
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  readonly log: Pick<EventLog, 'lastSequence'>
  /** Their checkpoints of the log are trusted. */
  readonly verifiers: readonly Verifier[]
  readonly tails: LiveTails
  readonly responseOwners: ResponseOwners
  readonly catalog: () => Catalog
  readonly administration: AdminParts
  readonly admins: readonly AdminIdentity[]
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  /** Overrides of `limits.ts`, for a test. */
  readonly bounds?: Partial<EdgeBounds>
}

const routes = (parts: ServerParts, bounds: EdgeBounds, faults: FaultReporter): Router<EdgeState, object> => {
  const { inference, videoTasks, keys, tail, rates, readModels, catalog, clock, logger } = parts
  const authenticated = authenticate(tail.ledger.accounts)
  const recorded = requireLog(inference)
  const few = limitOpenRequests(new OpenRequestCounter(bounds))
  const limited = limitRate(rates)
  const bodyBound = boundByMoney(tail.ledger, bounds.requestBodyBytesMax)
  const json = readJson(bodyBound)
  const called = [authenticated, few, recorded, limited]
  const version = requireVersion()
  const surface = { inference, keys, bounds, logger, faults }
  const submits = { videoTasks, keys, logger }
  const responses = { ...surface, owners: parts.responseOwners, clock }
  const models = { catalog, prices: tail.ledger.prices, accounts: tail.ledger.accounts, clock }

  const router = new Router<EdgeState, object>()
  router.post('/v1/chat/completions', ...called, json, completeChat(surface))
  router.post('/v1/messages', ...called, version, json, createMessage(surface))
  router.post('/v1/messages/count_tokens', ...called, version, json, serveTokenCount(surface))
  router.post('/v1/responses', ...called, json, createResponse(responses))
  router.get('/v1/responses/:id', ...called, serveStoredResponse('get_response', responses))
  router.delete('/v1/responses/:id', ...called, serveStoredResponse('delete_response', responses))
  router.post('/v1/video/generations', ...called, json, submitGeneration(submits))
  router.get('/v1/video/generations/:id', authenticated, showGeneration(videoTasks))
  router.post('/v1/videos', ...called, readJsonOrForm(bodyBound), createVideo(submits))
  router.get('/v1/videos/:id', authenticated, retrieveVideo(videoTasks))
  router.get('/v1/videos/:id/content', authenticated, downloadVideo(videoTasks))
  for (const kind of videoKinds) {
    router.post(`/vv/v1/videos/${kind}`, ...called, json, submitNative(kind, submits))
    router.get(`/vv/v1/videos/${kind}`, authenticated, listNative(kind, videoTasks))
    router.get(`/vv/v1/videos/${kind}/:id`, authenticated, showNative(videoTasks))
  }
  router.get('/v1/models', listModels(models))
  router.get('/v1/models/*id', showModel(models))
  router.get(['/v1/dashboard/billing/usage', '/dashboard/billing/usage'], authenticated, showBillingUsage(readModels))
  router.get(
    ['/v1/dashboard/billing/subscription', '/dashboard/billing/subscription'],
    authenticated,
    showBillingSubscription(readModels),
  )
  serveLedger(router, parts, bounds, authenticated)
  serveAdministration(router, parts, { recorded, json: readJson(boundAt(bounds.requestBodyBytesMax)) })
  router.get('/healthz', showHealth())
  router.get('/readyz', showReadiness(parts.ready))
  router.get('/openapi.json', showOpenapi())
  checkDescribed(router)
  return router
}

/** Throws where a route is not in the OpenAPI document, or an operation of the document has no route. */
const checkDescribed = (router: Router<EdgeState, object>): void => {
  const routed = router.stack.flatMap(({ methods, path }) =>
    methods.filter((method) => method !== 'HEAD').map((method) => `${method.toLowerCase()} ${path}`),
  )
  const described = operations.map(({ method, path }) => `${method} ${path}`)
  const different = [
    ...routed.filter((route) => !described.includes(route)),
    ...described.filter((route) => !routed.includes(route)),
  ]
  if (different.length > 0) throw new Error(`routes and OpenAPI document differ: ${different.join(', ')}`)
}

const serveAdministration = (
  router: Router<EdgeState, object>,
  { admins, administration }: ServerParts,
  { recorded, json }: { readonly recorded: EdgeMiddleware; readonly json: EdgeMiddleware },
): void => {
  const administered = authenticateAdmin(admins)
  for (const { method, path, changes, request, serve } of adminRoutes)
    router[method](
      path,
      administered,
      ...(changes ? [recorded] : []),
      ...(request === null ? [] : [json]),
      (ctx: EdgeContext & { readonly params: PathNames }) => serve(ctx, ctx.params, administration),
    )
}

const serveLedger = (
  router: Router<EdgeState, object>,
  parts: ServerParts,
  bounds: EdgeBounds,
  authenticated: EdgeMiddleware,
): void => {
  const administered = authenticateAdmin(parts.admins)
  const named = readNamed(parts.tail.ledger.accounts)
  for (const { path, ofAll, serve } of ledgerRoutes) {
    const served = serve({ ...parts, bounds })
    router.get(ledgerPrefixes.own + path, authenticated, served)
    router.get(ledgerPrefixes.named + path, administered, named, served)
    if (ofAll) router.get(ledgerPrefixes.all + path, administered, readAll(), served)
  }
}

const brokenConnection: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT'])

/** What no middleware could catch: a broken client connection, or an internal fault within the framework. */
const reportFault =
  (logger: Logger) =>
  (fault: NodeJS.ErrnoException): void => {
    if (brokenConnection.has(fault.code)) logger.debug({ fault }, 'a client connection broke')
    else logger.error({ fault }, 'a response could not be sent')
  }

const createApp = (parts: ServerParts, bounds: EdgeBounds, phase: () => ListenerPhase): RequestListener => {
  const faults = new FaultReporter(parts.logger)
  const router = routes(parts, bounds, faults)
  const app = new Koa<EdgeState, object>()
  app.on('error', reportFault(parts.logger))
  app.use(identifyRequest(parts.newId))
  app.use(parts.requestWatch.watch)
  app.use(renderErrors(faults))
  app.use(normalizeTarget())
  app.use(refuseAmbiguous(bounds.headersCountMax))
  app.use(refuseExpectation())
  app.use(refusePipelined(bounds.pipelinedRequestsMax))
  app.use(refuseWhileStopping(phase))
  app.use(serveDashboard())
  app.use(router.routes())
  app.use(refuseUnrouted(router))
  return app.callback()
}

export const createServer = (parts: ServerParts): HttpListener => {
  const bounds = edgeBoundsWith(parts.bounds)
  return new HttpListener({
    handler: (phase) => createApp(parts, bounds, phase),
    bounds,
    newId: parts.newId,
  })
}
