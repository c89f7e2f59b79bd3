import type { Insertable, Kysely, Transaction } from 'kysely'
import type { KeyTable, LimitsTable, WorkspaceTable } from './accounts.table.ts'
import type { AdminChangeTable } from './admin-changes.table.ts'
import type { CheckpointTable, WriterTable } from './checkpoint.table.ts'
import type { ChargePlaceTable, MovementMinuteTable } from './places.table.ts'
import type { PlanTable, SubscriptionTable } from './plans.table.ts'
import type { PriceTable } from './prices.table.ts'
import type { OpenRequestTable, RequestTable } from './requests.table.ts'
import type { AliasTable, RouterTable } from './routing.table.ts'
import type { SealTable } from './seals.table.ts'
import type { StoredResponseTable } from './stored-responses.table.ts'
import type { ExternalTaskTable, LateVerdictTable, TaskChargeTable, TaskTable } from './tasks.table.ts'
import type { UsageByDayTable, UsageEntryTable } from './usage.table.ts'
import type {
  HoldTable,
  KeySpendingTable,
  WalletEntryTable,
  WalletReferenceTable,
  WalletTable,
} from './wallet.table.ts'

export interface Tables {
  readonly checkpoint: CheckpointTable
  readonly writers: WriterTable
  readonly workspaces: WorkspaceTable
  readonly keys: KeyTable
  readonly limits: LimitsTable
  readonly prices: PriceTable
  readonly aliases: AliasTable
  readonly routers: RouterTable
  readonly plans: PlanTable
  readonly subscriptions: SubscriptionTable
  readonly wallets: WalletTable
  readonly holds: HoldTable
  readonly key_spending: KeySpendingTable
  readonly wallet_references: WalletReferenceTable
  readonly wallet_entries: WalletEntryTable
  readonly requests: RequestTable
  readonly open_requests: OpenRequestTable
  readonly usage_entries: UsageEntryTable
  readonly usage_by_day: UsageByDayTable
  readonly stored_responses: StoredResponseTable
  readonly seals: SealTable
  readonly charge_places: ChargePlaceTable
  readonly movement_minutes: MovementMinuteTable
  readonly tasks: TaskTable
  readonly task_charges: TaskChargeTable
  readonly external_tasks: ExternalTaskTable
  readonly late_verdicts: LateVerdictTable
  readonly admin_changes: AdminChangeTable
}

export type ReadModels = Kysely<Tables>
export type Snapshot = Transaction<Tables>

export type RowOf<Table extends keyof Tables> = Insertable<Tables[Table]>
