import type { Clock } from '../../../runtime/clock.ts'
import type { RateRecords } from '../../rate-records.ts'
import { edgeLimits } from '../limits.ts'

export interface SharedRecordParts<T> {
  readonly records: RateRecords
  readonly name: string
  /** What a record that is not there says, and one that cannot be read. */
  readonly parse: (value: unknown) => T
  readonly clock: Clock
}

/** A record that other edges write too: what was last known of it, and the way to change it if that still stands. */
export class SharedRecord<T extends object> {
  readonly #parts: SharedRecordParts<T>
  #value: T
  /** Null where a write may stand or not. */
  #sequence: number | null = 0
  #knownAtMs = Number.NEGATIVE_INFINITY

  /** Takes the record for absent until it is told otherwise. */
  constructor(parts: SharedRecordParts<T>) {
    this.#parts = parts
    this.#value = parts.parse(null)
  }

  get value(): T {
    return this.#value
  }

  /** Whether nobody can have changed it long ago. */
  isFresh(): boolean {
    const agoMs = this.#parts.clock() - this.#knownAtMs
    return agoMs >= 0 && agoMs <= edgeLimits.rateCacheMs // A clock may be set back.
  }

  async read(): Promise<void> {
    const { records, name, parse } = this.#parts
    const askedAtMs = this.#parts.clock()
    const { sequence, value } = await records.find(name)
    this.#remember(parse(value), sequence, askedAtMs)
  }

  /** False where another edge was quicker: then it has been read anew. */
  async write(value: T): Promise<boolean> {
    const { records, name, clock } = this.#parts
    if (this.#sequence === null) {
      await this.read()
      return false
    }
    const askedAtMs = clock()
    const expected = this.#sequence
    this.#sequence = null
    const sequence = await records.put(name, value, expected)
    if (sequence === null) await this.read()
    else this.#remember(value, sequence, askedAtMs)
    return sequence !== null
  }

  #remember(value: T, sequence: number, atMs: number): void {
    this.#value = value
    this.#sequence = sequence
    this.#knownAtMs = atMs
  }
}
