import { logUnavailable } from '../../../src/errors/gateway-error.ts'
import type {
  OutcomeAddress,
  OutcomeStore,
  PutOutcome,
  StoredOutcome,
} from '../../../src/roles/edge/admission/idempotency/outcome-store.ts'

/** The port of outcomes over a map, which can be away, full, or lose an acknowledgement. */
export class MemoryOutcomes implements OutcomeStore {
  readonly isClosed = false
  free = Number.POSITIVE_INFINITY
  puts = 0
  isAway = false
  isFull = false
  /** Of the next put, which is stored all the same. */
  losesAck = false
  readonly #standing = new Map<string, StoredOutcome>()
  #revision = 0

  get all(): readonly StoredOutcome[] {
    return [...this.#standing].filter(([subject]) => !subject.endsWith(`.${usage}`)).map(([, outcome]) => outcome)
  }

  async freeBytes(): Promise<number> {
    return this.free
  }

  async find(place: OutcomeAddress): Promise<StoredOutcome> {
    if (this.isAway) throw logUnavailable()
    return this.#standing.get(subjectOf(place)) ?? { revision: 0, bytes: new Uint8Array() }
  }

  async put(place: OutcomeAddress, bytes: Uint8Array, revision: number): Promise<PutOutcome> {
    if (this.isAway) throw logUnavailable()
    if (place.keyDigest !== usage) this.puts += 1
    const standing = this.#standing.get(subjectOf(place)) ?? { revision: 0, bytes: new Uint8Array() }
    if (standing.revision !== revision) return { refused: 'taken' }
    if (this.isFull && bytes.length >= standing.bytes.length) return { refused: 'full' }
    this.#revision += 1
    this.#standing.set(subjectOf(place), { revision: this.#revision, bytes })
    if (!this.losesAck) return { revision: this.#revision }
    this.losesAck = false
    return { refused: 'taken' }
  }

  async remove(revision: number): Promise<boolean> {
    const found = [...this.#standing].find(([, outcome]) => outcome.revision === revision)
    return found !== undefined && this.#standing.delete(found[0])
  }
}

/** Of the record of a workspace's quota. */
const usage = 'usage'

const subjectOf = ({ workspaceId, keyDigest }: OutcomeAddress): string => `${workspaceId}.${keyDigest}`
