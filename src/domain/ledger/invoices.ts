import type { FactOf } from '../../events/envelope.ts'
import type { InvoiceIssued, InvoiceLine, InvoiceParty } from '../../events/types.ts'
import { divideRoundingHalfUp, formatUsd, maxOf, picosPerUsd } from '../money.ts'
import { applyPeriod, type PeriodFact, type Periods } from './periods.ts'

interface IssuedInvoice extends Pick<InvoiceIssued, 'invoiceId' | 'number' | 'documentDigest'> {}

interface Invoices {
  lastNumber: number
  /** By month, workspace and month that is covered. */
  readonly issued: Map<string, IssuedInvoice>
}

export const initialInvoices = (): Invoices => ({ lastNumber: 0, issued: new Map() })

type Issue = Pick<InvoiceIssued, 'month' | 'workspaceId'>

const keyOf = ({ month, workspaceId }: Issue, covered: string): string => `${month} ${workspaceId} ${covered}`

export const isInvoiced = ({ issued }: Invoices, month: string): boolean =>
  [...issued.keys()].some((key) => key.startsWith(`${month} `))

interface PeriodState {
  readonly periods: Periods
  readonly invoices: Invoices
}

/**
 * False where it issues nothing: another event has its number, the entries are billed already, or the month is not closed as it
 * was when that was decided. So numbers have no gap and no double, however many issue at once.
 */
const applyInvoice = ({ periods, invoices }: PeriodState, data: InvoiceIssued): boolean => {
  const { invoiceId, number, month, covers, sequence, periodDigest, documentDigest } = data
  const period = periods.get(month)
  if (period?.sequence !== sequence || period.closed?.digest !== periodDigest) return false
  const { issued, lastNumber } = invoices
  if (number !== lastNumber + 1 || covers.some((covered) => issued.has(keyOf(data, covered)))) return false
  invoices.lastNumber = number
  for (const covered of covers) issued.set(keyOf(data, covered), { invoiceId, number, documentDigest })
  return true
}

/** False where nothing is changed by what was decided on an earlier state; a month with invoices is not reopened. */
export const applyToPeriods = (
  state: PeriodState,
  fact: PeriodFact | FactOf<'InvoiceIssued'>,
  sequence: number,
): boolean => {
  if (fact.type === 'InvoiceIssued') return applyInvoice(state, fact.data)
  if (fact.type === 'PeriodReopened' && isInvoiced(state.invoices, fact.data.month)) return false
  applyPeriod(state.periods, fact, sequence)
  return true
}

/** Entries of a wallet in a month, of one kind and model, that refer to one month. In picos; debits are above zero. */
interface InvoicedRow {
  readonly workspaceId: string
  readonly refersTo: string
  readonly kind: InvoiceLine['kind']
  readonly model: string
  readonly requests: number
  readonly picos: bigint
}

/** The same entries by the value of a tag, empty where they have none. */
interface TaggedRow extends Pick<InvoicedRow, 'workspaceId' | 'refersTo' | 'picos'> {
  readonly name: string
  readonly value: string
}

export interface InvoicedEntries {
  readonly rows: readonly InvoicedRow[]
  readonly tagged: readonly TaggedRow[]
}

interface InvoiceTerms {
  readonly prefix: string
  readonly issuedOn: string
  /** More of them are one line, `other`: those of the smallest amounts. */
  readonly linesMax: number
  readonly tagValuesMax: number
  readonly seller: InvoiceParty
  readonly of: (workspaceId: string) => Pick<InvoiceIssued, 'workspaceName' | 'account' | 'buyer' | 'taxRate'>
}

const other = 'other'
const numberDigits = 6
const picosPerCent = picosPerUsd / 100n
const percentDecimals = 4

/** The one rounding of an invoice: to whole cents, halves away from zero. */
const roundToCents = (dividend: bigint, divisor: bigint): bigint => {
  const cents = divideRoundingHalfUp(maxOf(dividend, -dividend), divisor)
  return dividend < 0n ? -cents : cents
}

