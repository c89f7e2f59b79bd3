import { formatUsd } from '../domain/money.ts'
import { type Correction, toAdjustment } from '../reconcile/correction.ts'
import { differenceClasses } from '../reconcile/decompose.ts'
import { type DifferenceTotals, harmlessClasses, type ReconcileFinding, type RowSpan } from '../reconcile/finding.ts'
import { videoItem } from '../reconcile/invoices/row.ts'
import type { FaultyInvoice, Reconciliation } from '../reconcile/reconcile.ts'
import type { InvoicePeriod, ReconcileRepository } from '../reconcile/repository.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { cliLimits } from './command-limits.ts'
import type { PostingOutcome } from './post-corrections.ts'
import { printRecords } from './report.ts'

type Fields = Readonly<Record<string, unknown>>

/** Prints everything as one JSON object a line, or for people the first of each kind and their number. */
interface ReportWriter {
  add(kind: string, fields: Fields): void
  end(): void
}

/** Each line as it comes, so that none are held in memory. */
const jsonReport: ReportWriter = {
  add: (type, fields) => console.log(JSON.stringify({ type, ...fields })),
  end: () => {},
}

class TableReport implements ReportWriter {
  readonly #kinds = new Map<string, { readonly records: Fields[]; count: number }>()

  add(kind: string, fields: Fields): void {
    const existing = this.#kinds.get(kind) ?? { records: [], count: 0 }
    this.#kinds.set(kind, existing)
    existing.count += 1
    if (existing.records.length < cliLimits.reconcileShownMax) existing.records.push(fields)
  }

  end(): void {
    for (const [kind, { records, count }] of this.#kinds) {
      console.log(`\n${kind.replaceAll('_', ' ')}: ${count}`)
      printRecords(records, { json: false })
      if (count > records.length) console.log(`… and ${count - records.length} more; --json has them all`)
    }
  }
}

export const createReport = ({ json }: { readonly json: boolean }): ReportWriter =>
  json ? jsonReport : new TableReport()

export interface ReportedInvoice {
  readonly provider: string
  readonly format: string
  readonly fileNames: readonly string[]
}

const quantityText = (item: string, quantity: bigint): string =>
  item === videoItem ? formatUsd(quantity) : quantity.toString()

const rowsText = ({ file, row, rows }: RowSpan, { fileNames }: ReportedInvoice): string =>
  `${fileNames[file]}:${row}${rows > 1 ? ` and ${rows - 1} more` : ''}`

/** For people: `output 120 for 100`. */
const quantitiesText = (quantities: ReconcileFinding['quantities']): string =>
  quantities
    .map(({ item, invoiced, charged }) => `${item} ${quantityText(item, invoiced)} for ${quantityText(item, charged)}`)
    .join(', ')

const subjectFields = ({ id, upstreamRequestId, item, workspaceId }: ReconcileFinding, json: boolean): Fields => {
  if (upstreamRequestId !== null && json)
    return { charge: null, workspace: null, upstream_request_id: upstreamRequestId }
  if (upstreamRequestId !== null) return { charge: `upstream request id ${upstreamRequestId}`, workspace: null }
  return id === null ? { item } : { charge: id, workspace: workspaceId }
}

const differenceFields = (finding: ReconcileFinding, json: boolean) => ({
  class: finding.class,
  amount: formatUsd(finding.amountPicos),
  day: finding.day,
  model: finding.model,
  ...subjectFields(finding, json),
  invoiced: formatUsd(finding.invoicedPicos),
  ledger: formatUsd(finding.ledgerPicos),
})

export const differenceRecord = (finding: ReconcileFinding, invoice: ReportedInvoice, json: boolean): Fields => {
  const { quantities, rows } = finding
  if (!json)
    return {
      ...differenceFields(finding, json),
      quantities: quantitiesText(quantities),
      rows: rows === null ? '' : rowsText(rows, invoice),
    }
  return {
    ...differenceFields(finding, json),
    quantities: quantities.map(({ item, invoiced, charged }) => ({
      item,
      invoiced: quantityText(item, invoiced),
      charged: quantityText(item, charged),
    })),
    ...(rows === null ? {} : { file: invoice.fileNames[rows.file], row: rows.row, rows: rows.rows }),
  }
}

export const correctionRecord = (correction: Correction, outcome: PostingOutcome): Fields => {
  const { adjustmentId, workspaceId, amount, corrects } = toAdjustment(correction).data
  return { outcome, workspace: workspaceId, amount, corrects, adjustment: adjustmentId }
}

