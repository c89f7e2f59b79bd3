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

const confirm = (...words: readonly string[]): Promise<Ended> =>
  runProgram(config.dataFolder, config.dataFolder, 'findings', 'confirm', ...words)

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
  readonly detail: string
}

const balance = async (): Promise<bigint> => parseUsd((await read<{ balance: string }>('wallet')).balance)
const findings = async (): Promise<readonly Finding[]> => (await read<{ data: readonly Finding[] }>('findings')).data

const huge = await ask('openai/huge')
const plain = await ask('openai/plain')
await until(async () => (await findings()).some(({ kind }) => kind === 'implausible_usage'))

t.test('a usage that cannot be is charged as reported once an operator confirms it, and once only', async (t) => {
  const finding = (await findings()).find(({ kind }) => kind === 'implausible_usage')
  t.match(finding, { id: huge, detail: 'openai/huge: 10000000 tokens in, 1 out' })
  const [before, reserved] = [await balance(), parseUsd(finding?.amount ?? '0')]
  const rest = parseUsd('10.000002') - reserved
  const first = await confirm(huge, '--json')
  t.equal(first.code, 0, first.err)
  const { amount, ...record } = JSON.parse(first.out) as Readonly<Record<string, string>>
  t.same(record, { charge: huge, workspace: account.workspaceId, posted: 'now' })
  t.equal(parseUsd(amount ?? '0'), -rest)
  await until(async () => (await balance()) === before - rest)

  const again = await confirm(huge, '--json')
  t.match(JSON.parse(again.out), { charge: huge, posted: 'before' })
  await operator.caughtUp()
  t.equal(await balance(), before - rest)
  t.match(await read(`charges/${huge}`), { adjustments: [{ amount, reason: 'correction' }], net: '10.000002' })
})

t.test('what cannot be confirmed is refused by name', async (t) => {
  t.match(await confirm(plain), { code: 1, out: '', err: `nothing of ${plain} waits for a confirmation` })
  t.match(await confirm('nobody'), { code: 1, out: '', err: 'no request and no task has the id nobody' })
  t.match(await confirm(), { code: 2, out: '', err: /missing required argument 'id'/ })
  t.match(await confirm(huge, plain), { code: 2, out: '', err: /too many arguments/ })
})
