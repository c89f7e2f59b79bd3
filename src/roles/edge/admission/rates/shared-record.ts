import type { Clock } from '../../../../runtime/clock.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'

interface SharedRecordParts<T> {
  readonly records: RateRecords
  readonly name: string
  /** Also called for a record that is absent or malformed. */
  readonly parse: (value: unknown) => T
  readonly clock: Clock
}

/** A record that other edges write too: its last known value, replaced only if it is unchanged. */
export class SharedRecord<T extends object> {
  readonly #parts: SharedRecordParts<T>
  #value: T
  /** Null where it is unknown whether a write was stored. */
  #sequence: number | null = 0
  #knownAtMs = Number.NEGATIVE_INFINITY

  /** Assumes that the record is absent until it is read. */
  constructor(parts: SharedRecordParts<T>) {
    this.#parts = parts
    this.#value = parts.parse(null)
  }

  get value(): T {
    return this.#value
  }

  isFresh(): boolean {
    const agoMs = this.#parts.clock() - this.#knownAtMs
    return agoMs >= 0 && agoMs <= admissionLimits.rateCacheMs // A clock may be set back.
  }

  async read(): Promise<void> {
    const { records, name, parse } = this.#parts
    const askedAtMs = this.#parts.clock()
    const { sequence, value } = await records.find(name)
    this.#remember(parse(value), sequence, askedAtMs)
  }

  /** False where another edge was faster: then the record has been read again. */
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
