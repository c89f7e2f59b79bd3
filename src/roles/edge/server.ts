import type { RequestListener } from 'node:http'
import { Router } from '@koa/router'
import Koa from 'koa'
import { readAll, readNamed, serveOperation } from '../../administration/http/serve-operation.ts'
import { changesLog, type OperationContext } from '../../administration/operation.ts'
import { adminOperations } from '../../administration/operations/table.ts'
import type { Verifier } from '../../audit/note.ts'
import type { Catalog } from '../../domain/routing/plan.ts'
import { videoKinds } from '../../domain/video/request.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { HttpMiddleware, HttpState } from '../../http/context.ts'
import { FaultReporter } from '../../http/errors.ts'
import type { EndUserIds } from '../../log/end-users.ts'
import type { EventLog } from '../../log/event-log.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { FrameSource } from '../../log/raw-frames.ts'
import { showBillingSubscription, showBillingUsage } from '../../read-api/billing.ts'
import { serveDashboard } from '../../read-api/dashboard/page.ts'
import { showHealth, showReadiness } from '../../read-api/health.ts'
import type { LiveTails } from '../../read-api/live-tails.ts'
import { showOpenapi } from '../../read-api/openapi/document.ts'
import type { Positions } from '../../read-api/positions.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'
import { reflectPosition } from '../../read-api/reflect-position.ts'
import { ledgerPrefixes, ledgerRoutes } from '../../read-api/routes.ts'
import type { CertificateFiles } from '../../runtime/certificate.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import type { Checks } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { IdempotencyKeys } from './admission/idempotency/idempotency-keys.ts'
import { boundByMoney, limitOpenRequests, OpenRequestCounter } from './admission/open-requests.ts'
import type { Rates } from './admission/rates/rates.ts'
import { limitRate } from './admission/rates/request-rates.ts'
import { type EdgeBounds, edgeBoundsWith } from './bounds.ts'
import { attributeRequest } from './http/attribute-request.ts'
import { type AdminIdentity, authenticate, authenticateAdmin, type PersonSignIn } from './http/authenticate.ts'
import { serveExact } from './http/exact-routes.ts'
import { HttpListener, type ListenerPhase, refuseWhileStopping } from './http/listener.ts'
import {
  allowOrigins,
  identifyRequest,
  moveKeyToHeader,
  refuseMalformed,
  refusePipelined,
  renderErrors,
} from './http/middleware.ts'
import { boundAt, readJson } from './http/request-body.ts'
import type { RequestWatch } from './http/request-watch.ts'
import { sessionRoutes } from './http/session-routes.ts'
import type { Sessions } from './http/sessions.ts'
import { openapiDocument, operations } from './operations.ts'
import { completeChat } from './surfaces/chat/handler.ts'
import { createEmbeddings } from './surfaces/embeddings/handler.ts'
import { countContentTokens, geminiPrefixes, generateContent } from './surfaces/gemini/handler.ts'
import { captureShares } from './surfaces/inference/capture-answer.ts'
import type { Inference } from './surfaces/inference/inference.ts'
import { surfaceLimits } from './surfaces/limits.ts'
import { createMessage, requireVersion, serveTokenCount } from './surfaces/messages/handler.ts'
import { serveModels } from './surfaces/models/models.ts'
import { listNative, showNative, submitNative } from './surfaces/native-video/handler.ts'
import { createResponse, type ResponseOwners, serveStoredResponse } from './surfaces/responses/handler.ts'
import type { VideoTasks } from './surfaces/tasks/video-tasks.ts'
import { readJsonOrForm } from './surfaces/video/form.ts'
import {
  createVideo,
  downloadVideo,
  retrieveVideo,
  showGeneration,
  submitGeneration,
} from './surfaces/video/handler.ts'

interface ServerParts {
  readonly inference: Inference
  readonly videoTasks: VideoTasks
  readonly keys: IdempotencyKeys
  readonly tail: LedgerTail
  readonly rates: Rates
  readonly requestWatch: RequestWatch
  readonly ready: () => Checks
  readonly adminChecks?: () => Checks
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  readonly log: Pick<EventLog, 'lastSequence'>
  /** Their checkpoints of the log are trusted. */
  readonly verifiers: readonly Verifier[]
  readonly tails: LiveTails
  readonly positions: Positions
  readonly responseOwners: ResponseOwners
  readonly catalog: () => Catalog
  readonly administration: Omit<OperationContext, 'role'>
  readonly endUsers: EndUserIds
  /** Of the tags that a request may carry. */
  readonly tagNames: readonly string[]
  readonly admins: () => readonly AdminIdentity[]
  readonly signIn: () => PersonSignIn | null
  readonly sessions: Sessions
  /** Of pages whose scripts may call the API. Default none. */
  readonly corsOrigins?: readonly string[]
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  readonly tls: CertificateFiles | undefined
  /** Overrides of `limits.ts`, for a test. */
  readonly bounds?: Partial<EdgeBounds>
}

