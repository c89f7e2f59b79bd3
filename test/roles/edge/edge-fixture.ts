import { hash, randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { OperationContext } from '../../../src/administration/operation.ts'
import type { Verifier } from '../../../src/audit/note.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { Catalog } from '../../../src/domain/routing/plan.ts'
import { usageOf } from '../../../src/domain/usage/usage.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import type { PriceSheet, VideoSheet } from '../../../src/events/types.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import type { FrameSource } from '../../../src/log/raw-frames.ts'
import type { AtSequence } from '../../../src/projections/checkpoint/queries.ts'
import type { EdgeReadModels } from '../../../src/read-api/read-models.ts'
import {
  type AnswerPart,
  asksForAnswer,
  type Dispatch,
  DispatchLost,
  type RoutedRequest,
} from '../../../src/roles/dispatch.ts'
import type { EdgeBounds } from '../../../src/roles/edge/bounds.ts'
import type { AdminIdentity, PersonSignIn } from '../../../src/roles/edge/http/authenticate.ts'
import { edge } from '../../../src/roles/edge/role.ts'
import type { ResponseOwners } from '../../../src/roles/edge/surfaces/responses/handler.ts'
import type { EdgeTasks } from '../../../src/roles/edge/surfaces/tasks/video-tasks.ts'
import type { RateRecords } from '../../../src/roles/rate-records.ts'
import type { WorkQueue } from '../../../src/roles/work-queue.ts'
import type { CertificateFiles } from '../../../src/runtime/certificate.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { type LogLine, recordingLogger } from '../../support/log-lines.ts'
import { MemoryEndUserKeys } from '../../support/memory-end-users.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { failed } from '../projector/facts.ts'
import { MemoryOutcomes } from './memory-outcomes.ts'
import { MemoryRates } from './memory-rates.ts'

export const secret = 'sk-test-0123456789abcdef'
export const revokedSecret = 'sk-test-revoked'
export const workspaceId = 'acme'

/** 1 USD per million in, 2 out, at most 1000 out. */
export const sheetOf = (sheet: Partial<PriceSheet> = {}): PriceSheet => ({
  currency: 'USD',
  per_million_tokens: { input: '1', output: '2' },
  max_output_tokens: 1_000,
  ...sheet,
})

const keyFact = (keyId: string, key: string): Fact => ({
  type: 'KeyIssued',
  data: { keyId, workspaceId, name: keyId, sha256: hash('sha256', key), prefix: key.slice(0, 8) },
})

const accountFacts: readonly Fact[] = [
  { type: 'WorkspaceOpened', data: { workspaceId, name: 'Acme', creditLimit: '0' } },
  keyFact('key-1', secret),
  keyFact('key-2', revokedSecret),
  { type: 'KeyRevoked', data: { keyId: 'key-2', workspaceId } },
]

const priceFact = (model: string, price: { readonly sheet: PriceSheet } | { readonly video: VideoSheet }): Fact => ({
  type: 'PricePublished',
  data: { model, version: 'v1', effectiveFrom: '2026-01-01T00:00:00Z', source: 'a test', ...price },
})

const creditFact = (amount: string): Fact => ({
  type: 'WalletCredited',
  data: { workspaceId, amount, reference: 'credit-1', note: '' },
})

/** Tokens of an answer's bill. */
export interface Used {
  readonly input: number
  readonly output: number
}

export const usageFactOf = (call: RoutedRequest, place: number, used: Used): Fact => {
  if (!asksForAnswer(call)) throw new Error('a question has no bill')
  const { model, provider, priceVersion, sheet, level } = call.candidates[place]!
  const usage = usageOf({ total: used.input }, { total: used.output })
  const { lines, totalPicos } = chargeFor(sheet, usage)
  const { requestId, keyId, surface, reserved, allowanceId } = call
  return {
    type: 'UsageRecorded',
    data: {
      ...{ requestId, workspaceId, keyId, surface, model, provider, level, priceVersion, usage, reserved, allowanceId },
      source: 'reported',
      lines: [...lines],
      total: formatUsd(totalPicos),
      attempts: [],
      outcome: 'completed',
    },
  }
}

export const textBytes = (text: string): AnswerPart => ({ type: 'bytes', bytes: Buffer.from(text) })

export const jsonHead = (call: RoutedRequest, place = 0): AnswerPart => ({
  type: 'head',
  contentType: 'application/json',
  level: call.candidates[place]!.level,
  model: call.candidates[place]!.model,
})

export const streamHead = (call: RoutedRequest, place = 0): AnswerPart => ({
  type: 'head',
  contentType: 'text/event-stream; charset=utf-8',
  level: call.candidates[place]!.level,
  model: call.candidates[place]!.model,
})

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'plain',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
}
export const completionText = JSON.stringify(completion)

