/** `make attacks`: every known way to make others wait, with a tenth of a core, beside a neighbour who pays. */
import t from 'tap'
import { attacks } from './attacks.ts'
import { measureAttack, openPlaces, printRows, type Row } from './table.ts'

const msEach = 1_000 * Number(process.env['ATTACKS_SECONDS'] ?? 10)
const rounds = 3
const only = process.env['ATTACKS_ONLY'] ?? ''

t.test('attacks', { timeout: 1_200_000 }, async (t) => {
  const placeOf = openPlaces(t)
  const rows: Row[] = []
  for (const attack of attacks.filter(({ name }) => only.split('|').some((each) => name.includes(each)))) {
    const row = await measureAttack(attack, await placeOf(attack), { ms: msEach, rounds })
    rows.push(row)
    t.comment(`${row.name}: ${row.endings.map(([ending, count]) => `${count} × ${ending}`).join(', ')}`)
  }
  console.error(printRows(rows))
  for (const { name, problems } of rows) t.same(problems, [], name)
})
