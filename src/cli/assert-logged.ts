import type { Database } from '../adapters/postgres/database.ts'
import { parseUsd } from '../domain/money.ts'
import type { Task } from '../domain/video/task.ts'
import { adjustmentKey, undeliveredPrefix } from '../domain/wallet/evolve.ts'
import type { Wallet } from '../domain/wallet/wallet.ts'
import type { UsageRecorded } from '../events/types.ts'
import { type RowFramesParts, readClosedRequest, readTask, rowMismatch } from '../log/row-frames.ts'
import { type Correction, reconciliationId } from '../reconcile/correction.ts'
import { toUnitParts, videoItem } from '../reconcile/invoices/row.ts'
import type { LedgerSubject } from '../reconcile/repository.ts'

interface LoggedChargeParts extends RowFramesParts {
  readonly database: Pick<Database, 'readModels' | 'tasks'>
}

type LoggedCharge = Pick<UsageRecorded | Task, 'workspaceId' | 'provider' | 'model' | 'source' | 'total' | 'lines'> &
  Partial<Pick<Task, 'unitPrice'>>

interface FoundCharge {
  readonly row: Parameters<typeof rowMismatch>[1]
  /** Null where it ended without a charge. */
  readonly charge: LoggedCharge | null
}

const readRequest = async (parts: LoggedChargeParts, id: string): Promise<FoundCharge> => {
  const { value: sequences = [] } = await parts.database.readModels().findRequestFrames(id)
  const row = { table: 'requests', id, sequences }
  const { closing } = await readClosedRequest(parts, row, id)
  return { row, charge: closing.type === 'UsageRecorded' ? closing.data : null }
}

const readSettledTask = async (parts: LoggedChargeParts, workspaceId: string, id: string): Promise<FoundCharge> => {
  const sequences = (await parts.database.tasks().findTask(workspaceId, id))?.sequences ?? []
  const row = { table: 'tasks', id, sequences }
  const task = await readTask(parts, row, workspaceId)
  return { row, charge: task.status === 'SUCCESS' ? task : null }
}

const quantityOf = (item: string, quantity: string | number): bigint =>
  item === videoItem ? toUnitParts(String(quantity)) : BigInt(quantity)

const isSameCharge = (ledger: LedgerSubject, charge: LoggedCharge, provider: string): boolean =>
  charge.workspaceId === ledger.workspaceId &&
  charge.provider === provider &&
  charge.model === ledger.model &&
  (charge.source === 'estimated') === ledger.estimated &&
  parseUsd(charge.total) === ledger.totalPicos &&
  (charge.unitPrice === undefined ? null : parseUsd(charge.unitPrice)) === ledger.unitPricePicos &&
  charge.lines.length === ledger.lines.length &&
  charge.lines.every(({ item, quantity, amount }, place) => {
    const line = ledger.lines[place]
    return item === line?.item && quantityOf(item, quantity) === line.quantity && parseUsd(amount) === line.amountPicos
  })

/** What reconciliations took, less what they gave back, as the wallet knows their adjustments. */
const areSameCorrections = (
  { id, corrections, correctedPicos, isUndelivered }: LedgerSubject,
  wallet: Wallet,
): boolean => {
  const amounts = Array.from({ length: corrections }, (_, before) =>
    wallet.references.get(adjustmentKey(reconciliationId(id, before))),
  )
  const takenPicos = amounts.reduce<bigint>((sum, picos) => sum - (picos ?? 0n), 0n)
  const isKnown = wallet.references.has(adjustmentKey(undeliveredPrefix + id)) === isUndelivered
  return isKnown && !amounts.includes(undefined) && takenPicos === correctedPicos
}

/** Throws `read_models_unavailable` where the log has another charge, or other corrections of it, than the tables. */
export const createLoggedCheck =
  (parts: LoggedChargeParts, provider: string) =>
  async ({ ledger }: Correction): Promise<void> => {
    const { id, workspaceId, unitPricePicos } = ledger
    const found = unitPricePicos === null ? readRequest(parts, id) : readSettledTask(parts, workspaceId, id)
    const { row, charge } = await found
    const wallet = parts.tail.ledger.wallets.get(workspaceId)
    if (charge === null || !isSameCharge(ledger, charge, provider))
      throw rowMismatch(parts, row, `the log has another charge for ${id}`)
    if (wallet === undefined || !areSameCorrections(ledger, wallet))
      throw rowMismatch(parts, row, `the log has other corrections of ${id}`)
  }
