import type { readPeriodJournal } from '../audit/period-journal.ts'
import type { Key } from '../domain/accounts/accounts.ts'
import type { Subscription } from '../domain/plans/subscription.ts'
import type { Task } from '../domain/video/task.ts'
import type { AdminChange, AdminChangeQuery } from '../projections/admin-changes/queries.ts'
import type { selectCalls } from '../projections/calls/queries.ts'
import type { ChargeTrace } from '../projections/charges/charge-trace.ts'
import type { ChargePage, ChargeQuery } from '../projections/charges/queries.ts'
import type { AtSequence } from '../projections/checkpoint/queries.ts'
import type { LedgerFindingQuery, LedgerFindings } from '../projections/findings.ts'
import type { selectRefusals } from '../projections/refusals/queries.ts'
import type { RequestPage, selectRequests } from '../projections/requests/listed-requests.ts'
import type { selectOutcomes } from '../projections/requests/outcomes.ts'
import type { readInvoiced } from '../projections/statements/invoiced.ts'
import type { StatementPage, StatementQuery } from '../projections/statements/queries.ts'
import type { readReport } from '../projections/statements/report.ts'
import type { TaskQuery } from '../projections/tasks/queries.ts'
import type { Unfinished } from '../projections/unfinished.ts'
import type { UsageQuery, UsageSums } from '../projections/usage/queries.ts'
import type { HoldQuery, OpenHold } from '../projections/wallets/holds.ts'
import type { BalanceSnapshot } from '../projections/wallets/queries.ts'

export interface Billing {
  readonly creditsPicos: bigint
  readonly chargedPicos: bigint
  /** Negative where corrections charged more than they credited. */
  readonly adjustmentsPicos: bigint
  /** Of these, corrections of requests and tasks. */
  readonly usageAdjustmentsPicos: bigint
  readonly feesPicos: bigint
  readonly lapsedPicos: bigint
  readonly creditLimitPicos: bigint
  readonly subscription: Subscription | null
}

/** Reads of the tables, with the sequence of the log that they reflect. All reject while they cannot be read. */
export interface EdgeReadModels {
  /** Undefined where the tables do not have the workspace yet. */
  findBilling(workspaceId: string): Promise<AtSequence<Billing | undefined>>
  /** `from` is a day in UTC. */
  findBalanceSnapshot(
    workspaceId: string,
    wanted: { readonly from: string; readonly daysMax: number },
  ): Promise<AtSequence<BalanceSnapshot | undefined>>
  listTasks(workspaceId: string, wanted: TaskQuery): Promise<AtSequence<readonly Task[]>>
  listFindings(wanted: LedgerFindingQuery): Promise<AtSequence<LedgerFindings>>
  /** Only the sequence that the tables reflect. */
  findCheckpoint(forWorkspaceId?: string): Promise<AtSequence<null>>
  listUsage(workspaceId: string, wanted: UsageQuery): Promise<AtSequence<readonly UsageSums[]>>
  readStatement(workspaceId: string, wanted: StatementQuery): Promise<AtSequence<StatementPage>>
  listHolds(workspaceId: string, wanted: HoldQuery): Promise<AtSequence<readonly OpenHold[]>>
  listCharges(workspaceId: string, wanted: ChargeQuery): Promise<AtSequence<ChargePage>>
  /** Null: of all workspaces. */
  listRequests(
    workspaceId: string | null,
    wanted: Parameters<typeof selectRequests>[2],
  ): Promise<AtSequence<RequestPage>>
  /** Null: of all workspaces. */
  listOutcomes(
    workspaceId: string | null,
    wanted: Parameters<typeof selectOutcomes>[2],
  ): Promise<AtSequence<Awaited<ReturnType<typeof selectOutcomes>>>>
  /** Of hours from then on. */
  listCalls(since: Date): Promise<AtSequence<Awaited<ReturnType<typeof selectCalls>>>>
  /** Null: of all workspaces, and without one. */
  listRefusals(
    workspaceId: string | null,
    wanted: Parameters<typeof selectRefusals>[2],
  ): Promise<AtSequence<Awaited<ReturnType<typeof selectRefusals>>>>
  /** Positions in the log, for any workspace; undefined for an id that the tables do not have (yet). */
  findTrace(id: string, forWorkspaceId?: string): Promise<AtSequence<ChargeTrace | undefined>>
  /** Positions in the log; undefined for a request that has not ended, or that the tables do not have yet. */
  findRequestFrames(requestId: string, forWorkspaceId?: string): Promise<AtSequence<readonly number[] | undefined>>
  findSheetSequence(model: string, version: string): Promise<number | undefined>
  findKey(keyId: string): Promise<Key | undefined>
  /** Rejects with ReportFault where it is not what the statements come to. */
  readReport(wanted: Parameters<typeof readReport>[1]): Promise<AtSequence<Awaited<ReturnType<typeof readReport>>>>
  /** Rejects where the tables do not come as far as the frame; absent: as far as they come. */
  listUnfinished(month: string, sequence?: number): Promise<AtSequence<readonly Unfinished[]>>
  /** As `readPeriodJournal`, what of the month is invoiced. */
  readInvoiced(wanted: Parameters<typeof readInvoiced>[1], sequence: number): ReturnType<typeof readInvoiced>
  /** Of a month that was cut off; rejects where the tables do not come as far as the frame that did so. */
  readPeriodJournal(month: string, sequence: number): ReturnType<typeof readPeriodJournal>
  listAdminChanges(wanted: AdminChangeQuery): Promise<AtSequence<readonly AdminChange[]>>
}
