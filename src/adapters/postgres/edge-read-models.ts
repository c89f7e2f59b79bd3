import { selectAdminChanges } from '../../projections/admin-changes/queries.ts'
import { findKey, findSheetSequence, findTrace } from '../../projections/charges/charge-trace.ts'
import { selectCharges } from '../../projections/charges/queries.ts'
import { type AtSequence, atCheckpoint, type CheckPosition } from '../../projections/checkpoint/queries.ts'
import { selectFindings } from '../../projections/findings.ts'
import { findRequestFrames } from '../../projections/requests/queries.ts'
import type { ReadModels, Snapshot } from '../../projections/schema/tables.ts'
import { readStatement } from '../../projections/statements/queries.ts'
import { selectAllTasks } from '../../projections/tasks/queries.ts'
import { selectUsage } from '../../projections/usage/queries.ts'
import { selectHolds } from '../../projections/wallets/holds.ts'
import { findBalanceSnapshot, findBilling } from '../../projections/wallets/queries.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'

/** Each result is read from one state of the tables. `checkPosition` refuses those of another log. */
export const edgeReadModels = (db: ReadModels, checkPosition?: CheckPosition): EdgeReadModels => {
  const at = <T>(read: (trx: Snapshot, sequence: number) => Promise<T>): Promise<AtSequence<T>> =>
    atCheckpoint(db, read, checkPosition)
  const valueAt = async <T>(read: (trx: Snapshot) => Promise<T>): Promise<T> => (await at(read)).value
  return {
    findBilling: (workspaceId) => at((trx) => findBilling(trx, workspaceId)),
    findBalanceSnapshot: (workspaceId, wanted) => at((trx) => findBalanceSnapshot(trx, workspaceId, wanted)),
    listTasks: (workspaceId, wanted) => at((trx) => selectAllTasks(trx, workspaceId, wanted)),
    listFindings: (wanted) => at((trx) => selectFindings(trx, wanted)),
    findCheckpoint: () => at(async () => null),
    listUsage: (workspaceId, wanted) => at((trx) => selectUsage(trx, workspaceId, wanted)),
    readStatement: (workspaceId, wanted) => at((trx, sequence) => readStatement(trx, workspaceId, wanted, sequence)),
    listHolds: (workspaceId, wanted) => at((trx) => selectHolds(trx, workspaceId, wanted)),
    listCharges: (workspaceId, wanted) => at((trx, sequence) => selectCharges(trx, workspaceId, wanted, sequence)),
    findTrace: (id) => at((trx) => findTrace(trx, id)),
    findRequestFrames: (requestId) => at((trx) => findRequestFrames(trx, requestId)),
    findSheetSequence: (model, version) => valueAt((trx) => findSheetSequence(trx, model, version)),
    findKey: (keyId) => valueAt((trx) => findKey(trx, keyId)),
    listAdminChanges: (wanted) => at((trx) => selectAdminChanges(trx, wanted)),
  }
}
