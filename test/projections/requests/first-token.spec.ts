import t from 'tap'
import { firstTokenColumns, firstTokenFigures } from '../../../src/projections/requests/table.ts'

const counts = (given: Readonly<Record<number, number>>): readonly number[] =>
  firstTokenColumns.map((_, place) => given[place] ?? 0)

t.test('a share of the first tokens is interpolated within its column', async (t) => {
  const medianOf = (given: Parameters<typeof counts>[0]) => firstTokenFigures(counts(given)).median_ms
  t.same(firstTokenFigures(counts({})), { counted: 0, median_ms: null, p95_ms: null })
  t.equal(medianOf({ 0: 4 }), 63)
  t.equal(medianOf({ 0: 1, 1: 1 }), 125)
  t.equal(medianOf({ 0: 1, 2: 3 }), 333)
  t.match(firstTokenFigures(counts({ 0: 1, 10: 1 })), { counted: 2, p95_ms: 64_000 }, 'no more than is known')
})
