import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import type { Event } from '../events/envelope.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import {
  findBalanceBefore,
  findSpan,
  positionAfter,
  type StatementEntry,
  type StatementRange,
  type StatementSpan,
  selectEntries,
  type WalletBalance,
} from '../projections/statements/queries.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

/** Entries are streamed, and can be read once. */
export interface Statement {
  readonly sequence: number
  readonly opening: WalletBalance
  readonly entries: AsyncIterable<StatementEntry>
  /** Once all entries were read: whether a movement after the range exists, so that no later event can be in it. */
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

/** From the tables. The end is fixed at the start, so what is written meanwhile changes nothing. */
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

/** From the log, folded from the first frame: needs no tables. Throws for a workspace that the log does not have. */
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