/** Open items beside the differences; they do not change the exit code. */
export const reportLists = async (
  repository: ReconcileRepository,
  period: InvoicePeriod,
  nowMs: number,
  shown: ReportWriter,
): Promise<void> => {
  const overdueMs = nowMs - sharedLimits.reconcileGraceMs
  for await (const requests of repository.openRequests(period.timezone))
    for (const { requestId, workspaceId, routedAt, deadlineMs, reservedPicos } of requests)
      if (deadlineMs < overdueMs)
        shown.add('open_request', {
          request: requestId,
          workspace: workspaceId,
          routed_at: routedAt,
          deadline: new Date(deadlineMs).toISOString(),
          reserved: formatUsd(reservedPicos),
        })
  for await (const holds of repository.overdueHolds(overdueMs))
    for (const { holdId, workspaceId, purpose, remainingPicos, deadline } of holds)
      shown.add('overdue_hold', {
        hold: holdId,
        workspace: workspaceId,
        purpose,
        remaining: formatUsd(remainingPicos),
        deadline,
      })
  for await (const verdicts of repository.lateVerdicts(period))
    for (const { taskId, workspaceId, vendorTaskId, outcome, costPicos, time } of verdicts)
      shown.add('late_verdict', {
        task: taskId,
        workspace: workspaceId,
        vendor_task: vendorTaskId,
        outcome,
        cost: formatUsd(costPicos),
        time,
      })
  for await (const charges of repository.estimatedCharges(period))
    for (const { id, workspaceId, model, totalPicos, time } of charges)
      shown.add('estimated_charge', { charge: id, workspace: workspaceId, model, total: formatUsd(totalPicos), time })
  for await (const closings of repository.secondClosings())
    for (const { requestId, workspaceId, type, totalPicos, hadEnded, time } of closings)
      shown.add(hadEnded ? 'second_closing' : 'unrouted_closing', {
        request: requestId,
        workspace: workspaceId,
        event: type,
        total: formatUsd(totalPicos),
        time,
      })
}

const classRecords = ({ classes }: DifferenceTotals): readonly Fields[] =>
  differenceClasses.flatMap((name) => {
    const total = classes.get(name)
    return total === undefined ? [] : [{ class: name, count: total.count, amount: formatUsd(total.amountPicos) }]
  })

/** Differences that are neither timing nor rounding. */
export const countHarmful = ({ classes }: DifferenceTotals): number =>
  [...classes].reduce((sum, [name, { count }]) => (harmlessClasses.has(name) ? sum : sum + count), 0)

interface Summary {
  readonly invoice: ReportedInvoice
  readonly reconciliation: Reconciliation
  readonly sequence: number
  readonly corrected: number
  readonly explained: string
  readonly unreconciled: string
}

/** After the corrections of the run. */
export const printRemainder = (
  { explained, unreconciled }: Pick<Summary, 'explained' | 'unreconciled'>,
  { json }: { readonly json: boolean },
): void =>
  console.log(
    json
      ? JSON.stringify({ type: 'remainder', explained, unreconciled })
      : `explained ${explained}  unreconciled ${unreconciled} USD`,
  )

const summaryFields = ({ invoice, reconciliation, sequence, corrected, explained, unreconciled }: Summary) => {
  const { period, rows, skippedRows, totals } = reconciliation
  return {
    provider: invoice.provider,
    format: invoice.format,
    ...period,
    rows,
    rows_left_out: skippedRows,
    at_sequence: sequence,
    invoiced: formatUsd(totals.invoicedPicos),
    ledger: formatUsd(totals.ledgerPicos),
    difference: formatUsd(totals.invoicedPicos - totals.ledgerPicos),
    differences: countHarmful(totals),
    ...{ corrected, explained, unreconciled },
    overdue_after_seconds: sharedLimits.reconcileGraceMs / 1_000,
  }
}

export const printSummary = (summary: Summary, { json }: { readonly json: boolean }): void => {
  const classes = classRecords(summary.reconciliation.totals)
  const fields = summaryFields(summary)
  if (json) {
    for (const record of classes) console.log(JSON.stringify({ type: 'class', ...record }))
    console.log(JSON.stringify({ type: 'summary', ...fields }))
    return
  }
  console.log()
  printRecords(classes, { json })
  console.log(
    `\n${fields.provider}, ${fields.from} to ${fields.to} (${fields.timezone}): ${fields.rows} rows of ${summary.invoice.fileNames.length} files` +
      `${fields.rows_left_out > 0 ? `, ${fields.rows_left_out} rows of other days left out` : ''}; the ledger at frame ${fields.at_sequence}`,
  )
  console.log(`invoiced ${fields.invoiced}  ledger ${fields.ledger}  difference ${fields.difference} USD`)
  printRemainder(summary, { json })
}

export const printFaults = ({ faults, faultsCount }: FaultyInvoice, { fileNames }: ReportedInvoice, json: boolean) => {
  for (const { file, row, problem } of faults)
    if (json) console.log(JSON.stringify({ type: 'bad_row', file: fileNames[file], row, problem }))
    else console.error(`${fileNames[file]}${row === 0 ? '' : `:${row}`}: ${problem}`)
  const shown = faultsCount > faults.length ? `, of which ${faults.length} are shown` : ''
  console.error(
    `${faultsCount} bad ${faultsCount === 1 ? 'row' : 'rows'}${shown}: nothing was compared, nothing is posted`,
  )
}
