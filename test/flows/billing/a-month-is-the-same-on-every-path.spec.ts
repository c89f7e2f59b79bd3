import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { creditKey } from '../../../src/domain/wallet/evolve.ts'
import type { Fact, FactOf } from '../../../src/events/envelope.ts'
import { findChromium, goTo, openBrowser, openVisitor, signIn, withoutChromium } from '../../dashboard/browser.ts'
import { sayAt } from '../../dashboard/seed.ts'
import { adminToken, tablesCaughtUp } from '../../dashboard/world.ts'
import {
  adjusted,
  creditExpired,
  credited,
  creditedUntil,
  opened,
  planSubscribed,
  routed,
  used,
} from '../../roles/projector/facts.ts'
import { parseCsv } from '../../support/csv.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { type Ended, runProgram } from '../../support/program.ts'

const execute = promisify(execFile)
/** `make month` names the folder of beancount, and has hledger on PATH; without them the texts are summed. */
const programs = process.env['JOURNAL_PROGRAMS']
const requests = Number(process.env['MONTH_REQUESTS'] ?? 500)
const days = 27
const dayMs = 86_400_000
const now = new Date()
/** The month before the last one, so that it can be closed on every day. */
const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2)
const month = new Date(start).toISOString().slice(0, 7)
const present = now.toISOString().slice(0, 7)
const lastDay = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1) - dayMs).toISOString().slice(0, 10)
const day = (number: number): number => start + number * dayMs

const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
const { operator, config, gateway, account } = await startTestGateway(t, {
  config: { admins, tagNames: ['team'] },
  openAccount: (context) => context.openAccount('acme', '0'),
})
const { dataFolder } = config
const say = (at: number, facts: readonly Fact[], wallet: string | null = null): Promise<void> =>
  sayAt({ config }, () => at, facts, wallet)