type Routers = readonly Router<HttpState, object>[]

/** Inference has a router of its own, before the others: a router compares a path with each of its routes. */
const routes = (parts: ServerParts, bounds: EdgeBounds, faults: FaultReporter): Routers => {
  const { inference, keys, tail, rates, readModels, catalog, clock, logger } = parts
  const authenticated = authenticate(tail.ledger.accounts, 'read', parts.sessions, clock)
  const recorded = requireLog(inference)
  const few = limitOpenRequests(new OpenRequestCounter(bounds))
  const limited = limitRate(rates)
  const bodyBound = boundByMoney(tail.ledger, bounds.requestBodyBytesMax)
  const exactJson = readJson(bodyBound, { keepsDigits: true })
  const tokensJson = readJson(bodyBound, { membersMax: surfaceLimits.embeddingMembersMax })
  const called = [authenticate(tail.ledger.accounts, 'call', parts.sessions, clock), few, recorded, limited]
  const version = requireVersion()
  const surface = { inference, keys, bounds, logger, faults, captured: captureShares() }
  const attribution = { tagNames: new Set(parts.tagNames), endUsers: parts.endUsers }
  const ofUser = attributeRequest(attribution, 'user')
  const ofMetadata = attributeRequest(attribution, 'metadata.user_id')
  const responses = { ...surface, owners: parts.responseOwners, clock }
  const reflected = reflectPosition(parts)
  const models = serveModels({ catalog, prices: tail.ledger.prices, accounts: tail.ledger.accounts, clock })

  const inferred = new Router<HttpState, object>()
  inferred.post('/v1/chat/completions', ...called, exactJson, ofUser, completeChat(surface))
  inferred.post('/v1/messages', ...called, version, exactJson, ofMetadata, createMessage(surface))
  inferred.post('/v1/messages/count_tokens', ...called, version, exactJson, serveTokenCount(surface))
  inferred.post('/v1/responses', ...called, exactJson, ofUser, createResponse(responses))
  inferred.get('/v1/responses/:id', ...called, serveStoredResponse('get_response', responses))
  inferred.delete('/v1/responses/:id', ...called, serveStoredResponse('delete_response', responses))
  inferred.post('/v1/embeddings', ...called, tokensJson, ofUser, createEmbeddings(surface))
  const asked = [...called, exactJson, ofUser]
  for (const prefix of geminiPrefixes) {
    inferred.post(`${prefix}/models/*model\\:generateContent`, ...asked, generateContent(false, surface))
    inferred.post(`${prefix}/models/*model\\:streamGenerateContent`, ...asked, generateContent(true, surface))
    inferred.post(`${prefix}/models/*model\\:countTokens`, ...called, exactJson, countContentTokens(surface))
  }

  const router = new Router<HttpState, object>()
  router.get('/v1beta/models', models.geminiList)
  router.get('/v1beta/models/*id', models.geminiOne)
  serveVideos(router, parts, { called, authenticated, bodyBound })
  router.get('/v1/models', models.list)
  router.get('/v1/models/*id', models.one)
  router.get(
    ['/v1/dashboard/billing/usage', '/dashboard/billing/usage'],
    authenticated,
    reflected,
    showBillingUsage(readModels),
  )
  router.get(
    ['/v1/dashboard/billing/subscription', '/dashboard/billing/subscription'],
    authenticated,
    reflected,
    showBillingSubscription(readModels),
  )
  serveLedger(router, parts, bounds, authenticated)
  serveAdministration(router, parts, { recorded, json: readJson(boundAt(bounds.requestBodyBytesMax)) })
  router.get('/healthz', showHealth())
  router.get('/readyz', showReadiness(parts.ready))
  router.get('/openapi.json', showOpenapi(openapiDocument))
  const routers = [inferred, router]
  checkDescribed(routers)
  return routers
}

