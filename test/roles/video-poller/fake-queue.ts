import type { WorkItem, WorkQueue } from '../../../src/roles/work-queue.ts'
import { passing } from '../../../src/runtime/health.ts'

interface Entry {
  readonly id: string
  bytes: Uint8Array | null
  deliveries: number
  holder: Taker | null
}

interface Taker {
  readonly itemsMax: number
  readonly onItem: (item: WorkItem) => void
  isOver: boolean
  held: number
}

/** A work queue in memory. Leases end when the test says so; an item given back is handed out at once, whatever delay it was given. */
export class FakeQueue implements WorkQueue {
  readonly entries = new Map<string, Entry>()
  /** Everything that was put, also what stood already. */
  readonly puts: { readonly id: string; readonly text: string }[] = []
  readonly done: string[] = []
  readonly again: { readonly id: string; readonly delayMs: number }[] = []
  renewals = 0
  /** Whether the queue hears of renewals. */
  isUp = true
  /** Whether it may have lost the record of earlier deliveries. */
  mayShare = false
  #takers: Taker[] = []
  #handing = false

  async put(id: string, bytes: Uint8Array): Promise<void> {
    this.puts.push({ id, text: Buffer.from(bytes).toString() })
    if (!this.entries.has(id)) this.add(id, bytes)
  }

  async withdraw(id: string): Promise<void> {
    this.entries.delete(id)
  }

  add(id: string, bytes: Uint8Array, deliveries = 0): void {
    this.entries.set(id, { id, bytes, deliveries, holder: null })
    this.#handOut()
  }

  take(itemsMax: number, onItem: (item: WorkItem) => void): ReturnType<WorkQueue['take']> {
    const taker: Taker = { itemsMax, onItem, isOver: false, held: 0 }
    this.#takers.push(taker)
    this.#handOut()
    return { check: passing, stop: async () => this.#leave(taker) }
  }

  /** The lease ends: the item goes to another taker than its holder, where there is one. */
  expire(id: string): void {
    const entry = this.entries.get(id)
    if (entry === undefined) return
    const { holder } = entry
    this.#free(entry)
    this.#handOut(holder)
  }

  /** The processes of these takers are gone, and their leases with them. */
  dropTakers(): void {
    for (const taker of [...this.#takers]) this.#leave(taker)
  }

  #leave(taker: Taker): void {
    taker.isOver = true
    this.#takers = this.#takers.filter((each) => each !== taker)
    for (const entry of this.entries.values()) if (entry.holder === taker) this.#free(entry)
    this.#handOut()
  }

  #free(entry: Entry): void {
    if (entry.holder !== null) entry.holder.held -= 1
    entry.holder = null
  }

  #handOut(not: Taker | null = null): void {
    if (this.#handing) return
    this.#handing = true
    queueMicrotask(() => {
      this.#handing = false
      if (this.#takers.every(({ held, itemsMax }) => held >= itemsMax)) return
      for (const entry of this.entries.values()) if (entry.holder === null) this.#hand(entry, not)
    })
  }

  #hand(entry: Entry, not: Taker | null): void {
    const free = this.#takers.filter(({ held, itemsMax }) => held < itemsMax)
    const taker = free.find((each) => each !== not) ?? free[0]
    if (taker === undefined) return
    entry.holder = taker
    taker.held += 1
    entry.deliveries += 1
    taker.onItem(this.#itemOf(entry))
  }

  #itemOf(entry: Entry): WorkItem {
    const { id, holder } = entry
    const mayBeShared = (): boolean => this.mayShare
    return {
      id,
      get deliveries() {
        return entry.deliveries
      },
      get mayBeShared() {
        return mayBeShared()
      },
      bytes: async () => entry.bytes,
      renew: () => {
        if (this.isUp) this.renewals += 1
        return this.isUp
      },
      done: async () => {
        this.done.push(id)
        this.#free(entry)
        this.entries.delete(id)
        this.#handOut()
      },
      again: (delayMs) => {
        this.again.push({ id, delayMs })
        if (entry.holder !== holder) return
        this.#free(entry)
        this.#handOut()
      },
    }
  }
}
