import type { Observer } from './observer.ts'

const itemPattern = /\.task\.([^.]+)$/
/** A verdict is awaited for a day after the end, by clocks that jump by seconds. */
const verdictAwaitedMs = 24 * 60 * 60 * 1_000 - 10_000

/** What must hold of the queue of videos, whose items are known by the ids of their tasks. */
export class TaskQueue {
  readonly #observer: Pick<Observer, 'tasks'>
  readonly #violate: (text: string) => void
  /** With the number of the video in its payload. */
  readonly #put = new Map<string, number>()
  readonly #done = new Set<string>()
  /** Without a hold. */
  readonly #dropped = new Set<string>()
  /** A day after their end. */
  readonly #lapsed = new Set<string>()

  constructor(observer: Pick<Observer, 'tasks'>, violate: (text: string) => void) {
    this.#observer = observer
    this.#violate = violate
  }

  stored(subject: string, payload: Buffer): void {
    const taskId = itemPattern.exec(subject)?.[1]
    if (taskId === undefined) return
    this.#put.set(taskId, Number(/A cat #(\d+)/.exec(payload.toString('latin1'))?.[1]))
    // By a repeat under the same idempotency key, which has taken over the task.
    this.#dropped.delete(taskId)
    this.#done.delete(taskId)
  }

  /** Whose payloads were ever queued. */
  tasksOf(number: number): readonly string[] {
    return [...this.#put].flatMap(([taskId, each]) => (each === number ? [taskId] : []))
  }

  /** Tasks that were settled, or whose verdict came late, and that are not done. */
  left(): readonly string[] {
    return [...this.#put.keys()].filter(
      (taskId) => !this.#done.has(taskId) && this.#observer.tasks.get(taskId)?.hasVerdict,
    )
  }

  /** Its vendor's verdict was awaited for a day. */
  isLapsed(taskId: string): boolean {
    return this.#lapsed.has(taskId)
  }

  /** As done, by a process whose clock shows `wallMs`. */
  removed(subject: string, wallMs: number): void {
    const taskId = itemPattern.exec(subject)?.[1]
    if (taskId === undefined) return
    this.#done.add(taskId)
    const task = this.#observer.tasks.get(taskId)
    if (task === undefined) this.#dropped.add(taskId)
    else if (task.end === undefined) this.#violate(`task ${taskId} is done in its queue, and has no end in the log`)
    else if (wallMs - Date.parse(task.end.time) >= verdictAwaitedMs) this.#lapsed.add(taskId)
  }

  held(taskId: string): void {
    if (!this.#put.has(taskId)) this.#violate(`task ${taskId} is held, and its payload is not queued`)
    if (this.#dropped.has(taskId)) this.#violate(`task ${taskId} is held after its payload was dropped`)
  }
}
