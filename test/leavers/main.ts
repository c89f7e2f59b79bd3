/** `make leavers`: clients that leave at every moment, and what they pay beside the provider's own figure. */
import t from 'tap'
import { table } from '../bench/table.ts'
import {
  isWithin,
  kinds,
  layouts,
  longAnswer,
  measureLeaving,
  moments,
  openLayout,
  type Row,
  shareOfTenthMax,
} from './table.ts'

for (const layout of layouts)
  t.test(`leavers, with edge and proxy ${layout}`, { timeout: 600_000 }, async (t) => {
    const open = await openLayout(t, layout)
    const rows: Row[] = []
    for (const kind of kinds) rows.push(...(await measureLeaving(await open(), kind, moments)))
    const [tenth] = await measureLeaving(await open(), longAnswer, ['at a tenth'])
    rows.push(tenth!)
    const head = ['roles', 'surface', 'answer', 'leaves', 'charge ÷ figure', 'bound', 'of the whole']
    const lines = rows.map(({ surface, kind, moment, ratio, least, most, share }) => [
      layout,
      surface,
      kind,
      moment,
      ratio.toFixed(3),
      `${least}–${most}`,
      `${Math.round(share * 100)} %`,
    ])
    console.error(table(head, lines, 4))
    t.ok(tenth!.share <= shareOfTenthMax, `a tenth costs ${(tenth!.share * 100).toFixed(1)} % of the whole`)
    for (const row of rows) t.ok(isWithin(row), `${row.surface}, ${row.kind}, ${row.moment}: ${row.ratio.toFixed(3)}`)
  })
