import { sql } from 'kysely'
import { parseMonth } from '../../domain/instant.ts'
import type { InvoicedEntries } from '../../domain/ledger/invoices.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import { allocatedTo, entriesOfRange, type OtherDebit, selectOtherDebits } from './other-debits.ts'
import { readReport } from './report.ts'

type InvoicedRow = InvoicedEntries['rows'][number]
type TaggedRow = InvoicedEntries['tagged'][number]

interface InvoicedQuery {
  readonly month: string
  /** Absent: all. */
  readonly workspaceId?: string | undefined
  readonly tagNames: readonly string[]
}

const monthOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM'.length)

type Located = Pick<InvoicedRow, 'workspaceId' | 'refersTo' | 'picos'>

interface IncludedRow {
  readonly workspace_id: string
  readonly time: Date
  readonly event_time: Date | null
  readonly amount: string
}

/** Credit that came with a plan, and what of it lapsed: it has the reference of the fee. */
const selectIncluded = async (
  db: ReadModels,
  range: { readonly from: Date; readonly to: Date },
): Promise<readonly Located[]> => {
  const { rows } = await sql<IncludedRow>`select e.workspace_id, e.time, e.event_time, e.amount
    from (${entriesOfRange(range)}) e
    where e.kind in ('credit', 'lapse') and e.kind <> 'charge' and exists (
      select from wallet_entries f where f.workspace_id = e.workspace_id and f.kind = 'fee' and f.kind <> 'charge'
        and f.reference = e.reference
    )`.execute(db) // Of the index of movements other than charges.
  return rows.map(({ workspace_id: workspaceId, time, event_time: eventTime, amount }) => ({
    workspaceId,
    refersTo: monthOf(eventTime ?? time),
    picos: -parsePicos(amount),
  }))
}

/** When each request, task or adjustment was posted. */
const selectPostedMonths = async (
  db: ReadModels,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const stored = ids.map(storedText)
  const charge = (table: 'requests' | 'task_charges', id: 'request_id' | 'task_id') => sql`
    select r.${sql.ref(id)} as id, e.time from ${sql.table(table)} r
    join wallet_entries e on e.workspace_id = r.workspace_id and e.sequence = r.sequence
      and e.event_index = r.event_index and e.kind = 'charge'
    where r.workspace_id = ${workspaceId} and r.${sql.ref(id)} = any(${stored})`
  const { rows } = await sql<{ readonly id: string; readonly time: Date }>`
    ${charge('requests', 'request_id')} union all ${charge('task_charges', 'task_id')} union all
    select reference, time from wallet_entries
    where workspace_id = ${workspaceId} and kind = 'adjustment' and kind <> 'charge' and reference = any(${stored})`.execute(
    db,
  )
  return new Map(rows.map(({ id, time }) => [restoredText(id), monthOf(time)]))
}

interface LocatedDebit extends OtherDebit {
  readonly refersTo: string
}

const locateDebits = async (db: ReadModels, debits: readonly OtherDebit[]): Promise<readonly LocatedDebit[]> => {
  const located: LocatedDebit[] = []
  for (const [workspaceId, some] of Map.groupBy(debits, (debit) => debit.workspaceId)) {
    const ids = [...new Set(some.map(({ corrects }) => corrects))].filter((id) => id !== '')
    const posted = ids.length === 0 ? new Map<string, string>() : await selectPostedMonths(db, workspaceId, ids)
    for (const debit of some)
      located.push({ ...debit, refersTo: posted.get(debit.corrects) ?? monthOf(debit.eventTime) })
  }
  return located
}

/**
 * What an invoice on a closed month bills: charges, fees, credit included in plans, and corrections of anything but payments. Throws
 * ReportFault where charges, fees and corrections are not what the statements come to. Must run in one transaction.
 */
export const readInvoiced = async (
  db: ReadModels,
  { month, workspaceId, tagNames }: InvoicedQuery,
): Promise<InvoicedEntries> => {
  const range = parseMonth(month)!
  const isWanted = (each: { readonly workspaceId: string }): boolean =>
    workspaceId === undefined || each.workspaceId === workspaceId
  const locate = <T extends Located>(row: T): T => ({ ...row, refersTo: row.refersTo < month ? row.refersTo : month })
  const chargesBy = async (group: 'model' | `tag:${string}`) =>
    (await readReport(db, { ...range, workspaceId, groupBy: ['workspace', 'event_month', group] })).rows
      .filter(({ requests, chargesPicos }) => requests > 0 || chargesPicos !== 0n)
      .map(({ group: [id = '', refersTo = '', value = ''], requests, chargesPicos: picos }) => ({
        ...{ workspaceId: id, refersTo, value, requests, picos },
      }))
  const others = (await selectOtherDebits(db, entriesOfRange(range))).filter(
    (debit) => isWanted(debit) && !debit.isPayment,
  )
  const debits = await locateDebits(db, others)
  const included = (await selectIncluded(db, range)).filter(isWanted)
  const rows = [
    ...(await chargesBy('model')).map(({ value: model, ...row }): InvoicedRow => ({ ...row, kind: 'usage', model })),
    ...included.map((row): InvoicedRow => ({ ...row, kind: 'included', model: '', requests: 0 })),
    ...debits.map(
      ({ kind, debitPicos: picos, allocation, ...debit }): InvoicedRow => ({
        ...{ workspaceId: debit.workspaceId, refersTo: debit.refersTo, picos, requests: 0 },
        kind: kind === 'fee' ? 'fee' : 'correction',
        model: allocation.model,
      }),
    ),
  ]
  const tagged: TaggedRow[] = []
  for (const name of tagNames) {
    const ofTag = await chargesBy(`tag:${name}`)
    tagged.push(
      ...ofTag.map(({ requests: _, ...row }) => ({ ...row, name })),
      ...included.map((row) => ({ ...row, name, value: '' })),
      ...debits.map(({ workspaceId: id, refersTo, debitPicos: picos, allocation }) => ({
        ...{ workspaceId: id, refersTo, picos, name, value: allocatedTo(allocation, `tag:${name}`) },
      })),
    )
  }
  return { rows: rows.map(locate), tagged: tagged.map(locate) }
}