/** What a provider and its proxy would do: answer, and bill before the end is out. */
export type Serve = (
  call: RoutedRequest,
  bill: (used?: Used, level?: number) => Promise<void>,
  clientGone: AbortSignal,
) => AsyncIterable<AnswerPart>

export async function* answerJson(call: RoutedRequest, bill: () => Promise<void>): AsyncGenerator<AnswerPart> {
  await bill()
  yield jsonHead(call)
  yield textBytes(completionText)
}

export interface EdgeOptions {
  readonly serve?: Serve
  readonly creditUsd?: string
  readonly sheets?: Readonly<Record<string, PriceSheet>>
  readonly videoSheets?: Readonly<Record<string, VideoSheet>>
  readonly catalog?: Partial<Catalog>
  readonly admins?: readonly AdminIdentity[]
  readonly signIn?: () => PersonSignIn | null
  readonly clock?: Clock
  readonly rateRecords?: RateRecords
  readonly endUserKeys?: MemoryEndUserKeys
  readonly tagNames?: readonly string[]
  readonly invoicing?: OperationContext['invoicing']
  readonly approvalAbovePicos?: OperationContext['approvalAbovePicos']
  readonly corsOrigins?: readonly string[]
  readonly requestsPerMinute?: number
  readonly requestDeadlineMs?: number
  readonly readModels?: Partial<EdgeReadModels>
  readonly frames?: Pick<FrameSource, 'read'>
  readonly verifiers?: readonly Verifier[]
  readonly responseOwners?: ResponseOwners
  readonly taskQueue?: Partial<Pick<WorkQueue, 'put' | 'withdraw'>>
  readonly tasks?: (tail: LedgerTail, log: MemoryLog) => EdgeTasks
  readonly outcomes?: MemoryOutcomes
  readonly ejections?: OperationContext['ejections']
  readonly callbacks?: boolean
  readonly requestLines?: boolean
  readonly taskDeadlineMs?: number
  readonly tls?: CertificateFiles
  readonly bounds?: Partial<EdgeBounds>
}

const empty = async <T>(value: T): Promise<AtSequence<T>> => ({ sequence: 0, value })
export const noReadModels: EdgeReadModels = {
  findBilling: () => empty(undefined),
  findBalanceSnapshot: () => empty(undefined),
  listTasks: () => empty([]),
  listFindings: () => empty({ findings: [], isComplete: true }),
  findCheckpoint: () => empty(null),
  listUsage: () => empty([]),
  readStatement: () =>
    empty({
      isFinal: false,
      opening: { balancePicos: 0n, heldPicos: 0n },
      closing: { balancePicos: 0n, heldPicos: 0n },
      entries: [],
      next: null,
    }),
  listHolds: () => empty([]),
  listCharges: () => empty({ charges: [], next: null }),
  listRequests: () => empty({ requests: [], next: null, searchedTo: null }),
  listOutcomes: () => empty([]),
  listRefusals: () => empty([]),
  listCalls: () => empty([]),
  findTrace: () => empty(undefined),
  findRequestFrames: () => empty(undefined),
  findSheetSequence: async () => undefined,
  findKey: async () => undefined,
  readReport: () => empty({ rows: [], workspaces: 0 }),
  listAdminChanges: () => empty([]),
  listUnfinished: () => empty([]),
  readInvoiced: () => Promise.reject(new Error('there are no tables')),
  readPeriodJournal: () => Promise.reject(new Error('there are no tables')),
}

