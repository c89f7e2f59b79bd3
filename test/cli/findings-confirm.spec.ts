import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parseUsd } from '../../src/domain/money.ts'
import { chatBody, until } from '../support/clients.ts'
import { sheetOf, startTestGateway } from '../support/gateway.ts'
import { type Ended, runProgram } from '../support/program.ts'

const running = await startTestGateway(t, {
  models: { huge: 'huge;prompt_tokens=10000000;completion_tokens=1' },
  sheets: { 'openai/huge': sheetOf({ context_tokens: 100_000 }) },
})
const { gateway, account, operator, config } = running
const headers = { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' }

const run = (...words: readonly string[]): Promise<Ended> => runProgram(config.dataFolder, config.dataFolder, ...words)
const confirm = (...words: readonly string[]): Promise<Ended> => run('findings', 'confirm', ...words)

const ask = async (model: string): Promise<string> => {
  const body = chatBody(model, false)
  const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.headers.get('x-gateway-request-id') ?? ''
}

const read = async <T>(path: string): Promise<T> =>
  (await fetch(`${gateway.url}/v1/ledger/${path}`, { headers })).json() as Promise<T>

interface Finding {
  readonly kind: string
  readonly id: string
  readonly amount: string
  readonly settled: boolean
  readonly detail: string
}

const balance = async (): Promise<bigint> => parseUsd((await read<{ balance: string }>('wallet')).balance)
const findings = async (): Promise<readonly Finding[]> => (await read<{ data: readonly Finding[] }>('findings')).data

const findingOf = async (of: string) =>
  (await findings()).find(({ kind, id }) => kind === 'implausible_usage' && id === of)

const huge = await ask('openai/huge')
const invoiced = await ask('openai/huge')
const plain = await ask('openai/plain')
await until(async () => (await findingOf(huge)) !== undefined && (await findingOf(invoiced)) !== undefined)

t.test('a usage that cannot be is charged as reported once an operator confirms it, and once only', async (t) => {
  const finding = await findingOf(huge)
  t.match(finding, { settled: false, detail: 'openai/huge: 10000000 tokens in, 1 out' })
  const [before, reserved] = [await balance(), parseUsd(finding?.amount ?? '0')]
  const rest = parseUsd('10.000002') - reserved
  const shown = new RegExp(
    `would post -[0-9.]+ USD to ${account.workspaceId} for ${huge}.*add --yes.*10000000 tokens in`,
  )
  t.match(await confirm(huge), { code: 2, out: '', err: shown })
  const file = join(config.dataFolder, 'gateway.yaml')
  await writeFile(file, JSON.stringify({ adjustments: { approval_above: '1' } }))
  const refused = { code: 1, out: '', err: /above adjustments.approval_above \(1\): propose it/ }
  t.match(await confirm(huge, '--yes'), refused)
  await writeFile(file, '{}')
  t.equal(await balance(), before, 'nothing is posted')
  const first = await confirm(huge, '--yes', '--json')
  t.equal(first.code, 0, first.err)
  const { amount, ...record } = JSON.parse(first.out) as Readonly<Record<string, string>>
  t.same(record, { charge: huge, workspace: account.workspaceId, posted: 'now' })
  t.equal(parseUsd(amount ?? '0'), -rest)
  await until(async () => (await balance()) === before - rest)

  const again = await confirm(huge, '--json')
  t.match(JSON.parse(again.out), { charge: huge, posted: 'before' })
  await operator.caughtUp()
  t.equal(await balance(), before - rest)
  t.match(await findingOf(huge), { settled: true })
  t.match(await run('findings', '--json'), { out: new RegExp(`"id":"${huge}".*"settled":true`) })
  t.match(await run('findings', '--workspace', 'another'), { code: 0, out: '', err: 'there are none' })
  t.match(await run('explain', huge), {
    out: /which cannot be: the reservation was charged, and has been corrected since/,
  })
  t.match(await read(`charges/${huge}`), { adjustments: [{ amount, reason: 'correction' }], net: '10.000002' })
})

t.test('a confirmed charge is compared as confirmed, and one that is as invoiced is not confirmed', async (t) => {
  const before = await balance()
  const reconcile = async (id: string, amount: string): Promise<Ended> => {
    const file = join(config.dataFolder, 'invoice.csv')
    await writeFile(file, `provider,request_id,amount\nopenai,${id},${amount}`)
    const day = new Date().toISOString().slice(0, 10)
    const words = ['--provider', 'openai', '--format', 'csv', '--file', file, '--from', day, '--to', day]
    return run('reconcile', ...words, '--json', '--post', '--yes')
  }
  const same = await reconcile(huge, '10.000002')
  t.notMatch(same.out, /"type":"correction"/)
  t.equal(await balance(), before)
  const charged = parseUsd((await findingOf(invoiced))?.amount ?? '0')
  const corrected = await reconcile(invoiced, '10.000002')
  t.match(corrected.out, /"type":"correction","outcome":"posted"/)
  const after = before - parseUsd('10.000002') + charged
  await until(async () => (await balance()) === after)
  const refused = {
    code: 1,
    out: '',
    err: /was corrected to an invoice by reconciliation:.*, and is not confirmed again/,
  }
  t.match(await confirm(invoiced, '--yes'), refused)
  t.equal(await balance(), after)
})

t.test('what cannot be confirmed is refused by name', async (t) => {
  t.match(await confirm(plain), { code: 1, out: '', err: `nothing of ${plain} waits for a confirmation` })
  t.match(await confirm('nobody'), { code: 1, out: '', err: 'no request and no task has the id nobody' })
  t.match(await confirm(), { code: 2, out: '', err: /missing required argument 'id'/ })
  t.match(await confirm(huge, plain), { code: 2, out: '', err: /too many arguments/ })
})
