import { listAdminChanges } from '../../read-models/admin-changes.ts'
import { findKey, findSheetSequence, findTrace } from '../../read-models/charge-trace.ts'
import { listCharges } from '../../read-models/charges.ts'
import { atCheckpoint } from '../../read-models/checkpoint.ts'
import { listFindings } from '../../read-models/findings.ts'
import { listHolds } from '../../read-models/holds.ts'
import { findRequestEnd } from '../../read-models/request-end.ts'
import { findStanding } from '../../read-models/standing.ts'
import { readStatement } from '../../read-models/statement.ts'
import type { ReadModels } from '../../read-models/tables.ts'
import { listAllTasks } from '../../read-models/tasks.ts'
import { listUsage } from '../../read-models/usage.ts'
import { findBilling } from '../../read-models/wallet.ts'
import type { EdgeReadModels } from '../../roles/edge/read-models.ts'

/** What an edge reads, each answer from one state of the tables. */
export const edgeReadModels = (db: ReadModels): EdgeReadModels => ({
  findBilling: (workspaceId) => atCheckpoint(db, (trx) => findBilling(trx, workspaceId)),
  findStanding: (workspaceId, wanted) => atCheckpoint(db, (trx) => findStanding(trx, workspaceId, wanted)),
  listTasks: (workspaceId, wanted) => atCheckpoint(db, (trx) => listAllTasks(trx, workspaceId, wanted)),
  listFindings: (wanted) => atCheckpoint(db, (trx) => listFindings(trx, wanted)),
  findCheckpoint: () => atCheckpoint(db, async () => null),
  listUsage: (workspaceId, wanted) => atCheckpoint(db, (trx) => listUsage(trx, workspaceId, wanted)),
  readStatement: (workspaceId, wanted) =>
    atCheckpoint(db, (trx, sequence) => readStatement(trx, workspaceId, wanted, sequence)),
  listHolds: (workspaceId, wanted) => atCheckpoint(db, (trx) => listHolds(trx, workspaceId, wanted)),
  listCharges: (workspaceId, wanted) =>
    atCheckpoint(db, (trx, sequence) => listCharges(trx, workspaceId, wanted, sequence)),
  findTrace: (id) => atCheckpoint(db, (trx) => findTrace(trx, id)),
  findRequestEnd: (requestId) => atCheckpoint(db, (trx) => findRequestEnd(trx, requestId)),
  findSheetSequence: (model, version) => findSheetSequence(db, model, version),
  findKey: (keyId) => findKey(db, keyId),
  listAdminChanges: (wanted) => atCheckpoint(db, (trx) => listAdminChanges(trx, wanted)),
})
