import { hash } from 'node:crypto'
import type { Key } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import { utcDayAt } from '../../../../domain/instant.ts'
import { findOrCreateWallet } from '../../../../domain/ledger/ledger.ts'
import { formatUsd } from '../../../../domain/money.ts'
import type { Catalog, Random } from '../../../../domain/routing/plan.ts'
import { comparableBody, withDefaults } from '../../../../domain/video/defaults.ts'
import { planVideo, type VideoPlan } from '../../../../domain/video/plan.ts'
import type { TaskPayload, VideoRequest } from '../../../../domain/video/request.ts'
import { checkVideoRequest } from '../../../../domain/video/rules.ts'
import { unitsPicosRoundingHalfUp } from '../../../../domain/video/settle.ts'
import type { Task } from '../../../../domain/video/task.ts'
import { worstCaseUnits } from '../../../../domain/video/worst-case.ts'
import type { WalletCommand, WalletRefusal } from '../../../../domain/wallet/decide.ts'
import { availablePicos, findKeyRemaining, isBelowAvailable, type Wallet } from '../../../../domain/wallet/wallet.ts'
import { canonicalJson } from '../../../../encoding/json.ts'
import { clientGoneError, GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { TaskOrder } from '../../../../events/types.ts'
import type { RateLimiter } from '../../../../http/context.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { WalletCommandHandler, WalletOutcome } from '../../../../log/wallet-command-handler.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { waitAtMost, withTimeout } from '../../../../runtime/within.ts'
import type { AcceptedTask } from '../../../task-views.ts'
import type { WorkQueue } from '../../../work-queue.ts'
import { admissionLimits } from '../../admission/limits.ts'
import { keyLimitReached } from '../../admission/spend-limit.ts'
import { readImageDimensions } from './image-dimensions.ts'
import type { Requester, ResultUrlRefresher } from './result-url-refresher.ts'
import { WalletWatch, type WantedAmount } from './wallet-watch.ts'

export interface EdgeTaskPage {
  /** From 1. */
  readonly page: number
  readonly pageSize: number
}

/** The tasks of a workspace, whether they have ended or not. Each rejects while they cannot be looked up. */
export interface EdgeTasks {
  /** Null for an id that is unknown, or another workspace's. */
  find(workspaceId: string, taskId: string): Promise<Task | null>
  findByExternalId(workspaceId: string, externalTaskId: string): Promise<Task | null>
  list(workspaceId: string, kind: Task['kind'], page: EdgeTaskPage): Promise<readonly Task[]>
}

export interface VideoTaskParts {
  readonly tail: LedgerTail
  readonly writer: Pick<WalletCommandHandler, 'execute'>
  readonly owner: string
  readonly catalog: () => Catalog
  readonly random: Random
  readonly taskQueue: Pick<WorkQueue, 'put' | 'withdraw'>
  readonly tasks: EdgeTasks
  readonly freshResults: Pick<ResultUrlRefresher, 'refreshResults'>
  readonly callbacks: boolean
  /** How long a task may take before its hold is released. */
  readonly taskDeadlineMs: number
  /** `task_` and 32 random letters and digits. */
  readonly newTaskId: () => string
  readonly clock: Clock
  readonly logger: Logger
}

export interface VideoSubmit {
  readonly key: Key
  readonly surface: TaskOrder['surface']
  readonly request: VideoRequest
  readonly pathOf: (path: string) => string
  readonly rates?: RateLimiter | undefined
}

export interface NamedTask {
  readonly taskId: string
  /** Whether it may have been submitted before. */
  readonly mayExist: boolean
}

type PlaceTaskHold = Extract<WalletCommand, { type: 'PlaceTaskHold' }>

interface Draft {
  readonly workspaceId: string
  readonly command: PlaceTaskHold
  readonly payload: Uint8Array
  /** Where the caller wrote its own id of the task. */
  readonly externalIdPath: string
  /** Whether a repeat of the submit finds the task. */
  readonly isFound: boolean
}

const taskIdPattern = /^task_[A-Za-z0-9]{32}$/

export class VideoTasks {
  readonly #parts: VideoTaskParts
  readonly #watch: WalletWatch
  /** When the placement of each hold began, the oldest first. */
  readonly #placing = new Map<string, number>()
  /** Releases of holds that no caller learnt of, and withdrawals of refused payloads. */
  readonly #returns = new Set<Promise<void>>()

  constructor(parts: VideoTaskParts) {
    this.#parts = parts
    this.#watch = new WalletWatch(parts.tail)
  }

  /**
   * Resolves once the task's payload and its hold are stored: it will be done, or its money is released. A repeat under
   * the same id of the caller's, or as the same named task, is the same task. Throws what is wrong with the request
   * before anything is stored; `insufficient_user_quota`; `key_spend_limit_reached`; `external_task_id_conflict`; what
   * its caller's rate limits refuse; `log_unavailable`, after which only a submit with an id of the caller's, or of a
   * named task, may have happened.
   */
  async submit(asked: VideoSubmit, clientGone: AbortSignal, named: NamedTask | null = null): Promise<AcceptedTask> {
    const requestDigest = digestOf(asked.request)
    const existing = (await this.#submitted(asked, named)) ?? (await this.#findExisting(asked, requestDigest))
    if (existing !== null) return existing
    const draft = this.#draft(asked, requestDigest, named)
    this.#refuseWhileStalled()
    await asked.rates?.admitTask(draft.command.order.model)
    const outcome = await this.#placeCovered(draft, clientGone)
    const repeated = outcome === 'repeated' ? await this.#findExisting(asked, requestDigest) : null
    return repeated ?? this.#accepted(draft.command)
  }

  newTaskId(): string {
    return this.#parts.newTaskId()
  }

  /** With results that can be fetched, if at all. Throws `task_not_exist`, also for another workspace's task. */
  async find(requester: Requester, taskId: string): Promise<Task> {
    return this.#shown(requester, await this.#findOwn(requester, taskId))
  }

  /** By our id or the caller's. Throws `task_not_exist`. */
  async findByAnyId(requester: Requester, id: string): Promise<Task> {
    const own = await this.#findOwn(requester, id)
    return this.#shown(requester, own ?? (await this.#parts.tasks.findByExternalId(requester.key.workspaceId, id)))
  }

  /** With the results as stored, not re-signed. */
  list(workspaceId: string, kind: Task['kind'], page: EdgeTaskPage): Promise<readonly Task[]> {
    return this.#parts.tasks.list(workspaceId, kind, page)
  }

  /** Call it after the last submit. A hold not released within `waitMs` stays until the task's end. */
  async close(waitMs: number): Promise<void> {
    this.#watch.close()
    await waitAtMost(Promise.all(this.#returns), waitMs)
  }

  async #findOwn({ key }: Requester, taskId: string): Promise<Task | null> {
    return taskIdPattern.test(taskId) ? this.#parts.tasks.find(key.workspaceId, taskId) : null
  }

  async #shown(requester: Requester, task: Task | null): Promise<Task> {
    return this.#parts.freshResults.refreshResults(found(task), requester)
  }

  #draft({ key, surface, request, pathOf }: VideoSubmit, requestDigest: string, named: NamedTask | null): Draft {
    const { catalog, tail, clock, random, owner, callbacks, taskDeadlineMs } = this.#parts
    const { prices, accounts } = tail.ledger
    const plan = planVideo(catalog(), prices, request.model, clock(), random, modelPermissionOf(accounts, key))
    checkVideoRequest(request, plan.modelName, pathOf, readImageDimensions)
    checkCallback(request.callbackUrl, callbacks, pathOf)
    const whole = withDefaults(request, plan.modelName)
    const unitsMax = worstCaseUnits(plan.sheet, whole, plan.modelName, pathOf)
    const { workspaceId, keyId } = key
    const taskId = named?.taskId ?? this.newTaskId()
    const payload = payloadOf(taskId, workspaceId, plan, whole)
    const command: PlaceTaskHold = {
      type: 'PlaceTaskHold',
      taskId,
      amountPicos: unitsPicosRoundingHalfUp(unitsMax, plan.sheet.unit_price),
      day: utcDayAt(clock()),
      deadline: new Date(clock() + taskDeadlineMs).toISOString(),
      owner,
      order: orderOf({ keyId, surface, request: whole, plan, unitsMax, payload, requestDigest }),
    }
    const isFound = named !== null || request.externalTaskId !== null
    return { workspaceId, command, payload, externalIdPath: pathOf('external_task_id'), isFound }
  }

  /** If the oldest hold is neither placed nor comes back through the tail, later ones would not either. */
  #refuseWhileStalled(): void {
    const [oldestMs] = this.#placing.values()
    if (oldestMs !== undefined && performance.now() - oldestMs > sharedLimits.logStalledMs) throw logUnavailable()
  }

  /** Null where the named task does not exist yet. Throws `read_models_unavailable` while it cannot be looked up. */
  async #submitted({ key }: VideoSubmit, named: NamedTask | null): Promise<AcceptedTask | null> {
    return named?.mayExist === true ? this.#parts.tasks.find(key.workspaceId, named.taskId) : null
  }

  /** The task that the caller's own id names, even if it could not be submitted now; null where it names none. */
  async #findExisting({ key, request, pathOf }: VideoSubmit, requestDigest: string): Promise<AcceptedTask | null> {
    const { tail, clock } = this.#parts
    const { externalTaskId, model } = request
    if (externalTaskId === null) return null
    const existing = findOrCreateWallet(tail.ledger, key.workspaceId).externalTasks.get(externalTaskId)
    if (existing === undefined) return null
    if (existing.requestDigest !== requestDigest) throw conflict(externalTaskId, pathOf('external_task_id'))
    const { taskId } = existing
    const task = await this.#read(key.workspaceId, taskId)
    return { taskId, externalTaskId, model: task?.model ?? model, queuedMs: task?.queuedMs ?? clock() }
  }

  /** A task that cannot be read now is still the one that was asked for. */
  async #read(workspaceId: string, taskId: string): Promise<Task | null> {
    const { tasks, logger } = this.#parts
    try {
      return await tasks.find(workspaceId, taskId)
    } catch (fault) {
      logger.log('video.repeat_unresolved', { fault, taskId })
      return null
    }
  }

  #accepted({ taskId, order }: PlaceTaskHold): AcceptedTask {
    const { tail, clock } = this.#parts
    const queuedMs = tail.ledger.tasks.get(taskId)?.queuedMs ?? clock()
    return { taskId, model: order.model, externalTaskId: order.externalTaskId ?? null, queuedMs }
  }

  /** Queues the payload, then places the hold: a hold without its payload could not be processed. */
  async #placeCovered(draft: Draft, clientGone: AbortSignal): Promise<'placed' | 'repeated'> {
    const { command, payload } = draft
    const untilMs = performance.now() + admissionLimits.admissionWaitMs
    await this.#requireCover(draft, untilMs, clientGone)
    await this.#queue(command.taskId, payload)
    for (;;) {
      const outcome = await this.#place(draft)
      if ('refused' in outcome) await this.#coveredAfter(outcome.refused, draft, untilMs, clientGone)
      else if (outcome.facts.length > 0) return 'placed'
      else {
        if (this.#belongsToAnother(draft)) this.#withdraw(command.taskId)
        return 'repeated'
      }
    }
  }

  /** Another request was faster: waits for money once more, and withdraws the payload where none is freed. */
  async #coveredAfter(
    { reason }: WalletRefusal,
    draft: Draft,
    untilMs: number,
    clientGone: AbortSignal,
  ): Promise<void> {
    const { taskId, order } = draft.command
    try {
      if (reason === 'external_task_differs') throw conflict(order.externalTaskId ?? '', draft.externalIdPath)
      await this.#requireCover(draft, untilMs, clientGone)
    } catch (fault) {
      this.#withdraw(taskId)
      throw fault
    }
  }

  /** The caller's id names another task than this one, which then has no hold and never gets one. */
  #belongsToAnother({ workspaceId, command }: Draft): boolean {
    const { externalTaskId = '' } = command.order
    const existing = findOrCreateWallet(this.#parts.tail.ledger, workspaceId).externalTasks.get(externalTaskId)
    return existing !== undefined && existing.taskId !== command.taskId
  }

  /** Only for a task that has no hold for certain. The worker drops a payload that cannot be withdrawn. */
  #withdraw(taskId: string): void {
    const { taskQueue, logger } = this.#parts
    const withdrawn = taskQueue.withdraw(taskId).catch((fault: unknown) => {
      logger.log('video.withdraw_failed', { fault, taskId })
    })
    this.#awaitAtClose(withdrawn)
  }

  #awaitAtClose(work: Promise<void>): void {
    const ended = work.finally(() => this.#returns.delete(ended))
    this.#returns.add(ended)
  }

  async #requireCover({ workspaceId, command }: Draft, untilMs: number, clientGone: AbortSignal): Promise<void> {
    const { amountPicos, day, order } = command
    const wanted = { workspaceId, keyId: order.keyId, day, amountPicos }
    const isCovered = await this.#watch.covers(wanted, Math.ceil(untilMs - performance.now()))
    if (clientGone.aborted) throw clientGoneError()
    if (!isCovered) throw shortage(findOrCreateWallet(this.#parts.tail.ledger, workspaceId), wanted)
  }

  async #queue(taskId: string, payload: Uint8Array): Promise<void> {
    try {
      await withTimeout(this.#parts.taskQueue.put(taskId, payload), sharedLimits.routedAckMs, () => logUnavailable())
    } catch (fault) {
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  async #place({ workspaceId, command, isFound }: Draft): Promise<WalletOutcome> {
    const placed = this.#execute(workspaceId, command)
    try {
      return await withTimeout(placed, sharedLimits.routedAckMs, () => logUnavailable())
    } catch (fault) {
      if (!isFound) this.#withdrawAll(workspaceId, command.taskId, placed)
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  async #execute(workspaceId: string, command: PlaceTaskHold): Promise<WalletOutcome> {
    this.#placing.set(command.taskId, performance.now())
    try {
      return await this.#parts.writer.execute(workspaceId, command)
    } finally {
      this.#placing.delete(command.taskId)
    }
  }

  /** No caller knows the id of this task. A task that a retry finds is kept. */
  #withdrawAll(workspaceId: string, taskId: string, placed: Promise<WalletOutcome>): void {
    const returned = this.#release(workspaceId, taskId, placed).catch((fault: unknown) => {
      this.#parts.logger.log('video.orphan_task_resumed', { fault, taskId })
    })
    this.#awaitAtClose(returned)
  }

  async #release(workspaceId: string, taskId: string, placed: Promise<WalletOutcome>): Promise<void> {
    // A rejected command was never stored, or the log is closed: there is nothing to release.
    const outcome = await placed.catch(() => null)
    if (outcome === null || 'refused' in outcome) return
    await this.#parts.writer.execute(workspaceId, { type: 'ReleaseHold', holdId: taskId, reason: 'submit_failed' })
  }
}

