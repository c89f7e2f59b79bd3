import type { RateRecord, RateRecords } from '../../../src/roles/rate-records.ts'

/** The port of the rate records over a map; `travel` is awaited on the way there and on the way back. */
export class MemoryRates implements RateRecords {
  readonly #records = new Map<string, RateRecord>()
  readonly #travel: () => Promise<void>
  #sequence = 0
  /** Questions and writes. */
  calls = 0

  constructor(travel: () => Promise<void> = async () => undefined) {
    this.#travel = travel
  }

  async find(name: string): Promise<RateRecord> {
    this.calls += 1
    await this.#travel()
    const found = this.#records.get(name) ?? { sequence: 0, value: null }
    await this.#travel()
    return found
  }

  async put(name: string, value: object, expectedSequence: number): Promise<number | null> {
    this.calls += 1
    await this.#travel()
    const isExpected = (this.#records.get(name)?.sequence ?? 0) === expectedSequence
    if (isExpected) {
      this.#sequence += 1
      this.#records.set(name, { sequence: this.#sequence, value: structuredClone(value) })
    }
    const { sequence = 0 } = this.#records.get(name) ?? {}
    await this.#travel()
    return isExpected ? sequence : null
  }
}
