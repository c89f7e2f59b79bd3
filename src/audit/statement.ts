import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import type { Event } from '../events/envelope.ts'
import { atCheckpoint } from '../projections/checkpoint.ts'
import {
  findBalanceBefore,
  findSpan,
  positionAfter,
  type StatementEntry,
  type StatementRange,
  type StatementSpan,
  selectEntries,
  type WalletBalance,
} from '../projections/statement.ts'
import type { ReadModels } from '../projections/tables.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

/** Every movement of a wallet in a range, however many: they are read as they are taken, once. */
export interface Statement {
  /** The log as far as it was followed. */
  readonly sequence: number
  readonly opening: WalletBalance
  /** In the order of the log. */
  readonly entries: AsyncIterable<StatementEntry>
  /** Once all entries were taken: a movement behind the range stands, so nothing the log may still get can be in it. */
  isFinal(): boolean
}

async function* readPages(
  db: ReadModels,
  workspaceId: string,
  { from, to }: StatementSpan,
): AsyncGenerator<StatementEntry> {
  for (let next = from; ; ) {
    const page = await selectEntries(db, workspaceId, { from: next, to, limit: sharedLimits.pageRowsMax })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < sharedLimits.pageRowsMax) return
    next = positionAfter(last)
  }
}

/** As the tables have it. Its end stands from the first moment, so what is written meanwhile changes nothing. */
export const readStatementFromTables = async (
  db: ReadModels,
  workspaceId: string,
  range: StatementRange,
): Promise<Statement> => {
  const { sequence, value } = await atCheckpoint(db, async (trx, sequence) => {
    const span = await findSpan(trx, workspaceId, range, sequence)
    return { span, opening: await findBalanceBefore(trx, workspaceId, span.from) }
  })
  const { span, opening } = value
  return { sequence, opening, entries: readPages(db, workspaceId, span), isFinal: () => span.isFinal }
}

const balanceAfter = ({ balanceAfterPicos, heldAfterPicos }: StatementEntry): WalletBalance => ({
  balancePicos: balanceAfterPicos,
  heldPicos: heldAfterPicos,
})

const noteOf = (event: Event): string => (event.type === 'WalletCredited' ? event.data.note : '')

/** Every movement of a workspace's wallet from the first frame on. */
async function* movementsOf(
  log: FoldSource,
  ledger: Ledger,
  workspaceId: string,
): AsyncGenerator<StatementEntry, undefined> {
  for await (const applied of foldLog(log, ledger))
    for (const { event, sequence, index, movements } of applied)
      for (const [line, movement] of movements.entries())
        if (movement.workspaceId === workspaceId)
          yield { ...movement, sequence, eventIndex: index, line, time: new Date(event.time), note: noteOf(event) }
}

/** The movements before an instant, taken; answers with the wallet after them, and with the first behind them. */
const skipBefore = async (
  movements: AsyncGenerator<StatementEntry, undefined>,
  from: Date | null,
): Promise<{ readonly opening: WalletBalance; readonly first: StatementEntry | undefined }> => {
  let opening: WalletBalance = { balancePicos: 0n, heldPicos: 0n }
  for (;;) {
    const { value } = await movements.next()
    if (value === undefined || from === null || value.time >= from) return { opening, first: value }
    opening = balanceAfter(value)
  }
}

/** As the log has it, folded from the first frame: needs no tables. Throws for a workspace that it does not have. */
export const readStatementFromLog = async (
  log: FoldSource,
  workspaceId: string,
  range: StatementRange,
): Promise<Statement> => {
  const ledger = initialLedger()
  const movements = movementsOf(log, ledger, workspaceId)
  const { opening, first } = await skipBefore(movements, range.from)
  if (first === undefined && !ledger.accounts.workspaces.has(workspaceId) && !ledger.wallets.has(workspaceId))
    throw new Error('no such workspace')
  let isFinal = false
  const entries = async function* (): AsyncGenerator<StatementEntry> {
    for (let entry = first; entry !== undefined; entry = (await movements.next()).value) {
      isFinal = range.to !== null && entry.time >= range.to
      if (isFinal) break
      yield entry
    }
    await movements.return(undefined)
  }
  return { sequence: log.to, opening, entries: entries(), isFinal: () => isFinal }
}
