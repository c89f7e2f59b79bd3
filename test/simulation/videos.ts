import type { SimResponse } from './clients.ts'
import type { Observer } from './observer.ts'
import type { SimProcess } from './process.ts'
import type { TaskQueue } from './task-queue.ts'
import type { SimVendor, VendorTask } from './vendor.ts'
import type { VideoAction } from './video-plan.ts'

interface VideoEntry {
  readonly action: VideoAction
  readonly response: SimResponse | null
  readonly edge: SimProcess
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

interface VideoClientsParts {
  readonly observer: Observer
  readonly vendor: SimVendor
  readonly queue: TaskQueue
  readonly violate: (text: string) => void
}

const readJson = (text: string): Record<string, unknown> => {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

export const submitOf = ({ number, seconds, repeatedBy }: VideoAction, secret: string): Sent => ({
  method: 'POST',
  path: '/v1/video/generations',
  headers: {
    authorization: `Bearer ${secret}`,
    ...(repeatedBy === 'key' ? { 'idempotency-key': `video-${number}` } : {}),
  },
  body: {
    model: 'vv/v3',
    prompt: `A cat #${number}`,
    seconds,
    ...(repeatedBy === 'external_id' ? { metadata: { external_task_id: `video-${number}` } } : {}),
  },
})

export const readTaskOf = (taskId: string, secret: string): Sent => ({
  method: 'GET',
  path: `/v1/video/generations/${taskId}`,
  headers: { authorization: `Bearer ${secret}` },
  body: {},
})

/** What clients of videos have been answered, and what must hold then. */
export class VideoClients {
  readonly #parts: VideoClientsParts
  readonly #entries: VideoEntry[] = []

  constructor(parts: VideoClientsParts) {
    this.#parts = parts
  }

  /** The accepted task's id; null where none was accepted. */
  noteSubmit(action: VideoAction, response: SimResponse | null, edge: SimProcess): string | null {
    this.#entries.push({ action, response, edge })
    const taskId = this.#taskIdOf(response)
    const { observer, violate } = this.#parts
    if (taskId !== null && !observer.tasks.has(taskId))
      violate(`video ${action.number} (${taskId}) was accepted without a hold`)
    return taskId
  }

  noteRead(taskId: string, response: SimResponse | null): void {
    const { observer, violate } = this.#parts
    if (response === null || !response.isComplete) return
    if (response.status === 404) violate(`task ${taskId} was accepted, and does not exist`)
    const { status } = (readJson(response.body)['data'] ?? {}) as { readonly status?: string }
    const end = observer.tasks.get(taskId)?.end
    if ((status === 'SUCCESS' || status === 'FAILURE') && end === undefined)
      violate(`task ${taskId} is shown as ${status} before the log has its end`)
    if (status === 'SUCCESS' && (end?.type !== 'TaskSettled' || end.data.outcome !== 'SUCCESS'))
      violate(`task ${taskId} is shown as SUCCESS, the log has another end`)
  }

  /** Once all has ended. */
  check(isCrashed: (process: SimProcess) => boolean): void {
    for (const each of this.#entries) this.#checkAnswered(each, isCrashed)
    this.#checkRepeats()
    for (const task of this.#parts.vendor.tasks.values()) this.#checkVendorTask(task)
  }

  /** Tasks that the vendor has ended, and of which the log has no verdict of its, unless it came too late. */
  unrecorded(): readonly string[] {
    const { vendor } = this.#parts
    return [...vendor.tasks.values()].flatMap(({ taskId, endsMs }) =>
      endsMs < Number.POSITIVE_INFINITY && this.#isAwaited(taskId) ? [taskId] : [],
    )
  }

  /** Ended tasks of which no verdict is to come, and that are not done in their queue. */
  left(): readonly string[] {
    return this.#parts.queue.left().filter((taskId) => !this.#isAwaited(taskId))
  }

  #isAwaited(taskId: string): boolean {
    const { observer, vendor, queue } = this.#parts
    return vendor.tasks.has(taskId) && !observer.tasks.get(taskId)?.verdicts.length && !queue.isLapsed(taskId)
  }

  #taskIdOf(response: SimResponse | null): string | null {
    if (response?.status !== 200 || !response.isComplete) return null
    const { task_id: taskId } = readJson(response.body)
    if (typeof taskId === 'string') return taskId
    this.#parts.violate(`an accepted video has no task id: ${response.body}`)
    return null
  }

  /** A caller that was refused pays nothing, unless the edge died before it could give the hold back. */
  #checkAnswered({ action, response, edge }: VideoEntry, isCrashed: (process: SimProcess) => boolean): void {
    const { observer, vendor, queue, violate } = this.#parts
    const isRefused = response !== null && response.status >= 400
    if (!isRefused || action.repeatedBy !== 'nothing' || isCrashed(edge)) return
    for (const taskId of edge.isDead ? [] : queue.tasksOf(action.number)) {
      const end = observer.tasks.get(taskId)?.end
      if (end?.type === 'HoldReleased' && end.data.reason === 'expired')
        violate(`video ${action.number} was refused with ${response.status}, and its hold ${taskId} was kept`)
    }
    for (const { taskId, action: made } of vendor.tasks.values()) {
      const { end, undelivered } = observer.tasks.get(taskId) ?? {}
      if (made.number === action.number && end?.type === 'TaskSettled' && end.data.total !== '0' && !undelivered)
        violate(`video ${action.number} was refused with ${response.status} and charged ${end.data.total}`)
    }
  }

  #checkRepeats(): void {
    const { vendor, violate } = this.#parts
    const made = new Map<number, string>()
    for (const { taskId, action } of vendor.tasks.values()) {
      if (made.has(action.number))
        violate(`video ${action.number} was made twice: ${made.get(action.number)}, ${taskId}`)
      made.set(action.number, taskId)
    }
    const answered = new Map<number, string>()
    for (const { action, response } of this.#entries) {
      const taskId = this.#taskIdOf(response)
      if (taskId === null || action.repeatedBy === 'nothing') continue
      const first = answered.get(action.number) ?? taskId
      if (first !== taskId) violate(`video ${action.number} is task ${first} and task ${taskId}`)
      answered.set(action.number, first)
    }
  }

  #checkVendorTask(made: VendorTask): void {
    const { taskId, reported } = made
    const { observer, vendor, violate } = this.#parts
    const task = observer.tasks.get(taskId)
    if (task === undefined) violate(`the vendor has ${taskId}, for which no hold was placed`)
    if (vendor.isWronglyRefused(made))
      violate(`the vendor had ${taskId}, or was taking it, when it was looked up and then settled as refused`)
    for (const verdict of task?.verdicts ?? []) {
      const { outcome, deduction = null } = verdict.data
      if (!reported.some((each) => each.outcome === outcome && each.deduction === deduction))
        violate(`the log has ${outcome} ${deduction} of ${taskId}, which its vendor never reported`)
    }
  }
}
