import type { Database } from '../adapters/postgres/database.ts'
import { parseUsd } from '../domain/money.ts'
import type { Task } from '../domain/video/task.ts'
import { areAllCorrections } from '../domain/wallet/charge-corrections.ts'
import type { Wallet } from '../domain/wallet/wallet.ts'
import type { UsageRecorded } from '../events/types.ts'
import { type RowFramesParts, readAdjustment, readClosedRequest, readTask, rowMismatch } from '../log/row-frames.ts'
import type { Correction } from '../reconcile/correction.ts'
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

const areLogged = async (
  parts: RowFramesParts,
  { id, workspaceId, adjustments }: LedgerSubject,
  wallet: Wallet,
): Promise<boolean> => {
  if (!areAllCorrections(adjustments, id, wallet)) return false
  for (const { sequence, adjustmentId, corrects, reason } of adjustments) {
    const row = { table: 'admin_changes', id: adjustmentId, sequences: [sequence] }
    const logged = await readAdjustment(parts, row, workspaceId)
    if (logged.corrects !== corrects || logged.reason !== reason) return false
  }
  return true
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
    if (wallet === undefined || !(await areLogged(parts, ledger, wallet)))
      throw rowMismatch(parts, row, `the log has other corrections of ${id}`)
  }
