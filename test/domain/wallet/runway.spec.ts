import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { estimateRunway } from '../../../src/domain/wallet/runway.ts'

const sinceMs = Date.parse('2026-03-01T00:00:00Z')
const dayMs = 86_400_000

t.test('how long the money lasts, at the pace of what was spent', async (t) => {
  const rows: readonly (readonly [
    spent: string,
    available: string,
    days: number,
    perDay: string,
    leftDays: number | null,
  ])[] = [
    ['7', '10', 7, '1', 10],
    ['0.5', '10', 2, '0.25', 40],
    ['1', '10', 3, '0.333333333333', 30],
    ['2', '10', 3, '0.666666666667', 15],
    ['7', '0', 7, '1', 0],
    ['7', '-3', 7, '1', 0],
    ['0', '10', 7, '0', null],
    ['0.000000000001', '10', 7, '0', null],
  ]
  for (const [spent, available, days, perDay, leftDays] of rows) {
    const nowMs = sinceMs + days * dayMs
    const runway = estimateRunway({ spentPicos: parseUsd(spent), availablePicos: parseUsd(available), sinceMs, nowMs })
    const row = `${spent} in ${days} days, ${available} left`
    t.equal(formatUsd(runway.perDayPicos), perDay, row)
    t.equal(runway.untilMs, leftDays === null ? null : nowMs + leftDays * dayMs, row)
  }
})

t.test('a pace of no time at all is one of a moment', async (t) => {
  const { untilMs } = estimateRunway({ spentPicos: 1n, availablePicos: 5n, sinceMs, nowMs: sinceMs })
  t.equal(untilMs, sinceMs + 5)
})