const run = async (...words: readonly string[]): Promise<Ended> => {
  const ended = await runProgram(dataFolder, dataFolder, ...words)
  if (ended.code !== 0) throw new Error(`${words.join(' ')}: ${ended.err}`)
  return ended
}
const recordsOf = ({ out }: Ended): readonly Readonly<Record<string, string>>[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

const workspaces = ['acme', 'north', 'south']
const models = ['openai/gpt-4o-mini', 'openai/gpt-4.1', 'anthropic/claude-sonnet-5']
const teams = [{ team: 'search' }, { team: 'ads, "paid"' }, {}]

interface Request {
  readonly id: string
  readonly upstreamId: string
  readonly workspaceId: string
  readonly model: string
  readonly day: number
  readonly input: number
  readonly output: number
  readonly picos: bigint
}

const [inputPicos, outputPicos] = [2_500_000n, 10_000_000n]
const costOf = (input: number, output: number): bigint => BigInt(input) * inputPicos + BigInt(output) * outputPicos

const requestsOfMonth = Array.from({ length: requests }, (_, place): Request => {
  const [input, output] = [100 + ((place * 7_919) % 1_000), 1 + ((place * 104_729) % 300)]
  return {
    ...{ id: `request-${place}`, upstreamId: `req_${place}`, input, output, picos: costOf(input, output) },
    ...{ workspaceId: workspaces[place % 3]!, model: models[Math.floor(place / 3) % 3]! },
    day: 1 + Math.floor((place * days) / requests),
  }
})

const factsOf = ({ id, upstreamId, workspaceId, model, input, output, picos }: Request, place: number): Fact[] => {
  const [provider = ''] = model.split('/')
  const served = { model, provider, outcome: 'served', status: 200, reason: null, durationMs: 9 } as const
  return [
    routed(id, { workspaceId, model, tags: teams[place % 7 < 3 ? place % 7 : 2]! }),
    used(id, {
      ...{ workspaceId, model, provider, total: formatUsd(picos), reserved: '0.05' },
      lines: [
        { item: 'input', quantity: input, unitPrice: '0.0000025', amount: formatUsd(costOf(input, 0)) },
        { item: 'output', quantity: output, unitPrice: '0.00001', amount: formatUsd(costOf(0, output)) },
      ],
      attempts: [{ ...served, upstreamRequestId: upstreamId }],
    }),
  ]
}

const corrected = (id: string, amount: string, of: string, workspaceId: string): FactOf<'AdjustmentPosted'> => {
  const { type, data } = adjusted(id, amount, workspaceId)
  return { type, data: { ...data, reason: 'goodwill', corrects: of } }
}

await say(
  day(0),
  workspaces.flatMap((id) => (id === 'acme' ? [] : [opened(id, '0')])),
)
for (const id of workspaces) await say(day(0), [credited('first', '2500', id)], id)
const plan = planSubscribed('sub-1', [`${month}-02`, '2099-01-01'], { price: '5', includedCredit: '2' })
await say(day(1), [plan], 'acme')
for (let each = 1; each <= days; each += 1)
  await say(
    day(each),
    requestsOfMonth.flatMap((request, place) => (request.day === each ? factsOf(request, place) : [])),
  )
const promotion = [
  creditedUntil('promotion', new Date(day(20)).toISOString(), '3', 'north'),
  creditExpired('promotion', '3', 'north'),
]
await say(day(28), promotion, 'north')

/** Given back and taken by hand, of requests that no invoice is compared with. */
const byHand = requestsOfMonth.filter(({ model }, place) => model.startsWith('anthropic') && place % 25 === 8)
const handPicos = (place: number): bigint => (place % 2 === 0 ? 1_234_567n : -1_000_000_000n)
for (const id of workspaces) {
  const own = byHand.flatMap((request, place) =>
    request.workspaceId === id ? [corrected(`hand-${request.id}`, formatUsd(handPicos(place)), request.id, id)] : [],
  )
  if (own.length > 0) await say(day(28), own, id)
}
await say(day(28), [corrected('typed', '-2250', creditKey('first'), 'south')], 'south')
await tablesCaughtUp({ operator })

const sum = (picos: readonly bigint[]): bigint => picos.reduce((total, each) => total + each, 0n)
/** What was debited, by the test's own count, without the credit that is corrected: that is a receipt. */
const expected = new Map(
  workspaces.map((id) => [
    id,
    formatUsd(
      sum(requestsOfMonth.filter(({ workspaceId }) => workspaceId === id).map(({ picos }) => picos)) +
        (id === 'acme' ? parseUsd('5') : 0n) -
        sum(byHand.map(({ workspaceId }, place) => (workspaceId === id ? handPicos(place) : 0n))),
    ),
  ]),
)
const total = formatUsd(sum([...expected.values()].map(parseUsd)))

t.test('the planted errors of an invoice are found, each in its class, and corrected', async (t) => {
  const invoiced = requestsOfMonth.filter(({ model }) => model.startsWith('openai/'))
  const isDrifted = (place: number): boolean => place % 97 === 5
  const isDearer = (place: number): boolean => place % 101 === 50
  const rows = invoiced.slice(1).map((request, place) => {
    const output = request.output + (isDrifted(place) ? 5 : 0)
    const picos = costOf(request.input, output) + (isDearer(place) ? 12_345n : 0n)
    const time = new Date(day(request.day)).toISOString()
    return [request.model.slice('openai/'.length), time, request.upstreamId, request.input, output, formatUsd(picos)]
  })
  const head = 'provider,model,time,upstream_request_id,input,output,amount'
  const foreign = `openai,plain,${new Date(day(3)).toISOString()},req_foreign,1,1,0.5`
  const file = join(dataFolder, 'invoice.csv')
  await writeFile(file, [head, ...rows.map((row) => `openai,${row.join(',')}`), foreign].join('\n'))
  const words = ['reconcile', '--provider', 'openai', '--format', 'csv', '--file', file, '--json']
  const range = ['--from', `${month}-01`, '--to', lastDay]
  const posted = await runProgram(dataFolder, dataFolder, ...words, ...range, '--post', '--yes')
  t.equal(posted.code, 1, 'what is missing is left')
  const found = Object.fromEntries(
    recordsOf(posted)
      .filter(({ type }) => type === 'class')
      .map(({ class: name, count, amount }) => [name, `${count} ${amount}`]),
  )
  const drifted = rows.filter((_, place) => isDrifted(place)).length
  const dearer = rows.filter((_, place) => isDearer(place)).length
  const driftPicos = BigInt(drifted) * costOf(0, 5)
  const dearerPicos = BigInt(dearer) * 12_345n
  t.same(found, {
    missing_here: '1 0.5',
    missing_there: `1 ${formatUsd(-invoiced[0]!.picos)}`,
    token_drift: `${drifted} ${formatUsd(driftPicos)}`,
    price_drift: `${dearer} ${formatUsd(dearerPicos)}`,
  })
  await tablesCaughtUp({ operator })
  const [row] = recordsOf(await run('report', '--month', present, '--group-by', 'month', '--format', 'json'))
  t.equal(row?.['corrections'], formatUsd(driftPicos + dearerPicos), 'they are posted when they are found')
})

const sumColumn = (rows: readonly (readonly [string, string])[]): ReadonlyMap<string, string> => {
  const sums = new Map<string, bigint>()
  for (const [name, amount] of rows) sums.set(name, (sums.get(name) ?? 0n) + parseUsd(amount))
  return new Map(workspaces.map((id) => [id, formatUsd(sums.get(id) ?? 0n)]))
}

t.test('closed, its totals are those of the commands, the API, the page and FOCUS', async (t) => {
  const [period] = recordsOf(await run('close', month, '--json'))
  t.equal(period?.['requests'], requests)
  t.equal(
    period?.['credits'],
    formatUsd(parseUsd('7505') - parseUsd('2250')),
    'less the part of a credit that is corrected',
  )
  const closed = ['charges', 'corrections', 'fees'].map((name) => parseUsd(period![name]!))
  t.equal(formatUsd(sum(closed)), total)

  const range = ['--from', `${month}-01`, '--to', lastDay, '--json']
  for (const id of workspaces) {
    const movements = recordsOf(await run('statement', id, ...range)).filter(
      ({ kind = '', corrects }) =>
        ['charge', 'excess', 'fee', 'adjustment'].includes(kind) && corrects !== creditKey('first'),
    )
    t.equal(formatUsd(-sum(movements.map(({ amount = '' }) => parseUsd(amount)))), expected.get(id), `statement ${id}`)
  }
  for (const groupBy of ['workspace', 'workspace,tag:team', 'workspace,hour', 'workspace,model,week']) {
    const rows = recordsOf(await run('report', '--month', month, '--group-by', groupBy, '--format', 'json'))
    t.same(sumColumn(rows.map(({ workspace = '', net = '' }) => [workspace, net])), expected, `report by ${groupBy}`)
  }
  const headers = { Authorization: `Bearer ${adminToken}` }
  const answered = await fetch(`${gateway.url}/admin/v1/reports?month=${month}&group_by=workspace`, { headers })
  const report = (await answered.json()) as { readonly total: { readonly net: string } }
  t.equal(report.total.net, total, 'HTTP')
  for (const none of ['9999-12', `${now.getUTCFullYear() + 1}-12`, 'november']) {
    const { status } = await fetch(`${gateway.url}/admin/v1/reports?month=${none}`, { headers })
    t.equal(status, 400, none)
  }
  const usage = await fetch(`${gateway.url}/v1/ledger/usage?from=${month}-01&to=${lastDay}&group_by=day`, {
    headers: { Authorization: `Bearer ${account.secret}` },
  })
  const { data } = (await usage.json()) as { readonly data: readonly Readonly<Record<string, string>>[] }
  const shown = data.map(({ total = '0', corrections = '0', fees = '0' }) =>
    sum([total, corrections, fees].map(parseUsd)),
  )
  t.equal(formatUsd(sum(shown)), expected.get('acme'), 'what the page of a customer reads')

  const chromium = findChromium()
  if (chromium === null) t.comment(withoutChromium)
  else {
    const { page, complaints } = await openVisitor(t, await openBrowser(chromium))
    await signIn(page, gateway.url, adminToken)
    await goTo(page, 'Months')
    const cells = page.getByRole('row').filter({ has: page.getByRole('cell', { name: month, exact: true }) })
    await cells.getByText('Closed', { exact: true }).waitFor()
    const figures = (await cells.locator('td.number').allTextContents()).slice(0, 3)
    const picos = figures.map((text) => parseUsd(text.replaceAll(/[^\d.−-]/g, '').replace('−', '-')))
    t.equal(formatUsd(sum(picos)), total, 'the months on the page')
    t.same(complaints, [])
  }

  const [head = [], ...focus] = parseCsv((await run('export', 'focus', '--month', month)).out)
  const [cost, owner] = [head.indexOf('BilledCost'), head.indexOf('SubAccountId')]
  t.same(sumColumn(focus.map((row) => [row[owner]!, row[cost]!])), expected, 'FOCUS')
})

const balancesOf = async (format: string, file: string, text: string): Promise<ReadonlyMap<string, bigint>> => {
  const sums = new Map<string, bigint>()
  const add = (account: string, amount: string): unknown =>
    sums.set(account, (sums.get(account) ?? 0n) + parseUsd(amount))
  if (programs === undefined)
    for (const [, account = '', amount = ''] of text.matchAll(/^ {2}(\S+) {2}(\S+) USD/gm)) add(account, amount)
  else if (format === 'hledger') {
    await execute('hledger', ['-f', file, 'check', '--strict'])
    const { stdout } = await execute('hledger', ['-f', file, 'balance', '--flat', '-N', '-O', 'csv'])
    for (const [account = '', amount = ''] of parseCsv(stdout.replaceAll('\n', '\r\n')).slice(1))
      add(account, amount.replace(/ USD$|,/g, ''))
  } else {
    await execute(join(programs, 'bean-check'), [file])
    const script = `import sys; from beancount import loader
entries, errors, _ = loader.load_file(sys.argv[1])
assert not errors
for entry in entries:
  for posting in getattr(entry, 'postings', []): print(posting.account, format(posting.units.number, 'f'))`
    const options = { maxBuffer: 2 ** 28 }
    const { stdout } = await execute(join(programs, 'python3'), ['-c', script, file], options)
    for (const line of stdout.trim().split('\n')) add(...(line.split(' ') as [string, string]))
  }
  return sums
}

for (const format of ['hledger', 'beancount'])
  t.test(`${format} comes to the same`, async (t) => {
    const text = (await run('export', 'journal', '--month', month, '--format', format)).out
    const file = join(dataFolder, `month.${format}`)
    await writeFile(file, text)
    const balances = await balancesOf(format, file, text)
    const of = (prefix: string): bigint =>
      sum([...balances].map(([name, picos]) => (name.startsWith(prefix) ? picos : 0n)))
    const earned = of('Income:Usage') + of('Income:Corrections') + of('Income:Fees')
    t.equal(formatUsd(-earned), total)
    t.equal(formatUsd(of('Income:Breakage')), '-3')
    t.equal(formatUsd(of('Income:Included-Credit')), '2')
    t.equal(formatUsd(of('Assets:Receipts')), formatUsd(parseUsd('7503') - parseUsd('2250')))
    for (const id of workspaces) {
      const closing = recordsOf(await run('statement', id, '--from', lastDay, '--to', lastDay, '--json')).at(-1)
      const wallet = of(`Liabilities:Wallets:${id[0]!.toUpperCase()}${id.slice(1)}`)
      t.equal(formatUsd(-wallet), closing?.['balance'], `the wallet of ${id}`)
    }
  })
