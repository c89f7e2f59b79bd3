import { compareDays } from './compare-days.ts'
import { compareSubject } from './compare-subject.ts'
import type { Correction } from './correction.ts'
import { DayCells } from './day-cells.ts'
import type { UnitPrice } from './decompose.ts'
import { assertTotalsBalance, countFinding, type DifferenceTotals, noTotals, type ReconcileFinding } from './finding.ts'
import type { Invoice } from './invoices/invoice.ts'
import { reconcileLimits } from './invoices/limits.ts'
import { type InvoiceRow, isRowFault, type RowFault, type SubjectKind } from './invoices/row.ts'
import type { ModelNames } from './models.ts'
import type {
  AmbiguousRow,
  InvoicedSubject,
  InvoicePeriod,
  LedgerSubject,
  ReconcileRepository,
  RepeatedRow,
} from './repository.ts'

export class PeriodUnknown extends Error {
  override readonly name = 'PeriodUnknown'
}

interface ReconcileParts {
  readonly invoice: Invoice
  readonly repository: ReconcileRepository
  readonly names: ModelNames
  /** For a unit of video without a price in its task or a sheet; null if not given. */
  readonly unitPrice: UnitPrice | null
  readonly timezone: string
  /** Days, both included; null: the first or last of the invoice. */
  readonly from: string | null
  readonly to: string | null
  readonly noteOf: (invoiced: InvoicedSubject, ledger: LedgerSubject) => string
  readonly onFinding: (finding: ReconcileFinding) => void
  /** Called if a request or task can be corrected; the comparison waits for it. */
  readonly onCorrection: (correction: Correction) => void | Promise<void>
}

export interface Reconciliation {
  readonly period: InvoicePeriod
  readonly rows: number
  readonly skippedRows: number
  /** Null: a daily invoice. */
  readonly kind: SubjectKind | null
  readonly totals: DifferenceTotals
}

export interface FaultyInvoice {
  /** At most `reconcileLimits.invoiceFaultsMax` of them. */
  readonly faults: readonly RowFault[]
  readonly faultsCount: number
}

const kindNames = { request: 'a request', task: 'a task' } as const
const nameOf = (kind: SubjectKind | null): string => (kind === null ? 'a day' : kindNames[kind])

const idShownMax = 60

const quoteId = (id: string): string => JSON.stringify(id.slice(0, idShownMax))

const ambiguity = ({ upstreamRequestId, requests }: AmbiguousRow): string =>
  `names the upstream_request_id ${quoteId(upstreamRequestId)}, which ${requests} requests of the ledger have: give the request_id`

const repetition = ({ id, file, first }: RepeatedRow, sameToo: boolean): string => {
  const place = `row ${first.row}${first.file === file ? '' : ` of file ${first.file + 1}`}`
  const name = quoteId(id)
  return sameToo ? `is of ${name}, as is ${place}` : `is of ${name}, for which ${place} has other figures`
}

const isOutsidePeriod = ({ day }: InvoiceRow, { from, to }: Pick<ReconcileParts, 'from' | 'to'>): boolean =>
  day !== null && ((from !== null && day < from) || (to !== null && day > to))

class InvoiceIntake {
  readonly #parts: ReconcileParts
  readonly faults: RowFault[] = []
  faultsCount = 0
  rows = 0
  skippedRows = 0
  kind: SubjectKind | null | undefined
  cells: DayCells | null = null
  #first: string | null = null
  #last: string | null = null
  #buffered: InvoiceRow[] = []

  constructor(parts: ReconcileParts) {
    this.#parts = parts
  }

  async take(): Promise<void> {
    for await (const rows of this.#parts.invoice.rows()) {
      for (const row of rows) {
        const problem = isRowFault(row) ? row.problem : this.#add(row)
        if (problem !== null) this.#refuse({ file: row.file, row: row.row, problem })
      }
      if (this.#buffered.length >= reconcileLimits.invoiceRowsPerCopy) await this.#flush()
    }
    await this.#flush()
    if (this.kind != null && this.faultsCount === 0) await this.#resolveSubjects()
  }

  period(): InvoicePeriod {
    const { from, to, timezone } = this.#parts
    const first = from ?? this.#first
    const last = to ?? this.#last
    if (first === null || last === null)
      throw new PeriodUnknown('the invoice has no dates: give the first and the last')
    return { from: first, to: last, timezone }
  }

  /** A subject that is invoiced twice would be charged twice. */
  async #resolveSubjects(): Promise<void> {
    const { invoice, repository } = this.#parts
    if (invoice.layout?.hasUpstreamIds === true)
      for await (const rows of repository.matchUpstreamIds(this.period()))
        for (const row of rows) this.#refuse({ file: row.file, row: row.row, problem: ambiguity(row) })
    const sameToo = invoice.layout?.mayRepeat !== true
    for await (const repeats of repository.repeatedRows(sameToo))
      for (const repeat of repeats)
        this.#refuse({ file: repeat.file, row: repeat.row, problem: repetition(repeat, sameToo) })
  }

