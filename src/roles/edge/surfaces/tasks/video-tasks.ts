import { findOrCreateWallet } from '../../../../domain/ledger/ledger.ts'
import type { Task } from '../../../../domain/video/task.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { TaskPage } from '../../../../projections/tasks/queries.ts'
import type { RecentTasks } from '../../../recent-tasks.ts'
import type { AcceptedTask } from '../../../task-views.ts'
import { digestOf, draftTask, type PlaceTaskHold, type TaskDraftParts, type VideoSubmission } from './draft-task.ts'
import { conflict, TaskPlacement, type TaskPlacementParts } from './place-task.ts'
import type { Requester, ResultUrlRefresher } from './result-url-refresher.ts'

/** The tasks of a workspace, whether they have ended or not. */
export type EdgeTasks = Pick<RecentTasks, 'find' | 'findByExternalId' | 'list'>

interface VideoTaskParts extends TaskDraftParts, TaskPlacementParts {
  readonly tail: LedgerTail
  readonly tasks: EdgeTasks
  readonly resultUrls: Pick<ResultUrlRefresher, 'refreshResults'>
  /** `task_` and 32 random letters and digits. */
  readonly newTaskId: () => string
}

interface NamedTask {
  readonly taskId: string
  /** Whether it may have been submitted before. */
  readonly mayExist: boolean
}

const taskIdPattern = /^task_[A-Za-z0-9]{32}$/

export class VideoTasks {
  readonly #parts: VideoTaskParts
  readonly #placement: TaskPlacement

  constructor(parts: VideoTaskParts) {
    this.#parts = parts
    this.#placement = new TaskPlacement(parts)
  }

  /**
   * Resolves once the task's payload and its hold are stored: it will be done, or its money is released. A repeat under
   * the same id of the caller's, or as the same named task, is the same task. Throws what is wrong with the request
   * before anything is stored; `insufficient_user_quota`; `key_spend_limit_reached`; `external_task_id_conflict`; what
   * its caller's rate limits refuse; `log_unavailable`, after which only a submit with an id of the caller's, or of a
   * named task, may have happened.
   */
  async submit(
    submission: VideoSubmission,
    clientGone: AbortSignal,
    named: NamedTask | null = null,
  ): Promise<AcceptedTask> {
    const requestDigest = await digestOf(submission.request)
    const existing = (await this.#findNamed(submission, named)) ?? (await this.#findExisting(submission, requestDigest))
    if (existing !== null) return existing
    const taskId = named?.taskId ?? this.newTaskId()
    const isFound = named !== null || submission.request.externalTaskId !== null
    const isShared = named?.mayExist === true
    const draft = draftTask(submission, { taskId, isFound, isShared, requestDigest }, this.#parts)
    this.#placement.refuseWhileStalled()
    await submission.rates?.admitTask(draft.command.order.model)
    const outcome = await this.#placement.place(draft, clientGone)
    const repeated = outcome === 'repeated' ? await this.#findExisting(submission, requestDigest) : null
    return repeated ?? this.#accepted(draft.command)
  }

  /** What a submit that repeats none is certain to be refused with, for want of money or for itself; null otherwise. */
  findRefusal(submission: VideoSubmission): GatewayError | null {
    const { key, request } = submission
    const { externalTasks } = findOrCreateWallet(this.#parts.tail.ledger, key.workspaceId)
    if (request.externalTaskId !== null && externalTasks.has(request.externalTaskId)) return null
    try {
      const unnamed = { taskId: '', isFound: false, isShared: false, requestDigest: '' }
      return this.#placement.findShortage(draftTask(submission, unnamed, this.#parts))
    } catch (fault) {
      if (fault instanceof GatewayError) return fault
      throw fault
    }
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
  list(workspaceId: string, kind: Task['kind'], page: TaskPage): Promise<readonly Task[]> {
    return this.#parts.tasks.list(workspaceId, kind, page)
  }

  /** Call it after the last submit. A hold not released within `waitMs` stays until the task's end. */
  close(waitMs: number): Promise<void> {
    return this.#placement.close(waitMs)
  }

  async #findOwn({ key }: Requester, taskId: string): Promise<Task | null> {
    return taskIdPattern.test(taskId) ? this.#parts.tasks.find(key.workspaceId, taskId) : null
  }

  async #shown(requester: Requester, task: Task | null): Promise<Task> {
    return this.#parts.resultUrls.refreshResults(found(task), requester)
  }

  /** Null where the named task does not exist yet. Throws `read_models_unavailable` while it cannot be looked up. */
  async #findNamed({ key }: VideoSubmission, named: NamedTask | null): Promise<AcceptedTask | null> {
    return named?.mayExist === true ? this.#parts.tasks.find(key.workspaceId, named.taskId) : null
  }

  /** The task that the caller's own id names, even if it could not be submitted now; null where it names none. */
  async #findExisting({ key, request, pathOf }: VideoSubmission, requestDigest: string): Promise<AcceptedTask | null> {
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
}

const found = (task: Task | null): Task => {
  if (task === null) throw new GatewayError('task_not_exist', 'There is no task with this id.')
  return task
}
