import { setTimeout as pause } from 'node:timers/promises'
import type { OperationContext } from '../../administration/operation.ts'
import type { Verifier } from '../../audit/note.ts'
import { liveCatalog } from '../../domain/routing/overlay.ts'
import type { Catalog, Random } from '../../domain/routing/plan.ts'
import { EndUserIds, type EndUserKeyStore } from '../../log/end-users.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { FrameSource } from '../../log/raw-frames.ts'
import { WalletCommandHandler, type WalletEventType } from '../../log/wallet-command-handler.ts'
import { LiveTails } from '../../read-api/live-tails.ts'
import { createPositions } from '../../read-api/positions.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'
import type { CertificateFiles } from '../../runtime/certificate.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import { type Checks, checkOf } from '../../runtime/health.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { noObserver, type Observer, type Readings } from '../../runtime/observer.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { Dispatch } from '../dispatch.ts'
import { manifests } from '../manifests.ts'
import { OpenCalls } from '../open-calls.ts'
import type { RateRecords } from '../rate-records.ts'
import { defineRole, type WatchedRole } from '../role.ts'
import type { WorkQueue } from '../work-queue.ts'
import { Allowances } from './admission/allowances.ts'
import { IdempotencyKeys } from './admission/idempotency/idempotency-keys.ts'
import { OrphanedRequestResolver } from './admission/idempotency/orphaned-request-resolver.ts'
import type { OutcomeStore } from './admission/idempotency/outcome-store.ts'
import { AbortedStreams } from './admission/open-requests.ts'
import { Rates } from './admission/rates/rates.ts'
import { type EdgeBounds, edgeBoundsWith } from './bounds.ts'
import type { AdminIdentity, PersonSignIn } from './http/authenticate.ts'
import type { HttpListener } from './http/listener.ts'
import { RequestWatch } from './http/request-watch.ts'
import { Sessions } from './http/sessions.ts'
import { createServer } from './server.ts'
import { type EdgeEvent, Inference } from './surfaces/inference/inference.ts'
import type { ResponseOwners } from './surfaces/responses/handler.ts'
import { ResultUrlRefresher } from './surfaces/tasks/result-url-refresher.ts'
import { type EdgeTasks, VideoTasks } from './surfaces/tasks/video-tasks.ts'

interface EdgeParts {
  readonly log: LogOf<EdgeEvent>
  /** Caught up with the log: an edge decides from it. It must run until the edge has stopped. */
  readonly tail: LedgerTail
  readonly dispatch: Dispatch
  /** From the configuration; settings in the log override it. */
  readonly catalog: () => Catalog
  readonly admins: () => readonly AdminIdentity[]
  /** Default: people cannot sign in by an identity provider. */
  readonly signIn?: () => PersonSignIn | null
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  /** Their checkpoints of the log are trusted; nothing is proved where there are none. */
  readonly verifiers: readonly Verifier[]
  readonly responseOwners: ResponseOwners
  readonly taskQueue: Pick<WorkQueue, 'put' | 'withdraw'>
  readonly outcomes: OutcomeStore
  readonly endUserKeys: EndUserKeyStore
  /** Of the tags that a request may carry. Default none. */
  readonly tagNames?: readonly string[]
  /** Who invoices whom. Default: no invoices are issued. */
  readonly invoicing?: OperationContext['invoicing']
  readonly approvalAbovePicos: OperationContext['approvalAbovePicos']
  readonly alertDestinations: OperationContext['alertDestinations']
  /** Of the proxy in this process; default: there is none. */
  readonly ejections?: OperationContext['ejections']
  readonly tasks: EdgeTasks
  readonly callbacks: boolean
  readonly taskDeadlineMs: number
  readonly rateRecords: RateRecords
  /** For workspaces whose limits do not set one; null for no limit. */
  readonly requestsPerMinute: () => number | null
  readonly requestDeadlineMs?: number
  readonly listen: {
    readonly host: string
    readonly port: number
    readonly tls?: CertificateFiles | undefined
    /** Other processes accept connections of the same socket. Default false. */
    readonly isShared?: boolean
  }
  /** Of pages whose scripts may call the API. Default none. */
  readonly corsOrigins?: readonly string[]
  readonly clock: Clock
  readonly newId: NewId
  /** `task_` and 32 random letters and digits. */
  readonly newTaskId: () => string
  /** 48 characters that cannot be guessed. */
  readonly randomText: () => string
  readonly random: Random
  readonly logger: Logger
  readonly observer?: Observer
  /** Whether each request is logged in one line. Default false. */
  readonly requestLines?: boolean
  /** Checks of the rest of the process: they count for whether requests can be served. */
  readonly checks?: () => Checks
  /** Of these, what administrators see alone. */
  readonly adminChecks?: () => Checks
  /** Overrides of `limits.ts`, for a test. */
  readonly bounds?: Partial<EdgeBounds>
}