  #refuse(fault: RowFault): void {
    this.faultsCount += 1
    if (this.faults.length < reconcileLimits.invoiceFaultsMax) this.faults.push(fault)
  }

  #add(row: InvoiceRow): string | null {
    const kind = row.subject?.kind ?? null
    if (this.kind === undefined) this.kind = kind
    if (this.kind !== kind) return `is of ${nameOf(kind)}, where rows before it are of ${nameOf(this.kind)}`
    if (isOutsidePeriod(row, this.#parts)) {
      this.skippedRows += 1
      return null
    }
    this.rows += 1
    if (row.day !== null && (this.#first === null || row.day < this.#first)) this.#first = row.day
    if (row.day !== null && (this.#last === null || row.day > this.#last)) this.#last = row.day
    return row.subject === null ? this.#addToDay(row) : this.#addSubject(row)
  }

  #addSubject(row: InvoiceRow): null {
    if (this.faultsCount === 0) this.#buffered.push(row)
    return null
  }

  #addToDay(row: InvoiceRow): string | null {
    const { day } = row
    if (day === null) return 'has no date'
    return this.#ensureCells().add({ ...row, day })
  }

  #ensureCells(): DayCells {
    const { layout } = this.#parts.invoice
    if (layout === null) throw new Error('rows come after the layout of their file')
    this.cells ??= new DayCells(layout, this.#parts.names)
    return this.cells
  }

  async #flush(): Promise<void> {
    const rows = this.#buffered
    this.#buffered = []
    if (rows.length > 0 && this.faultsCount === 0) await this.#parts.repository.storeRows(rows)
  }
}

const compareSubjects = async (
  kind: SubjectKind,
  period: InvoicePeriod,
  totals: DifferenceTotals,
  { invoice, repository, names, unitPrice, noteOf, onFinding, onCorrection }: ReconcileParts,
): Promise<void> => {
  const rules = { layout: invoice.layout!, names, unitPrice, noteOf }
  for await (const pairs of repository.subjects(kind, period))
    for (const pair of pairs) {
      const { invoicedPicos, ledgerPicos, findings, correction } = compareSubject(pair, rules)
      totals.invoicedPicos += invoicedPicos
      totals.ledgerPicos += ledgerPicos
      for (const finding of findings) {
        countFinding(totals, finding)
        onFinding(finding)
      }
      if (correction !== null) await onCorrection(correction)
    }
}

const compareAllDays = async (
  cells: DayCells,
  period: InvoicePeriod,
  totals: DifferenceTotals,
  { invoice, repository, names, onFinding }: ReconcileParts,
): Promise<void> => {
  for await (const bucket of compareDays(cells, repository, period, { layout: invoice.layout!, names })) {
    totals.invoicedPicos += bucket.invoicedPicos
    totals.ledgerPicos += bucket.ledgerPicos
    for (const finding of bucket.findings) {
      countFinding(totals, finding)
      onFinding(finding)
    }
  }
}

/**
 * Compares an invoice with the ledger; nothing is compared if a row cannot be read. Every difference is passed to
 * `onFinding` once, with one class; the classes add up to the invoice's total less the ledger's, to the pico-dollar.
 * Rejects with PeriodUnknown if neither the invoice nor the caller gives the days.
 */
export const reconcileInvoice = async (parts: ReconcileParts): Promise<Reconciliation | FaultyInvoice> => {
  const intake = new InvoiceIntake(parts)
  await intake.take()
  const { faults, faultsCount, rows, skippedRows, kind = null } = intake
  if (faultsCount > 0) return { faults, faultsCount }
  const period = intake.period()
  const totals = noTotals()
  if (kind === null) {
    const cells = intake.cells ?? new DayCells(parts.invoice.layout!, parts.names)
    await compareAllDays(cells, period, totals, parts)
  } else await compareSubjects(kind, period, totals, parts)
  assertTotalsBalance(totals)
  return { period, rows, skippedRows: skippedRows, kind, totals }
}
