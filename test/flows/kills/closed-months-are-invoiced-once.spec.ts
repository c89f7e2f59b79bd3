import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { EventOf, Fact } from '../../../src/events/envelope.ts'
import { sayAt } from '../../dashboard/seed.ts'
import { tablesCaughtUp } from '../../dashboard/world.ts'
import { adjusted, opened, routed, used } from '../../roles/projector/facts.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { type Ended, runProgram } from '../../support/program.ts'

const dayMs = 86_400_000
const now = new Date()
const startOf = (monthsAgo: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo)
const monthAt = (ms: number): string => new Date(ms).toISOString().slice(0, 7)
const [start, end] = [startOf(3), startOf(2)]
const [month, next] = [monthAt(start), monthAt(end)]

const { operator, config } = await startTestGateway(t, {
  openAccount: (context) => context.openAccount('acme', '0'),
})
const { dataFolder } = config
const say = (at: number, facts: readonly Fact[], wallet: string | null = null): Promise<void> =>
  sayAt({ config }, () => at, facts, wallet)
const run = (...words: readonly string[]): Promise<Ended> => runProgram(dataFolder, dataFolder, ...words)
const recordsOf = ({ out }: Ended): readonly Record<string, unknown>[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const workspaces = ['acme', ...Array.from({ length: 6 }, (_, place) => `customer-${place}`)]
const billed = (id: string, workspaceId: string, total: string): readonly Fact[] => [
  routed(id, { workspaceId, tags: { team: 'search' } }),
  used(id, { workspaceId, total }),
]
await say(
  start + dayMs,
  workspaces.flatMap((id) => (id === 'acme' ? [] : [{ ...opened(), data: { ...opened().data, workspaceId: id } }])),
)
await say(
  start + 2 * dayMs,
  workspaces.flatMap((id, place) => billed(`of-${id}`, id, `1.00${place}`)),
)
await tablesCaughtUp({ operator })

const invoicing = (rate: string): string => `
tags: [team]
invoices:
  seller: { name: Gateway GmbH, address: ['Hauptstr. 1', '10115 Berlin'], tax_id: DE123456789 }
  tax_rate: "${rate}"
  buyers:
    acme: { name: Acme Corporation, address: ['1 Road'], tax_rate: "0" }
`
const configure = (text: string): Promise<void> => writeFile(join(dataFolder, 'gateway.yaml'), text)

const issuedEvents = async (): Promise<readonly EventOf<'InvoiceIssued'>[]> =>
  (await operator.events()).filter((event): event is EventOf<'InvoiceIssued'> => event.type === 'InvoiceIssued')

t.test('what cannot be invoiced is refused, and nothing is written', async (t) => {
  t.match(await run('invoice', 'issue', month), { code: 1, err: /No seller is configured/ })
  await configure(invoicing('-19'))
  t.match(await run('invoice', 'issue', month), { code: 2, err: /invoices\.tax_rate/ })
  await configure(invoicing('19'))
  t.match(await run('invoice', 'issue', month), { code: 1, err: /is not closed/ })
  t.match(await run('invoice', 'issue', month, '--workspace', 'nobody'), { code: 1, err: /no such workspace/ })
  t.match(await run('invoice', 'issue', '2026-13'), { code: 2 })
  t.match(await run('invoice', 'show', 'INV-000001'), { code: 1, err: /no such invoice/ })
  t.same(await issuedEvents(), [])
})

t.test('numbers have no gap and no double, however many issue at once', async (t) => {
  t.match(await run('workspace', 'suspend', 'customer-0'), { code: 0 })
  t.match(await run('workspace', 'close', 'customer-1'), { code: 0 })
  t.match(await run('close', month), { code: 0 })
  const runs = await Promise.all([
    run('invoice', 'issue', month, '--json'),
    run('invoice', 'issue', month, '--json', '--workspace', 'customer-3'),
    run('invoice', 'issue', month, '--json'),
  ])
  t.same(
    runs.map(({ code }) => code),
    [0, 0, 0],
  )
  const listed = recordsOf(await run('invoice', 'list', '--json'))
  t.same(
    listed.map(({ number }) => number),
    [7, 6, 5, 4, 3, 2, 1],
  )
  t.same(listed.map(({ workspace }) => workspace).toSorted(), workspaces)
  const own = listed.find(({ workspace }) => workspace === 'acme')
  t.match(own, { kind: 'invoice', month, net: '1.00', tax: '0.00', gross: '1.00' })
  t.match(
    listed.find(({ workspace }) => workspace === 'customer-5'),
    { net: '1.01', tax: '0.19', gross: '1.20' },
  )
  t.match(await run('invoice', 'issue', month), { code: 0, err: /nothing was issued/ })
  t.match(await run('reopen', month, '--reason', 'late'), { code: 1, err: /was invoiced/ })
})

t.test('the statement of a closed workspace is kept', async (t) => {
  for (const words of [[], ['--from-log']]) {
    const statement = await run('statement', 'customer-1', '--json', ...words)
    t.match(statement, { code: 0, out: /"reference":"of-customer-1"/ })
  }
  t.match(await run('credit', 'customer-1', '1', '--reference', 'late'), { code: 1, err: /closed/ })
  t.match(await run('workspace', 'resume', 'customer-1'), { code: 1, err: /closed/ })
})

t.test('its bytes stay the same after later events, another configuration and a rebuild of the tables', async (t) => {
  const [last] = recordsOf(await run('invoice', 'list', '--workspace', 'acme', '--json'))
  const id = String(last?.['id'])
  const html = async (): Promise<string> => (await run('invoice', 'print', id)).out
  const first = await html()
  const whole = (await run('invoice', 'show', id, '--json')).out
  t.equal(hash('sha256', first), JSON.parse(whole).digest)
  t.match(first, /Acme Corporation/)
  await say(start + 5 * dayMs, billed('late', 'acme', '0.5'))
  await say(end + dayMs, billed('december', 'acme', '2'))
  await say(
    end + 2 * dayMs,
    [{ ...adjusted('refund'), data: { ...adjusted('refund').data, amount: '0.7', corrects: 'of-acme' } }],
    'acme',
  )
  await configure(invoicing('7').replace('Acme Corporation', 'Another'))
  t.match(await run('replay', '--swap'), { code: 0 })
  t.equal(await html(), first)
  t.equal((await run('invoice', 'show', id, '--json')).out, whole)

  t.match(await run('close', next), { code: 0 })
  const later = recordsOf(await run('invoice', 'issue', next, '--json'))
  t.match(later, [
    { number: 8, kind: 'credit_note', corrects: id, month: next, net: '-0.20', gross: '-0.20' },
    { number: 9, kind: 'invoice', corrects: null, net: '2.00' },
  ])
  t.match((await run('invoice', 'print', 'INV-000008')).out, new RegExp(`Corrects ${id}`))
  t.equal(await html(), first)
  const listed = recordsOf(await run('invoice', 'list', '--month', next, '--json'))
  t.same(
    listed.map(({ number }) => number),
    [9, 8],
  )
  t.match(await run('invoice', 'list', '--month', 'november'), { code: 2, err: /a month in UTC is such as 2026-11/ })
  const numbers = (await issuedEvents()).map(({ data }) => data.number)
  t.same(new Set(numbers), new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]))
})
