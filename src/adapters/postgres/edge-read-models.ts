import { selectAdminChanges } from '../../projections/admin-changes/queries.ts'
import { findKey, findSheetSequence, findTrace } from '../../projections/charges/charge-trace.ts'
import { selectCharges } from '../../projections/charges/queries.ts'
import { atCheckpoint } from '../../projections/checkpoint/queries.ts'
import { selectFindings } from '../../projections/findings.ts'
import { findRequestFrames } from '../../projections/requests/queries.ts'
import type { ReadModels } from '../../projections/schema/tables.ts'
import { readStatement } from '../../projections/statements/queries.ts'
import { selectAllTasks } from '../../projections/tasks/queries.ts'
import { selectUsage } from '../../projections/usage/queries.ts'
import { selectHolds } from '../../projections/wallets/holds.ts'
import { findBalanceSnapshot, findBilling } from '../../projections/wallets/queries.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'

/** Each result is read from one state of the tables. */
export const edgeReadModels = (db: ReadModels): EdgeReadModels => ({
  findBilling: (workspaceId) => atCheckpoint(db, (trx) => findBilling(trx, workspaceId)),
  findBalanceSnapshot: (workspaceId, wanted) =>
    atCheckpoint(db, (trx) => findBalanceSnapshot(trx, workspaceId, wanted)),
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
  findRequestFrames: (requestId) => atCheckpoint(db, (trx) => findRequestFrames(trx, requestId)),
  findSheetSequence: (model, version) => findSheetSequence(db, model, version),
  findKey: (keyId) => findKey(db, keyId),
  listAdminChanges: (wanted) => atCheckpoint(db, (trx) => selectAdminChanges(trx, wanted)),
})
