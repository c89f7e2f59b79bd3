import { setTimeout as delay } from 'node:timers/promises'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { type Addresses, findEmbedded } from '../../src/infrastructure/embedded/embedded.ts'
import type { OpenLog } from '../../src/infrastructure/nats/log.ts'
import { type Database, openDatabase } from '../../src/infrastructure/postgres/database.ts'
import { type Gateway, payer } from './installation.ts'
import { openBenchLog } from './open-log.ts'
import { picosPerAnswer } from './price.ts'
import { whole } from './table.ts'
import type { Answered } from './upstream.ts'

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

/** The books of a gateway on embedded servers, and where those are. */
export const openBooks = async (
  { dataFolder }: Pick<Gateway, 'dataFolder'>,
  stack: AsyncDisposableStack,
): Promise<{ readonly books: Books; readonly addresses: Addresses }> => {
  const addresses = await findEmbedded(dataFolder)
  if (addresses === null) throw new Error('the gateway runs without embedded servers')
  const { log } = stack.adopt(await openBenchLog(addresses, 'GATEWAY'), (each) => each.close())
  const database = stack.adopt(openDatabase(addresses.databaseUrl), (each) => each.close())
  return { books: new Books(log, database), addresses }
}

/** The upstream's own count of what it answered to a caller. */
export const countAnswered = async (upstreamUrl: string, caller: string): Promise<number> => {
  const totals = (await (await fetch(`${upstreamUrl}/totals`)).json()) as Readonly<Record<string, Answered>>
  const answered = totals[caller]
  return answered === undefined ? 0 : answered.whole + answered.streamed
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
  gateway: Pick<Gateway, 'command'>,
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

export const ledgerLine = ({ answered, expectedUsd, differences }: Reconciliation): string =>
  differences.length === 0
    ? `ledger equals upstream: ${whole(answered)} requests, $${expectedUsd}`
    : `THE LEDGER IS WRONG: the upstream answered ${whole(answered)} requests, $${expectedUsd}; the ledger has ${differences.join(', ')}`