/** As the tables would have it at the end of the log. */
const requestFramesIn =
  ({ frames }: MemoryLog): EdgeReadModels['findRequestFrames'] =>
  async (requestId) => {
    const own = frames.filter(({ events }) =>
      events.some(({ data }) => 'requestId' in data && data.requestId === requestId),
    )
    const sequences = own.slice(0, 2).map(({ sequence }) => sequence)
    return { sequence: frames.length, value: sequences.length < 2 ? undefined : sequences }
  }

const noOwners: ResponseOwners = { find: async () => undefined }
const noTasks: EdgeTasks = { find: async () => null, findByExternalId: async () => null, list: async () => [] }

let taskIds = 0
const newTaskId = (): string => {
  taskIds += 1
  return `task_${String(taskIds).padStart(32, '0')}`
}

export interface TestEdge {
  readonly url: string
  readonly port: number
  readonly log: MemoryLog
  readonly tail: LedgerTail
  readonly calls: RoutedRequest[]
  /** What was put into the task queue and not withdrawn, by task id. */
  readonly queued: Map<string, Uint8Array>
  readonly logged: LogLine[]
  readonly stop: () => Promise<void>
  /** POST with the key to `/v1/chat/completions`, `Content-Type: application/json`, unless said otherwise. */
  readonly post: (body: unknown, headers?: Readonly<Record<string, string>>, path?: string) => Promise<Response>
}

export const plainAsk = { model: 'openai/plain', messages: [{ role: 'user', content: 'Hello!' }] }

const catalogWith = (own: Partial<Catalog> = {}): Catalog => ({
  providers: new Map([
    ['openai', { models: {}, surfaces: ['chat', 'messages', 'responses'], profile: 'openai' }],
    ['grok', { models: {}, surfaces: ['chat'], profile: 'xai' }],
    ['vv', { models: { v3: 'vendor-v3' } }],
  ]),
  aliases: { plain: 'openai/plain' },
  routers: { auto: { candidates: ['openai/absent', 'openai/plain', 'openai/other'] } },
  ...own,
})

const openLog = async ({ creditUsd = '100', sheets = {}, videoSheets = {} }: EdgeOptions): Promise<MemoryLog> => {
  const log = new MemoryLog({ timeOf: () => new Date().toISOString() })
  const all = { 'openai/plain': sheetOf(), 'openai/other': sheetOf(), 'grok/plain': sheetOf(), ...sheets }
  await log.append([
    ...accountFacts,
    ...Object.entries(all).map(([model, sheet]) => priceFact(model, { sheet })),
    ...Object.entries(videoSheets).map(([model, video]) => priceFact(model, { video })),
  ])
  await log.postToWallet(workspaceId, [creditFact(creditUsd)])
  return log
}

/** Tells the log of the end of each call that has none, as a proxy would have: an edge that stops waits for it. */
const endCalls = async (log: MemoryLog, calls: readonly RoutedRequest[]): Promise<void> => {
  const ended = new Set(
    log.events.map(({ type, data }) => (type === 'UsageRecorded' || type === 'RequestFailed' ? data.requestId : null)),
  )
  const left = calls.filter(asksForAnswer).filter(({ requestId }) => !ended.has(requestId))
  if (left.length === 0) return
  await log.append(left.map(({ requestId, keyId, surface }) => failed(requestId, { keyId, surface })))
}

/** Of a provider: a proxy throws it once the log has the end of the request. */
const isProxyFailure = (fault: unknown): fault is GatewayError =>
  fault instanceof GatewayError && !(fault instanceof DispatchLost) && fault.code !== 'log_unavailable'

