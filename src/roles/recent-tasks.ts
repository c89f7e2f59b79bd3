import type { Applied } from '../domain/ledger/ledger.ts'
import { isEnded, type Task } from '../domain/video/task.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { type LedgerTail, waitForLogEnd } from '../log/ledger-tail.ts'
import { type RowFramesParts, readTask, rowMismatch } from '../log/row-frames.ts'
import type { TaskPage } from '../projections/tasks/queries.ts'
import { Semaphore } from '../runtime/semaphore.ts'
import { roleLimits } from './limits.ts'
import { waitForTables } from './wait-for-tables.ts'

interface StoredTask {
  readonly taskId: string
  /** Of the frames that hold its events. */
  readonly sequences: readonly number[]
}

/** An index of the log. Everything rejects while the tables cannot be read. */
export interface StoredTasks {
  /** Null where the tables do not have the task (yet), and for another workspace's. */
  findTask(workspaceId: string, taskId: string): Promise<StoredTask | null>
  listTasks(workspaceId: string, kind: Task['kind'], page: TaskPage): Promise<readonly StoredTask[]>
  checkpoint(): Promise<number>
}

export interface RecentTasksParts extends RowFramesParts {
  readonly tail: Pick<LedgerTail, 'ledger' | 'onApplied' | 'waitForSequence'>
  readonly stored: StoredTasks
  readonly endedMax?: number
}

interface Ended {
  readonly task: Task
  readonly sequence: number
}

const unavailable = (cause?: unknown): GatewayError =>
  new GatewayError('read_models_unavailable', 'Tasks cannot be looked up right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** Open tasks are in the ledger, those that just ended in memory; of others the tables name the frames. */
export class RecentTasks {
  readonly #parts: RecentTasksParts
  readonly #endedMax: number
  readonly #ended = new Map<string, Ended>()
  readonly #placed = new Map<string, number>()
  /** The tables may be behind the snapshot that the ledger started from. */
  readonly #startedAt: number
  /** Tasks that ended up to this sequence may be in the tables alone. */
  #forgotten: number
  readonly #reads = new Semaphore(roleLimits.listedTaskReadsMax)
  readonly #unlisten: () => void

  constructor(parts: RecentTasksParts) {
    this.#parts = parts
    this.#endedMax = parts.endedMax ?? roleLimits.endedTasksMax
    this.#startedAt = parts.tail.ledger.sequence
    this.#forgotten = this.#startedAt
    this.#unlisten = parts.tail.onApplied((applied) => {
      for (const each of applied) if (each.task !== null) this.#note(each, each.task)
    })
  }

  /** Null where there is none; an open task keeps changing. Rejects with `read_models_unavailable` while unknown. */
  async find(workspaceId: string, taskId: string): Promise<Task | null> {
    const known = this.#known(workspaceId, taskId)
    if (known !== undefined) return known
    return reading(async () => {
      const stored = await this.#parts.stored.findTask(workspaceId, taskId)
      const task = stored === null ? null : await this.#read(workspaceId, stored)
      if (task !== null && isEnded(task)) return task
      // Another process may have accepted or ended it a moment ago: that is in the log.
      await waitForLogEnd(this.#parts, unavailable)
      return this.#known(workspaceId, taskId) ?? (await this.#findSettled(workspaceId, taskId))
    })
  }

  /** By the caller's own id. Null and rejections as with `find`. */
  async findByExternalId(workspaceId: string, externalTaskId: string): Promise<Task | null> {
    const known = this.#named(workspaceId, externalTaskId)
    if (known === undefined) await reading(() => waitForLogEnd(this.#parts, unavailable))
    const taskId = known ?? this.#named(workspaceId, externalTaskId)
    return taskId === undefined ? null : this.find(workspaceId, taskId)
  }

  /** Newest first, from all sources. Rejects with `read_models_unavailable` while these are incomplete. */
  list(workspaceId: string, kind: Task['kind'], page: TaskPage): Promise<readonly Task[]> {
    return reading(async () => {
      await waitForTables(this.#parts.stored, this.#placed.get(workspaceId) ?? this.#startedAt)
      const stored = await this.#parts.stored.listTasks(workspaceId, kind, page)
      return Promise.all(
        stored.map(
          (each) =>
            this.#known(workspaceId, each.taskId) ??
            this.#reads.run(workspaceId, () => this.#readListed(workspaceId, each)),
        ),
      )
    })
  }

  stop(): Promise<void> {
    this.#unlisten()
    return Promise.resolve()
  }

  #known(workspaceId: string, taskId: string): Task | undefined {
    const task = this.#parts.tail.ledger.tasks.get(taskId) ?? this.#ended.get(taskId)?.task
    return task?.workspaceId === workspaceId ? task : undefined
  }

  #named(workspaceId: string, externalTaskId: string): string | undefined {
    return this.#parts.tail.ledger.wallets.get(workspaceId)?.externalTasks.get(externalTaskId)?.taskId
  }

  /** A task that is not open here: in the tables, once they have all that memory has not, or nowhere. */
  async #findSettled(workspaceId: string, taskId: string): Promise<Task | null> {
    await waitForTables(this.#parts.stored, this.#forgotten)
    const stored = await this.#parts.stored.findTask(workspaceId, taskId)
    if (stored === null) return null
    return this.#readListed(workspaceId, stored)
  }

  /** A task that is not open in the ledger has ended, whatever its row names. */
  async #readListed(workspaceId: string, stored: StoredTask): Promise<Task> {
    const read = await this.#read(workspaceId, stored)
    const task = isEnded(read) ? read : this.#known(workspaceId, stored.taskId)
    if (task !== undefined) return task
    throw rowMismatch(this.#parts, rowOf(stored), 'the frames that it names do not hold its end')
  }

  #read(workspaceId: string, stored: StoredTask): Promise<Task> {
    return readTask(this.#parts, rowOf(stored), workspaceId)
  }

  #note({ event, sequence }: Applied, task: Task): void {
    if (event.type === 'HoldPlaced') this.#placed.set(task.workspaceId, sequence)
    if (!isEnded(task)) return
    this.#ended.delete(task.taskId)
    this.#ended.set(task.taskId, { task, sequence })
    if (this.#ended.size > this.#endedMax) this.#forgetOldest()
  }

  #forgetOldest(): void {
    const [oldest] = this.#ended
    if (oldest === undefined) return
    const [taskId, { sequence }] = oldest
    this.#ended.delete(taskId)
    this.#forgotten = sequence
  }
}

const rowOf = ({ taskId, sequences }: StoredTask) => ({ table: 'tasks', id: taskId, sequences })

/** Turns any failure of the tables or the log into one error. */
const reading = async <T>(read: () => Promise<T>): Promise<T> => {
  try {
    return await read()
  } catch (fault) {
    throw unavailable(fault)
  }
}
