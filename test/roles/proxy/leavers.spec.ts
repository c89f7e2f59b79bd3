import t from 'tap'
import { isWithin, kinds, longAnswer, measureLeaving, shareOfTenthMax } from '../../leavers/table.ts'
import { startBench } from './forwarding.ts'

/** The short form of `make leavers`. */
t.test('who leaves pays what the provider bills, within the bound', async (t) => {
  const some = kinds.filter(
    ({ name, surface }) => (name === 'plain' || name === 'reasoning') && surface !== 'responses',
  )
  for (const kind of some)
    for (const row of await measureLeaving(await startBench(t), kind, ['before head', 'after a tool call']))
      t.ok(isWithin(row), `${row.surface}, ${row.kind}, ${row.moment}: ${row.ratio.toFixed(3)}`)
})

t.test('a plain answer that is stopped at a tenth costs at most 15 % of the whole', async (t) => {
  const [row] = await measureLeaving(await startBench(t), longAnswer, ['at a tenth'])
  t.ok(row!.share <= shareOfTenthMax, `${(row!.share * 100).toFixed(1)} %`)
})
