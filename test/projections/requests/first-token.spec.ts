import t from 'tap'
import { firstTokenQuantile } from '../../../src/projections/requests/outcomes.ts'
import { firstTokenColumns } from '../../../src/projections/requests/table.ts'

const counts = (given: Readonly<Record<number, number>>): readonly number[] =>
  firstTokenColumns.map((_, place) => given[place] ?? 0)

t.test('a share of the first tokens is interpolated within its column', async (t) => {
  t.equal(firstTokenQuantile(counts({}), 0.5), null)
  t.equal(firstTokenQuantile(counts({ 0: 4 }), 0.5), 63)
  t.equal(firstTokenQuantile(counts({ 0: 1, 1: 1 }), 0.5), 125)
  t.equal(firstTokenQuantile(counts({ 0: 1, 2: 3 }), 0.5), 333)
  t.equal(firstTokenQuantile(counts({ 0: 1, 10: 1 }), 0.95), 64_000, 'no more than is known')
})
