import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { parseMonth, utcDayAt } from '../domain/instant.ts'
import { findClosing } from '../domain/ledger/periods.ts'
import { formatUsd } from '../domain/money.ts'
import { selectPeriods } from '../projections/admin-changes/queries.ts'
import { parsePicos } from '../projections/schema/columns.ts'
import { restoredText } from '../projections/schema/stored-text.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import { entriesOfRange, type OtherDebit, selectOtherDebits } from '../projections/statements/other-debits.ts'
import { ReportFault } from '../projections/statements/report.ts'
import { selectMovedBalances } from '../projections/statements/spans.ts'

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
  /** Of adjustments; else empty. */
  readonly reason: string
  picos: bigint
}

const nameHashLength = 12
const workspacesPerRead = 500

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

const chargesAndPayments = {
  charge: (model: string) => modelAccount('Income:Usage', model),
  lapse: () => 'Income:Breakage',
  included: () => 'Income:Included-Credit',
  credit: () => receipts,
}

const debitAccount = ({ kind, isPayment, allocation }: OtherDebit): string => {
  if (kind === 'fee') return 'Income:Fees'
  return isPayment ? receipts : modelAccount('Income:Corrections', allocation.model)
}

class TransactionSums {
  readonly #sums = new Map<string, Transaction>()

  add({ picos, ...transaction }: Transaction): void {
    const name = [transaction.day, transaction.from, transaction.to, transaction.reason].join(' ')
    const known = this.#sums.get(name)
    if (known === undefined) this.#sums.set(name, { ...transaction, picos })
    else known.picos += picos
  }

