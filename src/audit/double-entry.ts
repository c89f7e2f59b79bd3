import { parseMonth, utcDayAt } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import type { MovementKind } from '../domain/wallet/evolve.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import type { StatementEntry } from '../projections/statements/queries.ts'
import { selectMovedWorkspaces } from '../projections/statements/report.ts'
import { readStatementAt } from './statement.ts'

export type JournalFormat = 'hledger' | 'beancount'

/** What a customer's wallet loses, the other account gets: below zero, it gives. */
interface Transaction {
  readonly day: string
  readonly workspaceId: string
  readonly text: string
  readonly account: string
  debitPicos: bigint
}

interface Balance {
  readonly workspaceId: string
  readonly account: string
  readonly openingPicos: bigint
  readonly closingPicos: bigint
}

/** Account names have letters, digits and hyphens, and begin with a capital or a digit. */
const nameOf = (text: string): string => {
  const name = text.replaceAll(/[^A-Za-z0-9-]/g, '-').replace(/^-+/, '')
  return name === '' ? 'Unattributed' : `${name[0]?.toUpperCase()}${name.slice(1)}`
}

const modelAccount = (group: string, model: string): string =>
  [group, ...(model === '' ? ['Unattributed'] : model.split('/').map(nameOf))].join(':')

const walletAccount = (workspaceId: string): string => `Liabilities:Wallets:${nameOf(workspaceId)}`

const accountOf = ({ kind, model }: StatementEntry): string => {
  const accounts: Partial<Record<MovementKind, string>> = {
    charge: modelAccount('Income:Usage', model),
    excess: modelAccount('Income:Usage', model),
    adjustment: modelAccount('Income:Corrections', model),
    fee: 'Income:Fees',
    lapse: 'Income:Breakage',
  }
  return accounts[kind] ?? 'Assets:Receipts'
}

/** One for each wallet, day and account. */
const collect = async (db: ReadModels, sequence: number, range: { readonly from: Date; readonly to: Date }) => {
  const transactions: Transaction[] = []
  const balances: Balance[] = []
  for (const workspaceId of await selectMovedWorkspaces(db, range)) {
    const { opening, entries } = await readStatementAt(db, sequence, workspaceId, range)
    const known = new Map<string, Transaction>()
    let closingPicos = opening.balancePicos
    for await (const entry of entries) {
      closingPicos = entry.balanceAfterPicos
      if (entry.amountPicos === 0n) continue
      const account = accountOf(entry)
      const day = utcDayAt(entry.time.getTime())
      const text = account.slice(account.indexOf(':') + 1)
      const transaction = known.get(`${day} ${account}`) ?? { day, workspaceId, text, account, debitPicos: 0n }
      known.set(`${day} ${account}`, transaction)
      transaction.debitPicos -= entry.amountPicos
    }
    transactions.push(...known.values())
    balances.push({
      workspaceId,
      account: walletAccount(workspaceId),
      openingPicos: opening.balancePicos,
      closingPicos,
    })
  }
  return { transactions, balances }
}

const posting = (account: string, picos: bigint): string => `  ${account}  ${formatUsd(picos)} USD\n`

const equity = 'Equity:Opening-Balances'

/** No text needs quoting: ids and names of accounts have letters, digits, colons and hyphens. */
const headOf = (format: JournalFormat, day: string, workspaceId: string, text: string): string =>
  format === 'hledger' ? `${day} * ${workspaceId} | ${text}\n` : `${day} * "${workspaceId}" "${text}"\n`

const closingOf = (format: JournalFormat, { account, workspaceId, closingPicos }: Balance, end: Date): string => {
  const amount = formatUsd(-closingPicos)
  if (format === 'beancount') return `${utcDayAt(end.getTime())} balance ${account}  ${amount} ~ 0 USD\n`
  return `${headOf(format, utcDayAt(end.getTime() - 1), workspaceId, 'closing balance')}  ${account}  0 USD = ${amount} USD\n\n`
}

const declare = (format: JournalFormat, accounts: readonly string[], day: string): string =>
  format === 'hledger'
    ? `commodity 1000.000000000000 USD\n${accounts.map((account) => `account ${account}\n`).join('')}\n`
    : `option "operating_currency" "USD"\n${accounts.map((account) => `${day} open ${account} USD\n`).join('')}\n`

/**
 * The month as a double-entry journal: wallets are liabilities, with their balances before it and asserted after it. Must run in one
 * transaction, with the tables at `sequence`.
 */
export const readDoubleEntryJournal = async (
  db: ReadModels,
  sequence: number,
  month: string,
  format: JournalFormat,
): Promise<readonly string[]> => {
  const range = parseMonth(month)!
  const { transactions, balances } = await collect(db, sequence, range)
  const firstDay = utcDayAt(range.from.getTime())
  const accounts = new Set([
    equity,
    ...balances.map(({ account }) => account),
    ...transactions.map(({ account }) => account),
  ])
  return [
    declare(format, [...accounts].toSorted(), firstDay),
    ...balances
      .filter(({ openingPicos }) => openingPicos !== 0n)
      .map(
        ({ account, workspaceId, openingPicos }) =>
          `${headOf(format, firstDay, workspaceId, 'opening balance') + posting(account, -openingPicos) + posting(equity, openingPicos)}\n`,
      ),
    ...transactions.map(
      ({ day, workspaceId, text, account, debitPicos }) =>
        `${headOf(format, day, workspaceId, text) + posting(walletAccount(workspaceId), debitPicos) + posting(account, -debitPicos)}\n`,
    ),
    ...balances.map((balance) => closingOf(format, balance, range.to)),
  ]
}