/** An edge over real HTTP; the log is in memory, and `serve` stands for proxy and provider. */
export const startEdge = async (t: Test, options: EdgeOptions = {}): Promise<TestEdge> => {
  const log = await openLog(options)
  const tail = new LedgerTail(initialLedger(), log)
  await tail.waitForSequence(await log.lastSequence())
  const calls: RoutedRequest[] = []
  const logged: LogLine[] = []
  const queued = new Map<string, Uint8Array>()
  const recordingQueue: Pick<WorkQueue, 'put' | 'withdraw'> = {
    put: async (id, bytes) => {
      queued.set(id, bytes)
      await options.taskQueue?.put?.(id, bytes)
    },
    withdraw: async (id) => {
      await options.taskQueue?.withdraw?.(id)
      queued.delete(id)
    },
  }
  const serve = options.serve ?? answerJson
  const dispatch: Dispatch = (call, clientGone) => {
    calls.push(call)
    let billed = false
    const bill = async (used: Used = { input: 10, output: 5 }, level = 0): Promise<void> => {
      billed = true
      await log.append([usageFactOf(call, level, used)])
    }
    const answer = async function* (): AsyncGenerator<AnswerPart> {
      try {
        yield* serve(call, bill, clientGone)
      } catch (fault) {
        if (!billed && isProxyFailure(fault) && asksForAnswer(call)) {
          const { requestId, keyId, surface, allowanceId } = call
          await log.append([failed(requestId, { keyId, surface, allowanceId })])
        }
        throw fault
      }
    }
    return answer()
  }
  const catalog = catalogWith(options.catalog)
  const running = await edge.start({
    log,
    tail,
    dispatch,
    catalog: () => catalog,
    admins: () => options.admins ?? [],
    signIn: options.signIn ?? (() => null),
    randomText: () => randomBytes(36).toString('base64url'),
    random: Math.random,
    readModels: { ...noReadModels, findRequestFrames: requestFramesIn(log), ...options.readModels },
    frames: options.frames ?? log,
    verifiers: options.verifiers ?? [],
    responseOwners: options.responseOwners ?? noOwners,
    taskQueue: recordingQueue,
    outcomes: options.outcomes ?? new MemoryOutcomes(),
    tasks: options.tasks?.(tail, log) ?? noTasks,
    callbacks: options.callbacks ?? true,
    taskDeadlineMs: options.taskDeadlineMs ?? 86_400_000,
    rateRecords: options.rateRecords ?? new MemoryRates(),
    endUserKeys: options.endUserKeys ?? new MemoryEndUserKeys(),
    tagNames: options.tagNames ?? [],
    ...(options.invoicing === undefined ? {} : { invoicing: options.invoicing }),
    alertDestinations: () => new Map([['ops', { type: 'webhook' }]]),
    ejections: options.ejections ?? null,
    approvalAbovePicos: options.approvalAbovePicos ?? (() => null),
    requestsPerMinute: () => options.requestsPerMinute ?? null,
    ...(options.requestDeadlineMs === undefined ? {} : { requestDeadlineMs: options.requestDeadlineMs }),
    listen: { host: '127.0.0.1', port: 0, tls: options.tls },
    corsOrigins: options.corsOrigins ?? [],
    clock: options.clock ?? Date.now,
    newId: randomUUID,
    newTaskId,
    logger: recordingLogger(logged),
    requestLines: options.requestLines ?? false,
    bounds: { stopMs: 2_000, lastAnswerMs: 500, closingAckMs: 500, allowanceReturnMs: 1_000, ...options.bounds },
  })
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopped ??= running.stop()
    await stopped
    await tail.stop()
  }
  t.teardown(async () => {
    endCalls(log, calls).catch(() => {}) // A log that stalls or refuses never hears of it.
    await stop()
  })
  const post: TestEdge['post'] = (body, headers = {}, path = '/v1/chat/completions') =>
    fetch(running.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    })
  return { url: running.url, port: running.port, log, tail, calls, queued, logged, stop, post }
}

export interface WireError {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly code: string | null
    readonly param: string | null
  }
}

export const errorOf = async (response: Response): Promise<WireError['error']> =>
  ((await response.json()) as WireError).error