  list(): readonly Transaction[] {
    return [...this.#sums.values()]
  }
}

/** No text needs quoting: ids and names of accounts have letters, digits, colons and hyphens. */
const headOf = (format: JournalFormat, day: string, payee: string, text: string, reason = ''): string =>
  format === 'hledger'
    ? `${day} * ${payee} | ${text}${reason === '' ? '' : `  ; reason:${reason}`}\n`
    : `${day} * "${payee}" "${text}"\n${reason === '' ? '' : `  reason: "${reason}"\n`}`

const posting = (account: string, picos: bigint): string => `  ${account}  ${formatUsd(picos)} USD\n`

const withoutGroup = (account: string): string => account.slice(account.indexOf(':') + 1)

const formatTransaction = (format: JournalFormat, { day, payee, from, to, reason, picos }: Transaction, text: string) =>
  `${headOf(format, day, payee, text, reason)}${posting(from, picos)}${posting(to, -picos)}\n`

const formatClosing = (
  format: JournalFormat,
  workspaceId: string,
  closingPicos: bigint,
  { end, text }: { readonly end: Date; readonly text: string },
): string => {
  const account = walletAccount(workspaceId)
  const amount = formatUsd(-closingPicos)
  if (format === 'beancount') return `${utcDayAt(end.getTime())} balance ${account}  ${amount} ~ 0 USD\n\n`
  const head = headOf(format, utcDayAt(end.getTime() - 1), workspaceId, text)
  return `${head}  ${account}  0 USD = ${amount} USD\n\n`
}

const declare = (format: JournalFormat, account: string, day: string): string =>
  format === 'hledger' ? `account ${account}\n` : `${day} open ${account} USD\n`

const sumCosts = (costs: readonly ProviderCost[]): readonly Transaction[] => {
  const sums = new TransactionSums()
  for (const { provider, day, model, amountPicos } of costs) {
    const name = nameOf(provider)
    const to = `Liabilities:Providers:${name}`
    const from = modelAccount(`Expenses:Providers:${name}`, model)
    sums.add({ day, payee: name, from, to, reason: '', picos: amountPicos })
  }
  return sums.list().filter(({ picos }) => picos !== 0n)
}

type Debit = Pick<Transaction, 'day' | 'to' | 'reason' | 'picos'>
type Period = NonNullable<ReturnType<typeof parseMonth>>

interface DebitRow {
  readonly workspace_id: string
  readonly day: string
  readonly kind: keyof typeof chargesAndPayments
  readonly model: string
  readonly debit: string
}

/** What each of the workspaces was charged, paid and lost, by day and account. */
const readDebits = async (
  db: ReadModels,
  range: Period,
  workspaces: readonly { readonly workspaceId: string }[],
): Promise<ReadonlyMap<string, readonly Debit[]>> => {
  const ids = workspaces.map(({ workspaceId }) => workspaceId)
  const entries = sql`${entriesOfRange(range)} and workspace_id = any(${ids}) and kind <> 'charge'`
  const { rows } = await sql<DebitRow>`
    select workspace_id, to_char(day, 'YYYY-MM-DD') as day, 'charge' as kind, model, sum(total) as debit
    from usage_by_day
    where workspace_id = any(${ids}) and day >= ${utcDayAt(range.from.getTime())}::date and day < ${utcDayAt(range.to.getTime())}::date
    group by 1, 2, 4
    union all
    select workspace_id, to_char(time at time zone 'UTC', 'YYYY-MM-DD') as day,
      -- The credit that a plan includes follows its fee in the same event; a credit of its own is alone in its event.
      case when kind = 'lapse' then 'lapse' when line > 0 then 'included' else 'credit' end, '', -sum(amount)
    from (${entries}) e where kind in ('credit', 'lapse') group by 1, 2, 3
    order by 2, 3, 4`.execute(db)
  const debits = [
    ...rows.map(({ workspace_id: workspaceId, day, kind, model, debit }) => {
      const to = chargesAndPayments[kind](restoredText(model))
      return { workspaceId, day, to, reason: '', picos: parsePicos(debit) }
    }),
    ...(await selectOtherDebits(db, entries)).map((debit) => {
      const { workspaceId, time, reason, debitPicos: picos } = debit
      return { workspaceId, day: utcDayAt(time.getTime()), to: debitAccount(debit), reason, picos }
    }),
  ].toSorted(({ day: one }, { day: other }) => (one < other ? -1 : one > other ? 1 : 0))
  return Map.groupBy(debits, ({ workspaceId }) => workspaceId)
}

/**
 * The month as a double-entry journal: wallets are liabilities, with their balances before it and asserted after it; `costs` are accrued.
 * Throws ReportFault where the movements are not what the balances make of them. Must be read within one transaction.
 */
export async function* readDoubleEntryJournal(
  db: ReadModels,
  month: string,
  format: JournalFormat,
  costs: readonly ProviderCost[] = [],
): AsyncGenerator<string> {
  const range = parseMonth(month)!
  const firstDay = utcDayAt(range.from.getTime())
  const isClosed = findClosing(await selectPeriods(db), range.to) !== null
  const closing = { end: range.to, text: isClosed ? 'closing balance' : 'balance so far' }
  const accounts = new Set([equity])
  const write = (transaction: Transaction, text: string): string => {
    accounts.add(transaction.from).add(transaction.to)
    return formatTransaction(format, transaction, text)
  }
  if (!isClosed) yield `; Draft: ${month} is not closed, so its movements and balances can still change.\n\n`
  yield format === 'hledger' ? 'commodity 1000.000000000000 USD\n\n' : 'option "operating_currency" "USD"\n\n'
  const balances = await selectMovedBalances(db, range)
  for (let first = 0; first < balances.length; first += workspacesPerRead) {
    const some = balances.slice(first, first + workspacesPerRead)
    const moved = await readDebits(db, range, some)
    for (const { workspaceId, openingPicos, closingPicos } of some) {
      const wallet = walletAccount(workspaceId)
      accounts.add(wallet)
      const place = { payee: workspaceId, from: wallet }
      if (openingPicos !== 0n)
        yield write({ ...place, day: firstDay, to: equity, reason: '', picos: -openingPicos }, 'opening balance')
      const sums = new TransactionSums()
      for (const debit of moved.get(workspaceId) ?? []) sums.add({ ...place, ...debit })
      const transactions = sums.list().filter(({ picos }) => picos !== 0n)
      const leftPicos = transactions.reduce((left, { picos }) => left - picos, openingPicos)
      if (leftPicos !== closingPicos)
        throw new ReportFault(
          `the movements of ${workspaceId} leave ${leftPicos} picos, and its statement closes with ${closingPicos}`,
        )
      for (const transaction of transactions) yield write(transaction, withoutGroup(transaction.to))
      yield formatClosing(format, workspaceId, closingPicos, closing)
    }
  }
  for (const transaction of sumCosts(costs)) yield write(transaction, withoutGroup(transaction.from))
  for (const account of [...accounts].toSorted()) yield declare(format, account, firstDay)
}
