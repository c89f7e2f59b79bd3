import type { Logger } from '../runtime/logger.ts'
import { ThrottledWarning } from '../runtime/throttled-warning.ts'
import { auditLimits } from './limits.ts'
import { largerHead, type SignedHead, SignedHeadFault, type SignedHeadStore } from './signed-head.ts'

interface HeadReading {
  /** The largest; null where no store has one. */
  readonly head: SignedHead | null
  /** Of the store that has it; null where none has. */
  readonly place: string | null
  /** Of stores that did not answer: they may have a larger one. */
  readonly unread: readonly string[]
}

type Settled<T> = { readonly value: T } | { readonly fault: unknown }

const settle = (work: Promise<SignedHead | null>): Promise<Settled<SignedHead | null>> =>
  work.then(
    (value) => ({ value }),
    (fault: unknown) => {
      if (fault instanceof SignedHeadFault) throw fault
      return { fault }
    },
  )

interface StoredHead {
  readonly head: SignedHead
  readonly place: string
}

const largerStored = (one: StoredHead | null, other: StoredHead): StoredHead =>
  one !== null && largerHead(one.head, other.head, [one.place, other.place]) === one.head ? one : other

/** Throws SignedHeadFault where a store has what is no head, or where two histories were signed. */
export const readHeads = async (stores: readonly SignedHeadStore[]): Promise<HeadReading> => {
  const unread: string[] = []
  let largest: StoredHead | null = null
  for (const store of stores) {
    const found = await settle(store.read())
    if ('fault' in found) unread.push(store.place)
    else if (found.value !== null) largest = largerStored(largest, { head: found.value, place: store.place })
  }
  return { ...(largest ?? { head: null, place: null }), unread }
}

interface SignedHeadsParts {
  /** The first one has to take each head; the others get it as soon as they can be reached. */
  readonly stores: readonly SignedHeadStore[]
  readonly logger: Logger
}

export class SignedHeads {
  readonly #stores: readonly SignedHeadStore[]
  readonly #warning: ThrottledWarning
  /** Of stores that did not take the last head: until when they are left alone, ms of the process. */
  readonly #pausedUntil = new Map<SignedHeadStore, number>()

  constructor({ stores, logger }: SignedHeadsParts) {
    this.#stores = stores
    this.#warning = new ThrottledWarning(logger)
  }

  read(): Promise<HeadReading> {
    return readHeads(this.#stores)
  }

  /** Resolves with the largest that a store holds then. Rejects where the first store cannot be written. */
  async advance(head: SignedHead): Promise<SignedHead> {
    const [first, ...others] = this.#stores
    let largest = first === undefined ? head : largerHead(head, await first.advance(head))
    for (const store of others) {
      const held = await this.#advanceIfReached(store, head)
      largest = largerHead(largest, held, [first?.place ?? 'what is signed', store.place])
    }
    return largest
  }

  async #advanceIfReached(store: SignedHeadStore, head: SignedHead): Promise<SignedHead> {
    if (performance.now() < (this.#pausedUntil.get(store) ?? 0)) return head
    const found = await settle(store.advance(head))
    if ('value' in found) {
      this.#warning.clear('seal.state_available', {})
      return found.value ?? head
    }
    this.#pausedUntil.set(store, performance.now() + auditLimits.headRetryMs)
    this.#warning.raise('seal.state_unavailable', { fault: found.fault })
    return head
  }
}
