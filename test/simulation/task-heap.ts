import type { SimProcess } from './process.ts'

export interface Task {
  atMs: number
  /** Among tasks of one instant the order in which they were scheduled. */
  order: number
  readonly process: SimProcess | undefined
  run: () => void
  isCancelled: boolean
}

const nothing = (): void => undefined

/** What it would have done is not kept in memory until its time. */
export const cancel = (task: Task): void => {
  task.isCancelled = true
  task.run = nothing
}

const isBefore = (one: Task, other: Task): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)

/** A binary heap: a run has hundreds of thousands of tasks. */
export class TaskHeap {
  readonly #tasks: Task[] = []

  push(task: Task): void {
    const tasks = this.#tasks
    let at = tasks.length
    tasks.push(task)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(task, tasks[parent]!)) break
      tasks[at] = tasks[parent]!
      at = parent
    }
    tasks[at] = task
  }

  pop(): Task | undefined {
    const tasks = this.#tasks
    const first = tasks[0]
    const last = tasks.pop()
    if (first === undefined || last === undefined || tasks.length === 0) return first
    this.#sink(last)
    return first
  }

  #sink(task: Task): void {
    const tasks = this.#tasks
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= tasks.length) break
      if (child + 1 < tasks.length && isBefore(tasks[child + 1]!, tasks[child]!)) child += 1
      if (!isBefore(tasks[child]!, task)) break
      tasks[at] = tasks[child]!
      at = child
    }
    tasks[at] = task
  }
}
