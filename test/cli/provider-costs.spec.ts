import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readProviderCosts } from '../../src/cli/provider-costs.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { temporaryFolder } from '../support/gateway.ts'

const march = { from: new Date('2026-03-01'), to: new Date('2026-04-01') }
const write = async (text: string): Promise<string> => {
  const file = join(await temporaryFolder(t), 'invoice.csv')
  await writeFile(file, text)
  return file
}

t.test('costs of the days of the month, by day and model', async (t) => {
  const file = await write(
    ['day,model,request_id,amount', '2026-02-28,a,r0,9', '2026-03-01,a,r1,0.5', '2026-03-01,a,r2,0.25', ',b,r3,1'].join(
      '\n',
    ),
  )
  t.same(await readProviderCosts([`openai:csv:${file}`], march), [
    { provider: 'openai', day: '2026-03-01', model: 'a', amountPicos: parseUsd('0.75') },
    { provider: 'openai', day: '2026-03-31', model: 'b', amountPicos: parseUsd('1') },
  ])
})

t.test('what cannot be accrued is an error that names the file and the row', async (t) => {
  const unpriced = await write('day,model,input\n2026-03-01,a,5')
  const broken = await write('day,model,amount\n2026-03-01,a,many')
  for (const [option, message] of [
    [`openai:csv:${unpriced}`, /invoice.csv, row 2: has quantities, but no amount/],
    [`openai:csv:${broken}`, /invoice.csv, row 2: amount/],
    ['openai:csv:/no/such/file', /cannot be read/],
    ['openai:xml:a', /with a format of .*csv; got 'openai:xml:a'/],
  ] as const)
    await t.rejects(readProviderCosts([option], march), { message })
})