const found = (task: Task | null): Task => {
  if (task === null) throw new GatewayError('task_not_exist', 'There is no task with this id.')
  return task
}

const conflict = (externalTaskId: string, param: string): GatewayError =>
  new GatewayError(
    'external_task_id_conflict',
    `The id \`${externalTaskId}\` was used for a task with another request. Use another id.`,
    { param },
  )

const shortage = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount): GatewayError => {
  const room = findKeyRemaining(wallet, keyId, day)
  return isBelowAvailable(room, wallet) ? keyLimitReached(room, day) : insufficient(amountPicos, availablePicos(wallet))
}

const insufficient = (neededPicos: bigint, leftPicos: bigint): GatewayError =>
  new GatewayError(
    'insufficient_user_quota',
    `The task may cost up to ${formatUsd(neededPicos)} USD, and ${formatUsd(leftPicos)} USD is available. Add credit and try again.`,
  )

const callbackProtocols: ReadonlySet<string> = new Set(['http:', 'https:'])

const isCallable = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && callbackProtocols.has(url.protocol) && url.username === '' && url.password === ''
}

/** The host is checked when it is called. */
const checkCallback = (url: string | null, callbacks: boolean, pathOf: VideoSubmit['pathOf']): void => {
  if (url === null) return
  const param = pathOf('callback_url')
  if (!callbacks)
    throw new GatewayError('unsupported_parameter', `'${param}' is not available here: poll the task instead.`, {
      param,
    })
  if (!isCallable(url))
    throw new GatewayError(
      'invalid_value',
      `Invalid value for '${param}': must be an http or https URL without credentials.`,
      { param },
    )
}

