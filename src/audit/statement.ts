import { setImmediate } from 'node:timers/promises'
import { type Allocation, allocateRequest, allocateTask, unallocated } from '../domain/ledger/allocation.ts'
import { type Applied, initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { findClosing } from '../domain/ledger/periods.ts'
import type { MovementKind } from '../domain/wallet/evolve.ts'
import { selectPeriods } from '../projections/admin-changes/queries.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import {
  type EntryPosition,
  findBalanceBefore,
  findSpan,
  positionAfter,
  type StatementEntry,
  type StatementRange,
  type StatementSpan,
  selectEntries,
  type WalletBalance,
} from '../projections/statements/queries.ts'
import { CorrectedAllocations } from './corrected-allocations.ts'
import { type FoldSource, foldLog } from './fold-log.ts'
import { auditLimits } from './limits.ts'

/** Entries are streamed, and can be read once. */
export interface Statement {
  /** The log was followed up to this frame; of a closed month, the frame that cut it off. */
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
  const limit = auditLimits.statementRowsPerRead
  const read = (next: EntryPosition) => selectEntries(db, workspaceId, { from: next, to, limit })
  for (let reading = read(from); ; ) {
    const page = await reading
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return yield* page
    reading = read(positionAfter(last))
    reading.catch(() => {}) // Reported when it is awaited; not where the reader stops before.
    await setImmediate() // Entries are taken without a turn of the event loop: the query is sent before them.
    yield* page
  }
}

/** The tables are at `sequence`; entries are read by `reader`, which may outlive the transaction. */
export const readStatementAt = async (
  db: ReadModels,
  sequence: number,
  workspaceId: string,
  range: StatementRange,
  reader: ReadModels = db,
): Promise<Statement> => {
  const span = await findSpan(db, workspaceId, range, sequence)
  const closing = findClosing(await selectPeriods(db), range.to)
  const isFinal = span.isFinal || closing !== null
  return {
    sequence: closing?.sequence ?? sequence,
    opening: await findBalanceBefore(db, workspaceId, span.from),
    entries: readPages(reader, workspaceId, span),
    isFinal: () => isFinal,
  }
}

/** From the tables. The end is fixed at the start, so what is written meanwhile changes nothing. */
export const readStatementFromTables = async (
  db: ReadModels,
  workspaceId: string,
  range: StatementRange,
): Promise<Statement> => {
  const { value } = await atCheckpoint(db, (trx, sequence) => readStatementAt(trx, sequence, workspaceId, range, db))
  return value
}

const balanceAfter = ({ balanceAfterPicos, heldAfterPicos }: StatementEntry): WalletBalance => ({
  balancePicos: balanceAfterPicos,
  heldPicos: heldAfterPicos,
})

type Details = Pick<StatementEntry, 'note' | 'corrects'> & Allocation

const allocateCharge = ({ closed, task }: Applied): Allocation => {
  if (closed !== null) return allocateRequest(closed)
  return task === null ? unallocated : allocateTask(task)
}

const detailsOf = async (applied: Applied, kind: MovementKind, allocations: CorrectedAllocations): Promise<Details> => {
  const { event } = applied
  const bare = { note: '', corrects: '' }
  if (kind === 'charge' || kind === 'excess') return { ...bare, ...allocateCharge(applied) }
  if (event.type === 'WalletCredited') return { ...bare, ...unallocated, note: event.data.note }
  if (event.type !== 'AdjustmentPosted') return { ...bare, ...unallocated }
  const { corrects = '', note } = event.data
  return { note, corrects, ...(await allocations.find(corrects)) }
}

async function* movementsOf(
  log: FoldSource,
  ledger: Ledger,
  workspaceId: string,
  allocations: CorrectedAllocations,
): AsyncGenerator<StatementEntry, undefined> {
  for await (const applied of foldLog(log, ledger))
    for (const each of applied) {
      allocations.take(each)
      for (const [line, movement] of each.movements.entries())
        if (movement.workspaceId === workspaceId) {
          const { sequence, index: eventIndex, event, closed, postedAt } = each
          const times = { time: new Date(postedAt), eventTime: new Date((closed?.closing ?? event).time) }
          const place = { sequence, eventIndex, line, ...times }
          yield { ...movement, ...place, ...(await detailsOf(each, movement.kind, allocations)) }
        }
    }
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
  const allocations = await CorrectedAllocations.scan(log, workspaceId)
  const movements = movementsOf(log, ledger, workspaceId, allocations)
  const { opening, first } = await skipBefore(movements, range.from)
  if (first === undefined && !ledger.accounts.workspaces.has(workspaceId) && !ledger.wallets.has(workspaceId))
    throw new Error('no such workspace')
  const closing = findClosing(allocations.periods, range.to)
  let isFinal = closing !== null
  const entries = async function* (): AsyncGenerator<StatementEntry> {
    for (let entry = first; entry !== undefined; entry = (await movements.next()).value) {
      if (range.to !== null && entry.time >= range.to) {
        isFinal = true
        break
      }
      yield entry
    }
    await movements.return(undefined)
  }
  return { sequence: closing?.sequence ?? log.to, opening, entries: entries(), isFinal: () => isFinal }
}
