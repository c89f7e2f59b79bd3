import { readPeriodJournal } from '../../audit/period-journal.ts'
import { selectAdminChanges } from '../../projections/admin-changes/queries.ts'
import { selectCalls } from '../../projections/calls/queries.ts'
import { findKey, findSheetSequence, findTrace } from '../../projections/charges/charge-trace.ts'
import { selectCharges } from '../../projections/charges/queries.ts'
import type { AtSequence } from '../../projections/checkpoint/queries.ts'
import { selectFindings } from '../../projections/findings.ts'
import { selectRefusals } from '../../projections/refusals/queries.ts'
import { selectRequests } from '../../projections/requests/listed-requests.ts'
import { selectOutcomes } from '../../projections/requests/outcomes.ts'
import { findRequestFrames } from '../../projections/requests/queries.ts'
import type { Snapshot } from '../../projections/schema/tables.ts'
import { readInvoiced } from '../../projections/statements/invoiced.ts'
import { readStatement } from '../../projections/statements/queries.ts'
import { readReport } from '../../projections/statements/report.ts'
import { selectAllTasks } from '../../projections/tasks/queries.ts'
import { selectUnfinished } from '../../projections/unfinished.ts'
import { selectUsage } from '../../projections/usage/queries.ts'
import { selectHolds } from '../../projections/wallets/holds.ts'
import { findBalanceSnapshot, findBilling } from '../../projections/wallets/queries.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { waitUntilSequence } from '../../runtime/wait-until-sequence.ts'

/** Reads one state of the tables, in the turn of the workspace; undefined: the operator. */
type ReadInTurn = <T>(
  workspaceId: string | undefined,
  read: (trx: Snapshot, sequence: number) => Promise<T>,
) => Promise<AtSequence<T>>

export const edgeReadModels = (at: ReadInTurn): EdgeReadModels => {
  const valueAt = async <T>(read: (trx: Snapshot) => Promise<T>): Promise<T> => (await at(undefined, read)).value
  const reach = async (sequence: number): Promise<void> => {
    const read = async (): Promise<number> => (await at(undefined, async () => null)).sequence
    const bounds = { pausesMs: sharedLimits.projectionStandbyMs, whileMoving: true }
    const reached = await waitUntilSequence(sequence, { read, ...bounds })
    if (reached < sequence) throw new Error(`the tables are at frame ${reached}, and have to come to ${sequence}`)
  }
  return {
    findBilling: (workspaceId) => at(workspaceId, (trx) => findBilling(trx, workspaceId)),
    findBalanceSnapshot: (workspaceId, wanted) =>
      at(workspaceId, (trx) => findBalanceSnapshot(trx, workspaceId, wanted)),
    listTasks: (workspaceId, wanted) => at(workspaceId, (trx) => selectAllTasks(trx, workspaceId, wanted)),
    listFindings: (wanted) => at(undefined, (trx) => selectFindings(trx, wanted)),
    findCheckpoint: (workspaceId) => at(workspaceId, async () => null),
    listUsage: (workspaceId, wanted) => at(workspaceId, (trx) => selectUsage(trx, workspaceId, wanted)),
    readStatement: (workspaceId, wanted) =>
      at(workspaceId, (trx, sequence) => readStatement(trx, workspaceId, wanted, sequence)),
    listHolds: (workspaceId, wanted) => at(workspaceId, (trx) => selectHolds(trx, workspaceId, wanted)),
    listCharges: (workspaceId, wanted) =>
      at(workspaceId, (trx, sequence) => selectCharges(trx, workspaceId, wanted, sequence)),
    listRequests: (workspaceId, wanted) =>
      at(workspaceId ?? undefined, (trx, sequence) => selectRequests(trx, workspaceId, wanted, sequence)),
    listOutcomes: (workspaceId, wanted) =>
      at(workspaceId ?? undefined, (trx) => selectOutcomes(trx, workspaceId, wanted)),
    listCalls: (since) => at(undefined, (trx) => selectCalls(trx, since)),
    listRefusals: (workspaceId, wanted) =>
      at(workspaceId ?? undefined, (trx) => selectRefusals(trx, workspaceId, wanted)),
    findTrace: (id, workspaceId) => at(workspaceId, (trx) => findTrace(trx, id)),
    findRequestFrames: (requestId, workspaceId) => at(workspaceId, (trx) => findRequestFrames(trx, requestId)),
    findSheetSequence: (model, version) => valueAt((trx) => findSheetSequence(trx, model, version)),
    findKey: (keyId) => valueAt((trx) => findKey(trx, keyId)),
    readReport: (wanted) => at(undefined, (trx) => readReport(trx, wanted)),
    listAdminChanges: (wanted) => at(undefined, (trx) => selectAdminChanges(trx, wanted)),
    listUnfinished: async (month, sequence) => {
      if (sequence !== undefined) await reach(sequence)
      return at(undefined, (trx) => selectUnfinished(trx, month))
    },
    readInvoiced: async (wanted, sequence) => {
      await reach(sequence)
      return valueAt((trx) => readInvoiced(trx, wanted))
    },
    readPeriodJournal: async (month, sequence) => {
      await reach(sequence)
      return valueAt((trx) => readPeriodJournal(trx, month, sequence))
    },
  }
}
