import type { ChargeAdjustment } from '../domain/wallet/charge-corrections.ts'
import type { InvoiceRow, RowPlace, SubjectKind } from './invoices/row.ts'

/** In the invoice's time zone, YYYY-MM-DD, both included. */
export interface InvoicePeriod {
  readonly from: string
  readonly to: string
  readonly timezone: string
}

/** Quantities of video in 1e-12 units. */
export interface DayCharge {
  readonly day: string
  readonly model: string
  readonly item: string
  readonly source: 'reported' | 'estimated'
  readonly quantity: bigint
  readonly amountPicos: bigint
}

/** Charges of requests that crossed a midnight: an invoice may have them on its other side. */
export interface Straddle extends Omit<DayCharge, 'source'> {
  /** `early`: it may be invoiced on the day before `day`; `late`: on the day after it. */
  readonly direction: 'early' | 'late'
}

/** What corrections of the figure of one charge have taken beyond it, less what they gave back. */
export interface DayCorrection {
  readonly day: string
  readonly model: string
  readonly correctedPicos: bigint
}

/** A request that has no end, and the models of the provider that it may have been sent to. */
export interface UnendedRequest {
  readonly requestId: string
  readonly workspaceId: string
  readonly day: string
  readonly routedAt: string
  /** When its proxy gives up; milliseconds since the epoch. */
  readonly deadlineMs: number
  readonly upstreamModels: readonly string[]
  readonly reservedPicos: bigint
}

export interface InvoicedSubject {
  readonly id: string
  /** True: the id is the provider's own, and no request of the ledger has it. */
  readonly isUpstreamId: boolean
  /** Of its first row, which the others repeat. */
  readonly file: number
  readonly row: number
  readonly rows: number
  readonly day: string | null
  readonly model: string | null
  readonly quantities: ReadonlyMap<string, bigint>
  readonly amountPicos: bigint | null
  readonly roundingPicos: bigint
}

export interface LedgerSubject {
  readonly id: string
  readonly workspaceId: string
  /** `open`: it has no end. `uncharged`: it ended without a charge, or another provider served it. */
  readonly state: 'charged' | 'open' | 'uncharged'
  readonly model: string | null
  readonly estimated: boolean
  readonly lines: readonly { readonly item: string; readonly quantity: bigint; readonly amountPicos: bigint }[]
  readonly totalPicos: bigint
  /** Of a task, for one unit. */
  readonly unitPricePicos: bigint | null
  /** Those that correct it, and those that correct these, in the order of the log. */
  readonly adjustments: readonly (ChargeAdjustment & { readonly sequence: number })[]
  readonly inPeriod: boolean
  /** The request or task crossed the start or the end of the period. */
  readonly atEdge: boolean
  readonly day: string | null
}

export interface SubjectPair {
  readonly invoiced: InvoicedSubject | null
  readonly ledger: LedgerSubject | null
}

export interface OverdueHold {
  readonly holdId: string
  readonly workspaceId: string
  readonly purpose: string
  readonly remainingPicos: bigint
  readonly deadline: string
}

export interface LateVerdictEntry {
  readonly taskId: string
  readonly workspaceId: string
  readonly vendorTaskId: string | null
  readonly outcome: string
  readonly costPicos: bigint
  readonly time: string
}

export interface EstimatedCharge {
  readonly id: string
  readonly workspaceId: string
  readonly model: string
  readonly totalPicos: bigint
  readonly time: string
}

/** A closing event that was ignored: its request had ended, or was never routed. */
export interface SecondClosing {
  readonly requestId: string
  readonly workspaceId: string
  readonly type: string
  readonly totalPicos: bigint
  readonly hadEnded: boolean
  readonly time: string
}

export interface RepeatedRow extends RowPlace {
  readonly id: string
  readonly first: RowPlace
}

/** A row whose upstream request id several requests of the ledger have. */
export interface AmbiguousRow extends RowPlace {
  readonly upstreamRequestId: string
  readonly requests: number
}

export interface ReconcileRepository {
  readonly sequence: number
  /** False for a time zone that PostgreSQL does not know. */
  hasTimeZone(timezone: string): Promise<boolean>
  storeRows(rows: readonly InvoiceRow[]): Promise<void>
  /**
   * Gives each row with an id of the provider the request or task that it served under it in the period, or on the
   * day before or after; other rows keep theirs. Yields the rows for which there are several.
   */
  matchUpstreamIds(period: InvoicePeriod): AsyncIterable<readonly AmbiguousRow[]>
  /** In their order; with `sameToo` false only rows with other figures than the first. */
  repeatedRows(sameToo: boolean): AsyncIterable<readonly RepeatedRow[]>
  /** Of each request or task its first row alone. */
  subjects(kind: SubjectKind, period: InvoicePeriod): AsyncIterable<readonly SubjectPair[]>
  charges(period: InvoicePeriod): AsyncIterable<readonly DayCharge[]>
  straddles(period: InvoicePeriod): AsyncIterable<readonly Straddle[]>
  corrections(period: InvoicePeriod): AsyncIterable<readonly DayCorrection[]>
  openRequests(timezone: string): AsyncIterable<readonly UnendedRequest[]>
  overdueHolds(beforeMs: number): AsyncIterable<readonly OverdueHold[]>
  lateVerdicts(period: InvoicePeriod): AsyncIterable<readonly LateVerdictEntry[]>
  estimatedCharges(period: InvoicePeriod): AsyncIterable<readonly EstimatedCharge[]>
  secondClosings(): AsyncIterable<readonly SecondClosing[]>
}