/** Throws where a route is not in the OpenAPI document, or an operation of the document has no route. */
const checkDescribed = (routers: Routers): void => {
  const routed = routers
    .flatMap(({ stack }) => stack)
    .flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method.toLowerCase()} ${path}`),
    )
  const described = operations.map(({ method, path }) => `${method} ${path}`)
  const different = [
    ...routed.filter((route) => !described.includes(route)),
    ...described.filter((route) => !routed.includes(route)),
  ]
  if (different.length > 0) throw new Error(`routes and OpenAPI document differ: ${different.join(', ')}`)
}

const serveVideos = (
  router: Router<HttpState, object>,
  { videoTasks, keys, logger }: ServerParts,
  {
    called,
    authenticated,
    bodyBound,
  }: {
    readonly called: readonly HttpMiddleware[]
    readonly authenticated: HttpMiddleware
    readonly bodyBound: ReturnType<typeof boundByMoney>
  },
): void => {
  const submits = { videoTasks, keys, logger }
  const json = readJson(bodyBound)
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
}

const serveAdministration = (
  router: Router<HttpState, object>,
  parts: ServerParts,
  { recorded, json }: { readonly recorded: HttpMiddleware; readonly json: HttpMiddleware },
): void => {
  for (const operation of adminOperations)
    router[operation.http.method](
      operation.http.path,
      authenticateAdmin(parts, [operation.permission, ...Object.values(operation.memberPermissions ?? {})]),
      ...(changesLog(operation) ? [recorded] : []),
      ...(operation.request === null ? [] : [json]),
      serveOperation(operation, parts.administration),
    )
}

const serveLedger = (
  router: Router<HttpState, object>,
  parts: ServerParts,
  bounds: EdgeBounds,
  authenticated: HttpMiddleware,
): void => {
  const reflected = reflectPosition(parts)
  const named = readNamed(parts.tail.ledger.accounts)
  const { requestsPerMinute } = parts.administration
  for (const { path, permission, ofAll, isFromMemory, serve } of ledgerRoutes) {
    const administered = authenticateAdmin(parts, [permission])
    const handler = serve({ ...parts, bounds, requestsPerMinute })
    const served = isFromMemory ? [handler] : [reflected, handler]
    router.get(ledgerPrefixes.own + path, authenticated, ...served)
    router.get(ledgerPrefixes.named + path, administered, named, ...served)
    if (ofAll) router.get(ledgerPrefixes.all + path, administered, readAll, ...served)
  }
}

const brokenConnection: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT'])

/** What no middleware could catch: a broken client connection, or an internal fault within the framework. */
const reportFault =
  (logger: Logger) =>
  (fault: NodeJS.ErrnoException): void => {
    if (brokenConnection.has(fault.code)) logger.log('client.connection_broken', { fault })
    else logger.log('response.send_failed', { fault })
  }

const createApp = (parts: ServerParts, bounds: EdgeBounds, phase: () => ListenerPhase): RequestListener => {
  const { corsOrigins = [] } = parts
  const faults = new FaultReporter(parts.logger)
  const { accounts } = parts.tail.ledger
  const routers = [...routes(parts, bounds, faults), sessionRoutes({ ...parts, accounts })]
  const app = new Koa<HttpState, object>()
  app.on('error', reportFault(parts.logger))
  app.use(identifyRequest(parts.newId))
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins))
  app.use(parts.requestWatch.watch)
  app.use(renderErrors(faults))
  app.use(refuseMalformed(bounds.headersCountMax))
  app.use(refusePipelined(bounds.pipelinedRequestsMax))
  app.use(refuseWhileStopping(phase))
  app.use(serveExact(routers))
  for (const router of routers) app.use(router.routes())
  app.use(serveDashboard())
  app.use(refuseUnrouted(routers))
  const handle = app.callback()
  return (request, response) => {
    moveKeyToHeader(request)
    return handle(request, response)
  }
}

export const createServer = (parts: ServerParts): HttpListener => {
  const bounds = edgeBoundsWith(parts.bounds)
  return new HttpListener({
    handler: (phase) => createApp(parts, bounds, phase),
    bounds,
    newId: parts.newId,
    logger: parts.logger,
    tls: parts.tls,
  })
}

/** Mounted after the routes. Throws `not_found`, or `method_not_allowed` where another method has a route. */
const refuseUnrouted =
  (routers: Routers): HttpMiddleware =>
  (ctx) => {
    const layers = routers.flatMap((router) => router.match(ctx.path, ctx.method).path)
    const methods = new Set(layers.flatMap((layer) => layer.methods))
    if (methods.size === 0) throw new GatewayError('not_found', 'There is nothing at this path.')
    const allowed = [...methods].join(', ')
    ctx.set('Allow', allowed)
    throw new GatewayError('method_not_allowed', `This path takes ${allowed}.`)
  }

/** Refuses at once what could not be billed. */
const requireLog =
  (inference: Inference): HttpMiddleware =>
  (_ctx, next) => {
    inference.requireLog()
    return next()
  }
