import { selectAdminChanges } from '../../projections/admin-changes.ts'
import { findBalanceSnapshot } from '../../projections/balance-snapshot.ts'
import { findKey, findSheetSequence, findTrace } from '../../projections/charge-trace.ts'
import { selectCharges } from '../../projections/charges.ts'
import { atCheckpoint } from '../../projections/checkpoint.ts'
import { selectFindings } from '../../projections/findings.ts'
import { selectHolds } from '../../projections/holds.ts'
import { findRequestEnd } from '../../projections/request-end.ts'
import { readStatement } from '../../projections/statement.ts'
import type { ReadModels } from '../../projections/tables.ts'
import { selectAllTasks } from '../../projections/tasks.ts'
import { selectUsage } from '../../projections/usage.ts'
import { findBilling } from '../../projections/wallet.ts'
import type { EdgeReadModels } from '../../roles/edge/read-models.ts'

/** Each result is read from one state of the tables. */
export const edgeReadModels = (db: ReadModels): EdgeReadModels => ({
  findBilling: (workspaceId) => atCheckpoint(db, (trx) => findBilling(trx, workspaceId)),
  findStanding: (workspaceId, wanted) => atCheckpoint(db, (trx) => findBalanceSnapshot(trx, workspaceId, wanted)),
  listTasks: (workspaceId, wanted) => atCheckpoint(db, (trx) => selectAllTasks(trx, workspaceId, wanted)),
  listFindings: (wanted) => atCheckpoint(db, (trx) => selectFindings(trx, wanted)),
  findCheckpoint: () => atCheckpoint(db, async () => null),
  listUsage: (workspaceId, wanted) => atCheckpoint(db, (trx) => selectUsage(trx, workspaceId, wanted)),
  readStatement: (workspaceId, wanted) =>
    atCheckpoint(db, (trx, sequence) => readStatement(trx, workspaceId, wanted, sequence)),
  listHolds: (workspaceId, wanted) => atCheckpoint(db, (trx) => selectHolds(trx, workspaceId, wanted)),
  listCharges: (workspaceId, wanted) =>
    atCheckpoint(db, (trx, sequence) => selectCharges(trx, workspaceId, wanted, sequence)),
  findTrace: (id) => atCheckpoint(db, (trx) => findTrace(trx, id)),
  findRequestEnd: (requestId) => atCheckpoint(db, (trx) => findRequestEnd(trx, requestId)),
  findSheetSequence: (model, version) => findSheetSequence(db, model, version),
  findKey: (keyId) => findKey(db, keyId),
  listAdminChanges: (wanted) => atCheckpoint(db, (trx) => selectAdminChanges(trx, wanted)),
})
