import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import Cursor from 'pg-cursor'
import type { ClosingEvent, RoutedEvent } from '../../domain/ledger/requests.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import { foldCorrections } from '../../domain/wallet/charge-corrections.ts'
import type { AdjustmentPosted } from '../../events/types.ts'
import { parsePicos } from '../../projections/schema/columns.ts'
import type { Row } from '../../projections/schema/read-model.ts'
import { restoredText, storedText } from '../../projections/schema/stored-text.ts'
import {
  type InvoiceRow,
  type RowPlace,
  type SubjectKind,
  toUnitParts,
  videoItem,
} from '../../reconcile/invoices/row.ts'
import type {
  AmbiguousRow,
  DayCharge,
  DayCorrection,
  EstimatedCharge,
  InvoicePeriod,
  LateVerdictEntry,
  LedgerSubject,
  OverdueHold,
  ReconcileRepository,
  RepeatedRow,
  SecondClosing,
  Straddle,
  SubjectPair,
  UnendedRequest,
} from '../../reconcile/repository.ts'
import { onConnection, openPool, type SchemaLocation } from './connection.ts'
import { patientPool } from './database.ts'
import { postgresLimits } from './limits.ts'
import * as sql from './reconcile-repository.sql.ts'
import { toCopyText } from './row-text.ts'

type Values = readonly (string | number | boolean)[]

const storedColumns = ['id', 'is_upstream_id', 'place', 'day', 'model', 'quantities', 'amount', 'rounding']
const rowsPerFile = 10_000_000_000

const toStoredRow = ({ subject, file, row, day, model, quantities, amountPicos, roundingPicos }: InvoiceRow): Row => ({
  id: storedText(subject?.id ?? ''),
  is_upstream_id: subject?.isUpstreamId === true,
  place: file * rowsPerFile + row,
  day,
  model: model === null ? null : storedText(model),
  quantities:
    quantities === null ? null : JSON.stringify(quantities.map(([item, quantity]) => [item, quantity.toString()])),
  amount: amountPicos === null ? null : formatUsd(amountPicos),
  rounding: formatUsd(roundingPicos),
})

const rowPlaceOf = (place: bigint): RowPlace => ({
  file: Math.floor(Number(place) / rowsPerFile),
  row: Number(place) % rowsPerFile,
})

type QuantityTexts = readonly (readonly [item: string, quantity: string])[]

const sumQuantities = (quantities: QuantityTexts): ReadonlyMap<string, bigint> => {
  const sums = new Map<string, bigint>()
  for (const [item, quantity] of quantities) sums.set(item, (sums.get(item) ?? 0n) + BigInt(quantity))
  return sums
}

type AdjustmentRows = readonly (readonly [sequence: number, amount: string, detail: AdjustmentPosted])[]

const adjustmentsIn = (rows: AdjustmentRows | null): LedgerSubject['adjustments'] =>
  (rows ?? []).map(([sequence, amount, { adjustmentId, corrects = '', reason }]) => ({
    ...{ sequence, adjustmentId, corrects, reason },
    amountPicos: parsePicos(amount),
  }))

interface PairRow {
  readonly id: string
  readonly is_upstream_id: boolean
  readonly place: bigint | null
  readonly rows: bigint | null
  readonly day: string | null
  readonly invoiced_model: string | null
  readonly quantities: QuantityTexts | null
  readonly amount: string | null
  readonly rounding: string | null
  readonly state: 'charged' | 'open' | 'uncharged' | null
  readonly workspace_id: string | null
  readonly model: string | null
  readonly source: string | null
  readonly lines:
    | readonly { readonly item: string; readonly quantity: string | number; readonly amount: string }[]
    | null
  readonly total: string | null
  readonly unit_price: string | null
  readonly adjustments: AdjustmentRows | null
  readonly in_period: boolean | null
  readonly at_edge: boolean | null
  readonly charged_day: string | null
}

