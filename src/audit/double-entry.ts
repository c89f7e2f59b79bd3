import { createHash } from 'node:crypto'
import { parseMonth, utcDayAt } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import { type MovementKind, namesCredit } from '../domain/wallet/evolve.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import type { StatementEntry } from '../projections/statements/queries.ts'
import { selectMovedWorkspaces } from '../projections/statements/report.ts'
import { readStatementAt } from './statement.ts'

export type JournalFormat = 'hledger' | 'beancount'

/** What a provider invoiced for a model on a day. */
interface ProviderCost {
  readonly provider: string
  readonly day: string
  /** Empty where the invoice names none. */
  readonly model: string
  readonly amountPicos: bigint
}

/** `picos` go from one account to the other; below zero, back. */
interface Transaction {
  readonly day: string
  readonly payee: string
  readonly from: string
  readonly to: string
  picos: bigint
}

const nameHashLength = 12

/**
 * Account names have letters, digits and hyphens, and begin with a capital or a digit. A name that is written otherwise ends in `-X` and
 * a hash, which no other name can end in, so that two names are never one account.
 */
const nameOf = (text: string): string => {
  if (/^[a-z0-9][a-z0-9-]*$/.test(text) && text !== 'unattributed') return `${text[0]!.toUpperCase()}${text.slice(1)}`
  const readable = text.replaceAll(/[^A-Za-z0-9-]/g, '-').replace(/^-+/, '')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, nameHashLength)
  return readable === '' ? `X${hash}` : `${readable[0]!.toUpperCase()}${readable.slice(1)}-X${hash}`
}

const modelAccount = (group: string, model: string): string =>
  [group, ...(model === '' ? ['Unattributed'] : model.split('/').map(nameOf))].join(':')

const walletAccount = (workspaceId: string): string => `Liabilities:Wallets:${nameOf(workspaceId)}`

const receipts = 'Assets:Receipts'
const equity = 'Equity:Opening-Balances'

const accountOf = ({ kind, line, model, corrects }: StatementEntry): string => {
  const accounts: Partial<Record<MovementKind, string>> = {
    charge: modelAccount('Income:Usage', model),
    excess: modelAccount('Income:Usage', model),
    adjustment: namesCredit(corrects) ? receipts : modelAccount('Income:Corrections', model),
    fee: 'Income:Fees',
    lapse: 'Income:Breakage',
    // The credit that a plan includes follows its fee in the same event; a credit of its own is alone in its event.
    credit: line > 0 ? 'Income:Included-Credit' : receipts,
  }
  return accounts[kind] ?? receipts
}

class TransactionSums {
  readonly #sums = new Map<string, Transaction>()

  add({ picos, ...transaction }: Transaction): void {
    const name = [transaction.day, transaction.from, transaction.to].join(' ')
    const known = this.#sums.get(name)
    if (known === undefined) this.#sums.set(name, { ...transaction, picos })
    else known.picos += picos
  }

  list(): readonly Transaction[] {
    return [...this.#sums.values()]
  }
}

/** No text needs quoting: ids and names of accounts have letters, digits, colons and hyphens. */
const headOf = (format: JournalFormat, day: string, payee: string, text: string): string =>
  format === 'hledger' ? `${day} * ${payee} | ${text}\n` : `${day} * "${payee}" "${text}"\n`

const posting = (account: string, picos: bigint): string => `  ${account}  ${formatUsd(picos)} USD\n`

const withoutGroup = (account: string): string => account.slice(account.indexOf(':') + 1)

const formatTransaction = (format: JournalFormat, { day, payee, from, to, picos }: Transaction, text: string) =>
  `${headOf(format, day, payee, text)}${posting(from, picos)}${posting(to, -picos)}\n`

const formatClosing = (format: JournalFormat, workspaceId: string, closingPicos: bigint, end: Date): string => {
  const account = walletAccount(workspaceId)
  const amount = formatUsd(-closingPicos)
  if (format === 'beancount') return `${utcDayAt(end.getTime())} balance ${account}  ${amount} ~ 0 USD\n\n`
  const head = headOf(format, utcDayAt(end.getTime() - 1), workspaceId, 'closing balance')
  return `${head}  ${account}  0 USD = ${amount} USD\n\n`
}

const declare = (format: JournalFormat, account: string, day: string): string =>
  format === 'hledger' ? `account ${account}\n` : `${day} open ${account} USD\n`

const sumCosts = (costs: readonly ProviderCost[]): readonly Transaction[] => {
  const sums = new TransactionSums()
  for (const { provider, day, model, amountPicos } of costs) {
    const name = nameOf(provider)
    const to = `Liabilities:Providers:${name}`
    sums.add({ day, payee: name, from: modelAccount(`Expenses:Providers:${name}`, model), to, picos: amountPicos })
  }
  return sums.list().filter(({ picos }) => picos !== 0n)
}

/**
 * The month as a double-entry journal: wallets are liabilities, with their balances before it and asserted after it; `costs` are accrued.
 * Must be read within one transaction, with the tables at `sequence`.
 */
export async function* readDoubleEntryJournal(
  db: ReadModels,
  sequence: number,
  month: string,
  format: JournalFormat,
  costs: readonly ProviderCost[] = [],
): AsyncGenerator<string> {
  const range = parseMonth(month)!
  const firstDay = utcDayAt(range.from.getTime())
  const accounts = new Set([equity])
  const write = (transaction: Transaction, text: string): string => {
    accounts.add(transaction.from).add(transaction.to)
    return formatTransaction(format, transaction, text)
  }
  yield format === 'hledger' ? 'commodity 1000.000000000000 USD\n\n' : 'option "operating_currency" "USD"\n\n'
  for (const workspaceId of await selectMovedWorkspaces(db, range)) {
    const { opening, entries } = await readStatementAt(db, sequence, workspaceId, range)
    const wallet = walletAccount(workspaceId)
    accounts.add(wallet)
    const place = { payee: workspaceId, from: wallet }
    if (opening.balancePicos !== 0n)
      yield write({ ...place, day: firstDay, to: equity, picos: -opening.balancePicos }, 'opening balance')
    const sums = new TransactionSums()
    let closingPicos = opening.balancePicos
    for await (const entry of entries) {
      closingPicos = entry.balanceAfterPicos
      const { time, amountPicos } = entry
      if (amountPicos !== 0n)
        sums.add({ ...place, day: utcDayAt(time.getTime()), to: accountOf(entry), picos: -amountPicos })
    }
    for (const transaction of sums.list()) yield write(transaction, withoutGroup(transaction.to))
    yield formatClosing(format, workspaceId, closingPicos, range.to)
  }
  for (const transaction of sumCosts(costs)) yield write(transaction, withoutGroup(transaction.from))
  for (const account of [...accounts].toSorted()) yield declare(format, account, firstDay)
}
