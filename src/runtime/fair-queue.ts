import { Queue } from './queue.ts'

/** First in, first out for each key; the keys take turns. */
export class FairQueue<T> {
  readonly #isDue: (item: T) => boolean
  /** In the order of their turns; none is empty. */
  readonly #queues = new Map<string, Queue<T>>()

  /** Items that are not due when their turn comes are dropped, and cost their key no turn. */
  constructor(isDue: (item: T) => boolean = () => true) {
    this.#isDue = isDue
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0 || this.#firstDue(() => true) === null
  }

  push(key: string, item: T): void {
    const queue = this.#queues.get(key) ?? new Queue<T>()
    queue.push(item)
    this.#queues.set(key, queue)
  }

  shift(isFree: (key: string) => boolean = () => true): T | undefined {
    const first = this.#firstDue(isFree)
    if (first === null) return undefined
    const { key, queue } = first
    const item = queue.shift()
    if (queue.length > 0 && this.#queues.size === 1) return item
    this.#queues.delete(key)
    if (queue.length > 0) this.#queues.set(key, queue)
    return item
  }

  #firstDue(isFree: (key: string) => boolean): { readonly key: string; readonly queue: Queue<T> } | null {
    for (const [key, queue] of this.#queues) {
      while (queue.length > 0 && !this.#isDue(queue.head!)) queue.shift()
      if (queue.length === 0) this.#queues.delete(key)
      else if (isFree(key)) return { key, queue }
    }
    return null
  }
}