const invoicedOf = (row: PairRow): SubjectPair['invoiced'] =>
  row.place === null
    ? null
    : {
        id: restoredText(row.id),
        isUpstreamId: row.is_upstream_id,
        ...rowPlaceOf(row.place),
        rows: Number(row.rows),
        day: row.day,
        model: row.invoiced_model === null ? null : restoredText(row.invoiced_model),
        quantities: sumQuantities(row.quantities ?? []),
        amountPicos: row.amount === null ? null : parsePicos(row.amount),
        roundingPicos: parsePicos(row.rounding ?? '0'),
      }

/** Units of video in 1e-12. */
const quantityOf = (item: string, quantity: string | number): bigint =>
  item === videoItem ? toUnitParts(String(quantity)) : BigInt(quantity)

const ledgerOf = (row: PairRow): SubjectPair['ledger'] =>
  row.state === null || row.workspace_id === null
    ? null
    : {
        id: restoredText(row.id),
        workspaceId: row.workspace_id,
        state: row.state,
        model: row.model === null ? null : restoredText(row.model),
        estimated: row.source === 'estimated',
        lines: (row.lines ?? []).map(({ item, quantity, amount }) => ({
          item,
          quantity: quantityOf(item, quantity),
          amountPicos: parseUsd(amount),
        })),
        totalPicos: row.total === null ? 0n : parsePicos(row.total),
        unitPricePicos: row.unit_price === null ? null : parseUsd(row.unit_price),
        adjustments: adjustmentsIn(row.adjustments),
        inPeriod: row.in_period === true,
        atEdge: row.at_edge === true,
        day: row.charged_day,
      }

interface ChargeRow {
  readonly day: string
  readonly model: string
  readonly item: string
  readonly source: 'reported' | 'estimated'
  readonly direction: 'early' | 'late'
  readonly quantity: string
  readonly amount: string
}

interface CorrectedRow extends Pick<ChargeRow, 'day' | 'model'> {
  readonly id: string
  readonly total: string
  readonly adjustments: AdjustmentRows | null
}

const sumsOf = ({ day, model, item, quantity, amount }: ChargeRow) => ({
  day,
  model: restoredText(model),
  item,
  quantity: BigInt(quantity),
  amountPicos: parsePicos(amount),
})

/** The providers of a request's candidates show whether it may have been sent to this one. */
const toUnendedRequests = (
  provider: string,
  { routed, day }: { readonly routed: RoutedEvent; readonly day: string },
): readonly UnendedRequest[] => {
  const { requestId, workspaceId, candidates, reserved, deadline } = routed.data
  const upstreamModels = candidates.filter((each) => each.provider === provider).map((each) => each.upstreamModel)
  if (upstreamModels.length === 0) return []
  return [
    {
      requestId,
      workspaceId,
      day,
      routedAt: routed.time,
      deadlineMs: Date.parse(deadline),
      upstreamModels,
      reservedPicos: parseUsd(reserved),
    },
  ]
}

const secondClosingOf = ({
  closing,
  ended,
}: {
  readonly closing: ClosingEvent
  readonly ended: boolean
}): SecondClosing => ({
  requestId: closing.data.requestId,
  workspaceId: closing.data.workspaceId,
  type: closing.type,
  totalPicos: closing.type === 'UsageRecorded' ? parseUsd(closing.data.total) : 0n,
  hadEnded: ended,
  time: closing.time,
})

const periodValues = (provider: string, { from, to, timezone }: InvoicePeriod): Values => [
  storedText(provider),
  from,
  to,
  timezone,
]

async function* readRows<R>(client: pg.ClientBase, text: string, values: Values): AsyncGenerator<readonly R[]> {
  const cursor = client.query(new Cursor<R>(text, [...values]))
  try {
    for (;;) {
      const rows = await cursor.read(postgresLimits.reconcileRowsPerRead)
      if (rows.length === 0) return
      yield rows
    }
  } finally {
    await cursor.close()
  }
}

/** In one transaction, so that everything is of one sequence of the log. */
export class PostgresReconcileRepository implements ReconcileRepository {
  readonly sequence: number
  readonly #client: pg.ClientBase
  readonly #provider: string
  #invoiceTable: 'absent' | 'loading' | 'indexed' = 'absent'

