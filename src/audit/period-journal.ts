import { createHash } from 'node:crypto'
import { parseMonth } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import type { MovementKind } from '../domain/wallet/evolve.ts'
import type { PeriodClosed } from '../events/types.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import { readReport, sumRows } from '../projections/statements/report.ts'
import { selectMovedBalances } from '../projections/statements/spans.ts'
import { readStatementAt } from './statement.ts'
import { jsonStatement } from './statement-lines.ts'
import { StatementTotals } from './statement-totals.ts'

type PeriodJournal = Pick<PeriodClosed, 'digest' | 'totals'>

/** Of the statements of a month that was cut off by the frame `sequence`. Must run in one transaction. */
export const readPeriodJournal = async (db: ReadModels, month: string, sequence: number): Promise<PeriodJournal> => {
  const range = parseMonth(month)!
  const digest = createHash('sha256')
  const workspaces = (await selectMovedBalances(db, range)).map(({ workspaceId }) => workspaceId)
  const moved = new Map<MovementKind, bigint>()
  const balances = { openingPicos: 0n, closingPicos: 0n, requests: 0 }
  for (const workspaceId of workspaces) {
    const { opening, entries, isFinal, ...statement } = await readStatementAt(db, sequence, workspaceId, range)
    const totals = new StatementTotals(opening)
    digest.update(jsonStatement.head({ workspaceId, ...range, opening }))
    for await (const entry of entries) {
      totals.take(entry)
      digest.update(jsonStatement.entry(entry))
    }
    const { closing, sums } = totals
    digest.update(jsonStatement.foot({ closing, sums, isFinal: isFinal(), sequence: statement.sequence }))
    for (const { kind, amountPicos, count } of sums) {
      moved.set(kind, (moved.get(kind) ?? 0n) + amountPicos)
      if (kind === 'charge') balances.requests += count
    }
    balances.openingPicos += opening.balancePicos
    balances.closingPicos += closing.balancePicos
  }
  const { correctionsPicos } = sumRows((await readReport(db, { ...range, groupBy: ['month'] })).rows)
  const paidBackPicos = -(moved.get('adjustment') ?? 0n) - correctionsPicos
  const debited = (...kinds: readonly MovementKind[]): string =>
    formatUsd(kinds.reduce((picos, kind) => picos - (moved.get(kind) ?? 0n), 0n))
  return {
    digest: digest.digest('hex'),
    totals: {
      workspaces: workspaces.length,
      requests: balances.requests,
      opening: formatUsd(balances.openingPicos),
      credits: formatUsd((moved.get('credit') ?? 0n) - paidBackPicos),
      charges: debited('charge', 'excess'),
      corrections: formatUsd(correctionsPicos),
      fees: debited('fee'),
      lapsed: debited('lapse'),
      closing: formatUsd(balances.closingPicos),
    },
  }
}
