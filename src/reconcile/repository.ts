import type { InvoiceRow, RowPlace, SubjectKind } from './row.ts'

/** Days as an invoice cuts them, YYYY-MM-DD, both included. */
export interface InvoicePeriod {
  readonly from: string
  readonly to: string
  /** IANA name. */
  readonly timezone: string
}

/** Sums of the charges of one day by model and item; quantities of video in 1e-12 units. */
export interface DayCharge {
  readonly day: string
  /** Public model id. */
  readonly model: string
  readonly item: string
  readonly source: 'reported' | 'estimated'
  readonly quantity: bigint
  readonly amountPicos: bigint
}

/** Of requests that reached over a midnight, what an invoice may have on its other side. */
export interface Straddle extends Omit<DayCharge, 'source'> {
  /** `early`: it may be invoiced on the day before `day`; `late`: on the day after it. */
  readonly direction: 'early' | 'late'
}

/** What reconciliations have taken beyond the charges of one day and model, less what they gave back. */
export interface DayCorrection {
  readonly day: string
  readonly model: string
  readonly takenPicos: bigint
}

/** A request that has no end, and the models of the provider that it may have been sent to. */
export interface UnendedRequest {
  readonly requestId: string
  readonly workspaceId: string
  readonly day: string
  /** Of the event. */
  readonly routedAt: string
  /** When its proxy gives up; milliseconds since the epoch. */
  readonly deadlineMs: number
  readonly upstreamModels: readonly string[]
  readonly reservedPicos: bigint
}

/** All that an invoice says of one request or task. */
export interface InvoicedSubject {
  readonly id: string
  /** Of its first row, which the others repeat. */
  readonly file: number
  readonly row: number
  readonly rows: number
  readonly day: string | null
  readonly model: string | null
  /** By item; empty where none is told. */
  readonly quantities: ReadonlyMap<string, bigint>
  readonly amountPicos: bigint | null
  readonly roundingPicos: bigint
}

/** What the ledger says of one request or task, as far as it is this provider's. */
export interface LedgerSubject {
  readonly id: string
  readonly workspaceId: string
  /** `open`: it has no end. `uncharged`: it ended without a charge, or another provider served it. */
  readonly state: 'charged' | 'open' | 'uncharged'
  /** Public model id. */
  readonly model: string | null
  readonly estimated: boolean
  readonly lines: readonly { readonly item: string; readonly quantity: bigint; readonly amountPicos: bigint }[]
  readonly totalPicos: bigint
  /** Of a task, for one unit. */
  readonly unitPricePicos: bigint | null
  /** Reconciliations posted for it, and what they took less what they gave back. */
  readonly corrections: number
  readonly takenPicos: bigint
  /** True where the whole charge was given back, as its answer never reached the client. */
  readonly isUndelivered: boolean
  /** True where its charge is of the period. */
  readonly inPeriod: boolean
  /** True where it reached over the start or the end of the period. */
  readonly atEdge: boolean
  /** YYYY-MM-DD in the invoice's zone; null where there is no charge. */
  readonly day: string | null
}

/** One request or task, as both sides have it; at least one does. */
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

/** A closing event that was not honoured: its request had ended, or was never routed. */
export interface SecondClosing {
  readonly requestId: string
  readonly workspaceId: string
  readonly type: string
  readonly totalPicos: bigint
  readonly hadEnded: boolean
  readonly time: string
}

/** A kept row of a request or task that a row before it is of. */
export interface RepeatedRow extends RowPlace {
  readonly id: string
  readonly first: RowPlace
}

/** The ledger as its tables have it at one sequence, and an invoice's rows beside it. */
export interface ReconcileRepository {
  readonly sequence: number
  /** False for a zone that the tables cannot cut days in. */
  hasTimeZone(timezone: string): Promise<boolean>
  /** Keeps rows that are of requests or tasks, to be compared later. */
  storeRows(rows: readonly InvoiceRow[]): Promise<void>
  /** Rows that repeat one before them; with `sameToo` false only those that tell other figures than the first. In their order. */
  repeatedRows(sameToo: boolean): AsyncIterable<readonly RepeatedRow[]>
  /** Of each request or task its first row alone. */
  subjects(kind: SubjectKind, period: InvoicePeriod): AsyncIterable<readonly SubjectPair[]>
  charges(period: InvoicePeriod): AsyncIterable<readonly DayCharge[]>
  straddles(period: InvoicePeriod): AsyncIterable<readonly Straddle[]>
  corrections(period: InvoicePeriod): AsyncIterable<readonly DayCorrection[]>
  /** Of every day, oldest first. */
  openRequests(timezone: string): AsyncIterable<readonly UnendedRequest[]>
  overdueHolds(beforeMs: number): AsyncIterable<readonly OverdueHold[]>
  lateVerdicts(period: InvoicePeriod): AsyncIterable<readonly LateVerdictEntry[]>
  estimatedCharges(period: InvoicePeriod): AsyncIterable<readonly EstimatedCharge[]>
  secondClosings(): AsyncIterable<readonly SecondClosing[]>
}
