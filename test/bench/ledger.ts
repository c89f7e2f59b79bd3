import { setTimeout as delay } from 'node:timers/promises'
import type { OpenLog } from '../../src/adapters/nats/log.ts'
import { type Database, openDatabase } from '../../src/adapters/postgres/database.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { type Addresses, findEmbedded } from '../../src/embedded/embedded.ts'
import { type Format, formats } from './content.ts'
import { type Gateway, payer } from './installation.ts'
import { openBenchLog } from './open-log.ts'
import { type Counts, noCounts, picosOf, picosPerAnswer } from './price.ts'
import { whole } from './table.ts'

const pollMs = 10
const settleWithinMs = 120_000

/** Bills of one surface and provider. */
interface Bills {
  /** The upstream's. */
  readonly format: string
  readonly count: number
  /** The sum of their totals, 1e-12 USD. */
  readonly picos: bigint
}

/** An upstream of OpenAI's is asked by chat for what its Responses API is not asked for. */
const upstreamFormatOf = (surface: string, provider: string): string => {
  if (provider === 'anthropic') return 'messages'
  return surface === 'messages' || surface === 'gemini' ? 'chat' : surface
}

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

  /** Bills in the tables by what the upstream spoke. */
  async bills(): Promise<readonly Bills[]> {
    const rows = await this.#database.db
      .selectFrom('usage_entries')
      .select(['surface', 'provider'])
      .select(({ fn }) => [fn.countAll<bigint>().as('count'), fn.sum<string>('total').as('usd')])
      .groupBy(['surface', 'provider'])
      .execute()
    return rows.map(({ surface, provider, count, usd }) => ({
      format: upstreamFormatOf(surface, provider),
      count: Number(count),
      picos: parseUsd(usd),
    }))
  }

  /** Requests that were routed and have no end yet, or the other way around. */
  async openRequests(): Promise<number> {
    const { count } = await this.#database.db
      .selectFrom('open_requests')
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
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
export const countAnswered = async (upstreamUrl: string, caller: string): Promise<Counts> => {
  const totals = (await (await fetch(`${upstreamUrl}/totals`)).json()) as Readonly<Record<string, Counts>>
  return totals[caller] ?? noCounts
}

/** What the upstream counted, and what the ledger says of it. */
export interface Reconciliation {
  readonly answered: Counts
  readonly expectedUsd: string
  /** One line for each figure that is not what it must be. */
  readonly differences: readonly string[]
}

const sumOf = (counts: Counts): number => formats.reduce((sum, format) => sum + counts[format], 0)

/** What is wrong with the bills of one format. */
const billDifferences = (format: Format, bills: readonly Bills[], answered: number): readonly string[] => {
  const own = bills.filter((each) => each.format === format)
  const count = own.reduce((sum, each) => sum + each.count, 0)
  const picos = own.reduce((sum, each) => sum + each.picos, 0n)
  return [
    count === answered ? [] : [`${count} bills of ${format}`],
    picos === BigInt(answered) * picosPerAnswer(format)
      ? []
      : [`bills of ${format} that add up to $${formatUsd(picos)}`],
  ].flat()
}

const allBillDifferences = (bills: readonly Bills[], answered: Counts): readonly string[] => [
  ...bills
    .filter(({ format }) => !formats.some((known) => known === format))
    .map(({ format, count }) => `${count} bills of ${format}`),
  ...formats.flatMap((format) => billDifferences(format, bills, answered[format])),
]

/** The ledger, every way it can be read, against the upstream's own count × the published price. */
export const reconcile = async (
  books: Books,
  gateway: Pick<Gateway, 'command'>,
  answered: Counts,
  delivered: number,
): Promise<Reconciliation> => {
  await books.settled()
  const chargedPicos = await books.chargedPicos(payer)
  const { charges } = await gateway.command('workspace', 'show', payer)
  const expectedPicos = picosOf(answered)
  const expectedUsd = formatUsd(expectedPicos)
  const differences = [
    ...allBillDifferences(await books.bills(), answered),
    chargedPicos !== expectedPicos && `a wallet charged with $${formatUsd(chargedPicos)}`,
    charges !== expectedUsd && `a fold of the log charged with $${charges}`,
    delivered > sumOf(answered) && `${delivered} answers at the clients`,
  ].filter((difference) => difference !== false)
  return { answered, expectedUsd, differences }
}

const countedText = (counts: Counts): string =>
  formats
    .filter((format) => counts[format] > 0)
    .map((format) => `${whole(counts[format])} ${format}`)
    .join(' + ') || 'no'

export const ledgerLine = ({ answered, expectedUsd, differences }: Reconciliation): string => {
  const expected = `${countedText(answered)} requests, $${expectedUsd}`
  return differences.length === 0
    ? `ledger equals upstream: ${expected}`
    : `THE LEDGER IS WRONG: the upstream answered ${expected}; the ledger has ${differences.join(', ')}`
}
