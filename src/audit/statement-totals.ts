import { formatUsd } from '../domain/money.ts'
import type { MovementKind } from '../domain/wallet/evolve.ts'
import type { StatementEntry, WalletBalance } from '../projections/statements/queries.ts'
import { entryRecord } from './entry-record.ts'
import type { Statement } from './statement.ts'

class StatementFault extends Error {
  override readonly name = 'StatementFault'
}

export interface KindSums {
  readonly kind: MovementKind
  count: number
  amountPicos: bigint
  heldPicos: bigint
}

export class StatementTotals {
  #balancePicos: bigint
  #heldPicos: bigint
  readonly #sums = new Map<MovementKind, KindSums>()

  constructor({ balancePicos, heldPicos }: WalletBalance) {
    this.#balancePicos = balancePicos
    this.#heldPicos = heldPicos
  }

  get closing(): WalletBalance {
    return { balancePicos: this.#balancePicos, heldPicos: this.#heldPicos }
  }

  /** By kind, in the order of their first movement. */
  get sums(): readonly KindSums[] {
    return [...this.#sums.values()]
  }

  /** Throws StatementFault if the balance after the movement is not the balance before plus the amount moved. */
  take(entry: StatementEntry): void {
    this.#balancePicos += entry.amountPicos
    this.#heldPicos += entry.heldPicos
    if (this.#balancePicos !== entry.balanceAfterPicos || this.#heldPicos !== entry.heldAfterPicos)
      throw new StatementFault(
        `the movement at sequence ${entry.sequence} leaves a balance of ${formatUsd(entry.balanceAfterPicos)} and ` +
          `${formatUsd(entry.heldAfterPicos)} held; the entries before it add up to ${formatUsd(this.#balancePicos)} and ${formatUsd(this.#heldPicos)}`,
      )
    const sums = this.#sums.get(entry.kind) ?? { kind: entry.kind, count: 0, amountPicos: 0n, heldPicos: 0n }
    this.#sums.set(entry.kind, sums)
    sums.count += 1
    sums.amountPicos += entry.amountPicos
    sums.heldPicos += entry.heldPicos
  }
}

const entryText = (entry: StatementEntry | undefined): string =>
  entry === undefined ? 'no more movements' : JSON.stringify(entryRecord(entry))

const describeBalance = ({ balancePicos, heldPicos }: WalletBalance): string =>
  `a balance of ${formatUsd(balancePicos)} and ${formatUsd(heldPicos)} held`

export class StatementComparison {
  readonly #other: Statement
  readonly #entries: AsyncIterator<StatementEntry>
  #difference: string | null = null

  constructor(opening: WalletBalance, other: Statement) {
    this.#other = other
    this.#entries = other.entries[Symbol.asyncIterator]()
    const [mine, theirs] = [describeBalance(opening), describeBalance(other.opening)]
    if (mine !== theirs) this.#difference = `it opens with ${mine}; the log opens with ${theirs}`
  }

  async take(entry: StatementEntry): Promise<void> {
    if (this.#difference === null) await this.#compare(entry)
  }

  /** Call after the last movement; null if there is no difference. */
  async end(isFinal: boolean): Promise<string | null> {
    if (this.#difference !== null) await this.#entries.return?.()
    else await this.#compare(undefined)
    if (this.#difference === null && isFinal !== this.#other.isFinal())
      this.#difference = 'it ends where the log does not'
    return this.#difference
  }

  async #compare(entry: StatementEntry | undefined): Promise<void> {
    const { value } = await this.#entries.next()
    const [mine, theirs] = [entryText(entry), entryText(value)]
    if (mine !== theirs) this.#difference = `it has ${mine}; the log has ${theirs}`
  }
}