const payloadOf = (
  taskId: string,
  workspaceId: string,
  { provider, upstreamModel }: VideoPlan,
  { kind, body, callbackUrl }: VideoRequest,
): Uint8Array => {
  const payload: TaskPayload = { taskId, workspaceId, kind, provider, upstreamModel, body, callbackUrl }
  return Buffer.from(JSON.stringify(payload))
}

/** By the model's name as requested: its alias may change while the request stays the same. */
const digestOf = (request: VideoRequest): string => {
  const { model, kind, callbackUrl } = request
  return hash('sha256', canonicalJson({ model, kind, body: comparableBody(request), callbackUrl }))
}

interface Ordered extends Pick<VideoSubmit, 'surface' | 'request'> {
  readonly keyId: string
  readonly plan: VideoPlan
  readonly unitsMax: string
  readonly payload: Uint8Array
  readonly requestDigest: string
}

const orderOf = ({ keyId, surface, request, plan, unitsMax, payload, requestDigest }: Ordered): TaskOrder => ({
  keyId,
  surface,
  kind: request.kind,
  model: plan.model,
  provider: plan.provider,
  upstreamModel: plan.upstreamModel,
  priceVersion: plan.priceVersion,
  unitPrice: plan.sheet.unit_price,
  unitsMax,
  ...(request.externalTaskId === null ? {} : { externalTaskId: request.externalTaskId }),
  requestDigest,
  payloadDigest: hash('sha256', payload),
})