  private constructor(client: pg.ClientBase, sequence: number, provider: string) {
    this.#client = client
    this.sequence = sequence
    this.#provider = provider
  }

  static async run<T>(
    place: SchemaLocation,
    provider: string,
    work: (repository: ReconcileRepository) => Promise<T>,
  ): Promise<T> {
    const pool = openPool(place, patientPool)
    try {
      return await onConnection(pool, async (client) => {
        await client.query('begin transaction isolation level repeatable read')
        // First: a swap of rebuilt tables waits for readers of the checkpoint: names mean the same tables throughout.
        const { rows } = await client.query<{ sequence: bigint }>('select sequence from checkpoint')
        const result = await work(new PostgresReconcileRepository(client, Number(rows[0]?.sequence), provider))
        await client.query('rollback')
        return result
      })
    } finally {
      await pool.end()
    }
  }

  async hasTimeZone(timezone: string): Promise<boolean> {
    const { rowCount } = await this.#client.query(sql.zones, [timezone])
    return rowCount !== null && rowCount > 0
  }

  async storeRows(rows: readonly InvoiceRow[]): Promise<void> {
    await this.#ensureInvoiceTable('loading')
    const copy = this.#client.query(copyFrom(`copy invoice_rows (${storedColumns.join(', ')}) from stdin`))
    await pipeline(Readable.from(toCopyText(storedColumns, rows.map(toStoredRow))), copy)
  }

