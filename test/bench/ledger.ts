import { setTimeout as delay } from 'node:timers/promises'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import type { OpenLog } from '../../src/infrastructure/nats/log.ts'
import type { Database } from '../../src/infrastructure/postgres/database.ts'
import { type Gateway, payer } from './gateway.ts'
import { picosPerAnswer } from './price.ts'

const pollMs = 10
const settleWithinMs = 120_000

/** The gateway's log and tables, read while it runs. */
export class Books {
  readonly #log: Pick<OpenLog, 'lastSequence'>
  readonly #database: Database

  constructor(log: Pick<OpenLog, 'lastSequence'>, database: Database) {
    this.#log = log
    this.#database = database
  }

  /** Resolves when the tables stand at the end of the log, with the milliseconds that took; rejects after two minutes. */
  async settled(): Promise<number> {
    const fromMs = performance.now()
    const store = this.#database.projectionStore()
    while ((await store.checkpoint()) < (await this.#log.lastSequence())) {
      if (performance.now() - fromMs > settleWithinMs) throw new Error('the projection does not catch up')
      await delay(pollMs)
    }
    return performance.now() - fromMs
  }

  /** Bills in the tables and the sum of their totals, 1e-12 USD. */
  async bills(): Promise<{ readonly count: number; readonly picos: bigint }> {
    const { count, usd } = await this.#database.db
      .selectFrom('usage_entries')
      .select(({ fn, val }) => [
        fn.countAll<bigint>().as('count'),
        fn.coalesce(fn.sum<string>('total'), val('0')).as('usd'),
      ])
      .executeTakeFirstOrThrow()
    return { count: Number(count), picos: parseUsd(usd) }
  }

  /** What the wallet in the tables was charged, 1e-12 USD. */
  async chargedPicos(workspaceId: string): Promise<bigint> {
    const { charges } = await this.#database.db
      .selectFrom('wallets')
      .select('charges')
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    return parseUsd(charges)
  }
}

/** What the upstream counted, and what the ledger says of it. */
export interface Reconciliation {
  readonly answered: number
  readonly expectedUsd: string
  /** One line for each figure that is not what it must be. */
  readonly differences: readonly string[]
}

/** The ledger, every way it can be read, against the upstream's own count × the published price. */
export const reconcile = async (
  books: Books,
  gateway: Gateway,
  answered: number,
  delivered: number,
): Promise<Reconciliation> => {
  await books.settled()
  const bills = await books.bills()
  const chargedPicos = await books.chargedPicos(payer)
  const { charges } = await gateway.command('workspace', 'show', payer)
  const expectedPicos = BigInt(answered) * picosPerAnswer
  const expectedUsd = formatUsd(expectedPicos)
  const differences = [
    bills.count !== answered && `${bills.count} bills`,
    bills.picos !== expectedPicos && `bills that add up to $${formatUsd(bills.picos)}`,
    chargedPicos !== expectedPicos && `a wallet charged with $${formatUsd(chargedPicos)}`,
    charges !== expectedUsd && `a fold of the log charged with $${charges}`,
    delivered > answered && `${delivered} answers at the clients`,
  ].filter((difference) => difference !== false)
  return { answered, expectedUsd, differences }
}