const formatCents = (cents: bigint): string => {
  const digits = maxOf(cents, -cents).toString().padStart(3, '0')
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** A net amount in picos; the rate in percent. */
const totalsOf = (picos: bigint, taxRate: string): Pick<InvoiceIssued, 'exact' | 'net' | 'tax' | 'gross'> => {
  const [whole = '0', fraction = ''] = taxRate.split('.')
  const rate = BigInt(whole + fraction.padEnd(percentDecimals, '0'))
  const net = roundToCents(picos, picosPerCent)
  const tax = roundToCents(net * rate, 100n * 10n ** BigInt(percentDecimals))
  return { exact: formatUsd(picos), net: formatCents(net), tax: formatCents(tax), gross: formatCents(net + tax) }
}

const compareText = (one: string, another: string): number => (one < another ? -1 : one > another ? 1 : 0)

interface Sum {
  readonly name: string
  readonly requests: number
  readonly picos: bigint
}

const sizeOf = ({ picos }: Sum): bigint => maxOf(picos, -picos)

/** Ordered by name, with `other` at the end where there are too many. */
const sumByName = (all: readonly Sum[], most: number): readonly Sum[] => {
  const sums = [...Map.groupBy(all, ({ name }) => name)].map(([name, same]) => ({
    name,
    requests: same.reduce((count, { requests }) => count + requests, 0),
    picos: same.reduce((sum, { picos }) => sum + picos, 0n),
  }))
  const bySize = sums.toSorted(
    (one, another) =>
      Number(sizeOf(another) > sizeOf(one)) - Number(sizeOf(one) > sizeOf(another)) ||
      compareText(one.name, another.name),
  )
  if (bySize.length <= most) return bySize.toSorted((one, another) => compareText(one.name, another.name))
  const rest = bySize.slice(most - 1).map((each) => ({ ...each, name: other }))
  return [...sumByName(bySize.slice(0, most - 1), most), ...sumByName(rest, most)]
}

const kinds: readonly InvoiceLine['kind'][] = ['usage', 'fee', 'included', 'correction']

const linesOf = (rows: readonly InvoicedRow[], { linesMax }: InvoiceTerms): InvoiceLine[] =>
  kinds.flatMap((kind) => {
    const named = rows.filter((row) => row.kind === kind).map((row) => ({ ...row, name: row.model }))
    return sumByName(named, linesMax).map(({ name, requests, picos }) => ({
      kind,
      model: name,
      requests,
      amount: formatUsd(picos),
    }))
  })

/** Of tags that have a value in them. */
const tagsOf = (tagged: readonly TaggedRow[], { tagValuesMax }: InvoiceTerms): InvoiceIssued['tags'] => {
  const names = new Set(tagged.flatMap(({ name, value }) => (value === '' ? [] : [name])))
  return [...names].sort(compareText).map((name) => {
    const sums = tagged.filter((row) => row.name === name).map((row) => ({ ...row, name: row.value, requests: 0 }))
    return {
      name,
      lines: sumByName(sums, tagValuesMax).map(({ name: value, picos }) => ({ value, amount: formatUsd(picos) })),
    }
  })
}

type Document = Omit<InvoiceIssued, 'documentDigest'>

interface Part extends InvoicedEntries {
  readonly covers: string[]
  readonly corrects?: string
}

/** What refers to a month that was invoiced before is a document of its own, which corrects that invoice. */
const partsOf = ({ issued }: Invoices, issue: Issue, { rows, tagged }: InvoicedEntries): readonly Part[] => {
  const { workspaceId } = issue
  const entriesOf = (covered: readonly string[]): InvoicedEntries => ({
    rows: rows.filter(({ refersTo }) => covered.includes(refersTo)),
    tagged: tagged.filter(({ refersTo }) => covered.includes(refersTo)),
  })
  const months = [...new Set(rows.map(({ refersTo }) => refersTo))].sort(compareText)
  const left = months.filter((month) => !issued.has(keyOf(issue, month)))
  const corrections = left.flatMap((month) => {
    const original = month === issue.month ? undefined : issued.get(keyOf({ workspaceId, month }, month))
    return original === undefined ? [] : [{ ...entriesOf([month]), covers: [month], corrects: original.invoiceId }]
  })
  const own = left.filter((month) => corrections.every(({ covers }) => !covers.includes(month)))
  if (own.length === 0) return corrections
  const covers = new Set(issued.has(keyOf(issue, issue.month)) ? own : [...own, issue.month])
  return [...corrections, { ...entriesOf(own), covers: [...covers].sort(compareText) }]
}

/** The documents of a closed month that are not issued yet, by workspace, in the order of their numbers. */
export const decideInvoices = (
  invoices: Invoices,
  period: Pick<InvoiceIssued, 'month' | 'sequence' | 'periodDigest'>,
  { rows, tagged }: InvoicedEntries,
  terms: InvoiceTerms,
): readonly Document[] => {
  const { prefix, issuedOn, seller } = terms
  const { month } = period
  let number = invoices.lastNumber
  const rowsBy = Map.groupBy(rows, ({ workspaceId }) => workspaceId)
  const taggedBy = Map.groupBy(tagged, ({ workspaceId }) => workspaceId)
  return [...rowsBy.keys()].sort(compareText).flatMap((workspaceId) => {
    const entries = { rows: rowsBy.get(workspaceId) ?? [], tagged: taggedBy.get(workspaceId) ?? [] }
    return partsOf(invoices, { month, workspaceId }, entries).map((part): Document => {
      number += 1
      const picos = part.rows.reduce((sum, row) => sum + row.picos, 0n)
      const { taxRate, ...customer } = terms.of(workspaceId)
      return {
        invoiceId: `${prefix}${String(number).padStart(numberDigits, '0')}`,
        number,
        kind: picos < 0n ? 'credit_note' : 'invoice',
        workspaceId,
        ...customer,
        ...period,
        covers: part.covers,
        ...(part.corrects === undefined ? {} : { corrects: part.corrects }),
        issuedOn,
        seller,
        lines: linesOf(part.rows, terms),
        tags: tagsOf(part.tagged, terms),
        taxRate,
        ...totalsOf(picos, taxRate),
      }
    })
  })
}