  async *matchUpstreamIds(period: InvoicePeriod): AsyncGenerator<readonly AmbiguousRow[]> {
    await this.#ensureInvoiceTable('indexed')
    await this.#client.query(sql.createUpstreamIds)
    const values = [...periodValues(this.#provider, period), postgresLimits.reconcileUpstreamIdDays]
    await this.#client.query(sql.findUpstreamIds, values)
    type SharedIdRow = { readonly id: string; readonly place: bigint; readonly requests: bigint }
    for await (const rows of readRows<SharedIdRow>(this.#client, sql.ambiguousRows, []))
      yield rows.map(({ id, place, requests }) => ({
        ...rowPlaceOf(place),
        upstreamRequestId: restoredText(id),
        requests: Number(requests),
      }))
    await this.#client.query(sql.nameRequests)
  }

  async *repeatedRows(sameToo: boolean): AsyncGenerator<readonly RepeatedRow[]> {
    await this.#ensureInvoiceTable('indexed')
    type RepeatRow = { readonly id: string; readonly place: bigint; readonly first_place: bigint }
    for await (const rows of readRows<RepeatRow>(this.#client, sql.repeatedRows, [sameToo]))
      yield rows.map((row) => ({
        id: restoredText(row.id),
        ...rowPlaceOf(row.place),
        first: rowPlaceOf(row.first_place),
      }))
  }

  async *subjects(kind: SubjectKind, period: InvoicePeriod): AsyncGenerator<readonly SubjectPair[]> {
    await this.#ensureInvoiceTable('indexed')
    const values = periodValues(this.#provider, period)
    const { invoiced, missing } = sql.pairs[kind]
    for await (const rows of readRows<PairRow>(this.#client, invoiced, values))
      yield rows.map((row) => ({ invoiced: invoicedOf(row), ledger: ledgerOf(row) }))
    for await (const rows of readRows<PairRow>(this.#client, missing, [...values, postgresLimits.reconcileClockSkewMs]))
      yield rows.map((row) => ({ invoiced: null, ledger: ledgerOf(row) }))
  }

  async *charges(period: InvoicePeriod): AsyncGenerator<readonly DayCharge[]> {
    for await (const rows of readRows<ChargeRow>(this.#client, sql.charges, periodValues(this.#provider, period)))
      yield rows.map((row) => ({ ...sumsOf(row), source: row.source }))
  }

  async *straddles(period: InvoicePeriod): AsyncGenerator<readonly Straddle[]> {
    const { reconcileClockSkewMs, reconcileStraddleMs } = postgresLimits
    const values = [...periodValues(this.#provider, period), reconcileClockSkewMs, reconcileStraddleMs]
    for await (const rows of readRows<ChargeRow>(this.#client, sql.straddles, values))
      yield rows.map((row) => ({ ...sumsOf(row), direction: row.direction }))
  }

  async *corrections(period: InvoicePeriod): AsyncGenerator<readonly DayCorrection[]> {
    for await (const rows of readRows<CorrectedRow>(
      this.#client,
      sql.corrections,
      periodValues(this.#provider, period),
    ))
      yield rows.map(({ day, model, id, total, adjustments }) => {
        const charge = { chargeId: restoredText(id), totalPicos: parsePicos(total) }
        const { correctedPicos } = foldCorrections(charge, adjustmentsIn(adjustments))
        return { day, model: restoredText(model), correctedPicos }
      })
  }

  async *openRequests(timezone: string): AsyncGenerator<readonly UnendedRequest[]> {
    for await (const rows of readRows<{ routed: RoutedEvent; day: string }>(this.#client, sql.openRequests, [timezone]))
      yield rows.flatMap((row) => toUnendedRequests(this.#provider, row))
  }

  async *overdueHolds(beforeMs: number): AsyncGenerator<readonly OverdueHold[]> {
    type HoldRow = { hold_id: string; workspace_id: string; purpose: string; remaining: string; deadline: Date }
    for await (const rows of readRows<HoldRow>(this.#client, sql.overdueHoldRows, [new Date(beforeMs).toISOString()]))
      yield rows.map(({ hold_id, workspace_id, purpose, remaining, deadline }) => ({
        holdId: hold_id,
        workspaceId: workspace_id,
        purpose,
        remainingPicos: parsePicos(remaining),
        deadline: deadline.toISOString(),
      }))
  }

  async *lateVerdicts(period: InvoicePeriod): AsyncGenerator<readonly LateVerdictEntry[]> {
    type VerdictRow = {
      readonly task_id: string
      readonly workspace_id: string
      readonly vendor_task_id: string | null
      readonly outcome: string
      readonly cost: string
      readonly time: Date
    }
    for await (const rows of readRows<VerdictRow>(this.#client, sql.lateVerdicts, periodValues(this.#provider, period)))
      yield rows.map((row) => ({
        taskId: row.task_id,
        workspaceId: row.workspace_id,
        vendorTaskId: row.vendor_task_id === null ? null : restoredText(row.vendor_task_id),
        outcome: row.outcome,
        costPicos: parsePicos(row.cost),
        time: row.time.toISOString(),
      }))
  }

  async *estimatedCharges(period: InvoicePeriod): AsyncGenerator<readonly EstimatedCharge[]> {
    type EstimateRow = { id: string; workspace_id: string; model: string; total: string; time: Date }
    for await (const rows of readRows<EstimateRow>(
      this.#client,
      sql.estimatedCharges,
      periodValues(this.#provider, period),
    ))
      yield rows.map(({ id, workspace_id, model, total, time }) => ({
        id,
        workspaceId: workspace_id,
        model: restoredText(model),
        totalPicos: parsePicos(total),
        time: time.toISOString(),
      }))
  }

  async *secondClosings(): AsyncGenerator<readonly SecondClosing[]> {
    for await (const rows of readRows<{ closing: ClosingEvent; ended: boolean }>(this.#client, sql.secondClosings, []))
      yield rows.map(secondClosingOf)
  }

  async #ensureInvoiceTable(state: 'loading' | 'indexed'): Promise<void> {
    if (this.#invoiceTable === 'absent') {
      await this.#client.query(sql.createInvoiceRows)
      this.#invoiceTable = 'loading'
    }
    if (state === 'loading' || this.#invoiceTable === 'indexed') return
    await this.#client.query(sql.indexInvoiceRows)
    this.#invoiceTable = 'indexed'
  }
}