interface RunningEdge extends WatchedRole {
  readonly readings: Readings
  readonly url: string
  readonly port: number
}

interface Stoppable {
  readonly server: HttpListener
  readonly isShared: boolean
  readonly tails: LiveTails
  readonly openCalls: OpenCalls
  readonly allowances: Allowances
  readonly rates: Rates
  readonly inference: Inference
  readonly videoTasks: VideoTasks
  readonly requestWatch: RequestWatch
}

/** What outlives the drain is ended at its proxy: the log has its end while this edge can still return what it held. */
const stopWithin = async (
  { withdrawMs, sharedWithdrawMs, stopMs, lastAnswerMs, closingAckMs, allowanceReturnMs }: EdgeBounds,
  { server, isShared, tails, openCalls, allowances, rates, inference, videoTasks, requestWatch }: Stoppable,
): Promise<void> => {
  server.stopAccepting()
  if (isShared) await waitAtMost(server.stopListening(), sharedWithdrawMs)
  if (withdrawMs > 0) await pause(withdrawMs)
  const drained = server.drain().then(() => allowances.ended())
  tails.close()
  await waitAtMost(drained, stopMs)
  openCalls.shutDown()
  await server.abortOpen(lastAnswerMs)
  await waitAtMost(allowances.ended(), closingAckMs)
  await Promise.all([
    allowances.close(),
    rates.close(),
    waitAtMost(inference.close(), allowanceReturnMs),
    videoTasks.close(allowanceReturnMs),
    requestWatch.close(allowanceReturnMs),
  ])
}

const start = async (parts: EdgeParts): Promise<RunningEdge> => {
  const { log, tail, rateRecords, requestDeadlineMs = sharedLimits.requestDeadlineMs, listen } = parts
  const { observer = noObserver, requestLines = false, checks: checksBeside = () => ({}) } = parts
  const bounds = edgeBoundsWith(parts.bounds)
  const wallets: Pick<LogOf<Extract<EdgeEvent, WalletEventType>>, 'appendToWallet'> = log
  const writer = new WalletCommandHandler(wallets, tail)
  const catalog = liveCatalog(parts.catalog, tail.ledger)
  const owner = log.writer
  const allowances = new Allowances({
    ...parts,
    writer,
    owner,
    requestDeadlineMs,
    returnMs: bounds.allowanceReturnMs,
  })
  const openCalls = new OpenCalls()
  const dispatch: Dispatch = (call, clientGone) => parts.dispatch(call, clientGone, openCalls)
  const rates = new Rates({ ...parts, records: rateRecords, owner, requestDeadlineMs })
  const abortedStreams = new AbortedStreams()
  const inference = new Inference({ ...parts, abortedStreams, catalog, dispatch, allowances, rates, requestDeadlineMs })
  const resultUrls = new ResultUrlRefresher({ ...parts, inference })
  const videoTasks = new VideoTasks({ ...parts, ...bounds, catalog, writer, owner, resultUrls })
  const keys = new IdempotencyKeys({ ...parts, ...bounds, orphanedRequests: new OrphanedRequestResolver(parts) })
  const requestWatch = new RequestWatch({ ...parts, ...bounds, observer, requestLines })
  const tails = new LiveTails(tail)
  const checks = (): Checks => ({
    accepting: checkOf(server.phase === 'open', 'is stopping'),
    recording: inference.check,
  })
  const { tagNames = [], invoicing = () => null, signIn = () => null, ejections = null } = parts
  const server = createServer({
    ...parts,
    catalog,
    administration: { ...parts, tagNames, invoicing, ejections, log, tail, writer, configured: parts.catalog, catalog },
    inference,
    endUsers: new EndUserIds({ ...parts, store: parts.endUserKeys }),
    tagNames,
    videoTasks,
    keys,
    rates,
    requestWatch,
    ...{ signIn, sessions: new Sessions({ ...parts, store: parts.endUserKeys }) },
    tails,
    positions: createPositions({ ...parts, lastSequence: () => log.lastSequence() }),
    tls: listen.tls,
    ready: () => ({ ...checksBeside(), ...checks() }),
  })
  const readings: Readings = async () => requestWatch.readings(await server.connections())
  const stop = (withdrawMs = bounds.withdrawMs): Promise<void> =>
    stopWithin(
      { ...bounds, withdrawMs },
      {
        server,
        isShared: listen.isShared ?? false,
        tails,
        openCalls,
        allowances,
        rates,
        inference,
        videoTasks,
        requestWatch,
      },
    )
  try {
    return { ...(await server.listen(listen.host, listen.port)), checks, readings, stop: () => stop() }
  } catch (fault) {
    await stop(0)
    throw fault
  }
}

export const edge = defineRole({
  name: 'edge',
  emits: manifests.edge,
  start,
})
