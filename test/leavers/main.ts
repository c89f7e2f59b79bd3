/** `make leavers`: clients that leave at every moment, and what they pay beside the provider's own figure. */
import t from 'tap'
import { table } from '../bench/table.ts'
import { startBench } from '../roles/proxy/forwarding.ts'
import { isWithin, kinds, longAnswer, measureLeaving, moments, type Row, shareOfTenthMax } from './table.ts'

t.test('leavers', { timeout: 600_000 }, async (t) => {
  const rows: Row[] = []
  for (const kind of kinds) rows.push(...(await measureLeaving(await startBench(t), kind, moments)))
  const [tenth] = await measureLeaving(await startBench(t), longAnswer, ['at a tenth'])
  rows.push(tenth!)
  const head = ['surface', 'answer', 'leaves', 'charge ÷ figure', 'bound', 'of the whole']
  const lines = rows.map(({ surface, kind, moment, ratio, least, most, share }) => [
    surface,
    kind,
    moment,
    ratio.toFixed(3),
    `${least}–${most}`,
    `${Math.round(share * 100)} %`,
  ])
  console.error(table(head, lines, 3))
  t.ok(tenth!.share <= shareOfTenthMax, `a tenth costs ${(tenth!.share * 100).toFixed(1)} % of the whole`)
  for (const row of rows) t.ok(isWithin(row), `${row.surface}, ${row.kind}, ${row.moment}: ${row.ratio.toFixed(3)}`)
})
