import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sandboxVideoKey } from '../../../sandbox/server.ts'
import type { TaskExplanation } from '../../../src/audit/explanation.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { type Ended, runProgram, startProgramUnread } from '../../support/program.ts'
import { eventsOf, newVideo, quick, submitVideo, videoOptions, walletFigures } from '../../support/video.ts'

/** A hold is of 3 units at 0.14 USD. */
const asked = {
  plain: { directives: '', total: '0.42' },
  failed: { directives: 'failed', total: null },
  beyond: { directives: 'deduction=5', total: '0.7' },
  fractional: { directives: 'deduction=2.123456789', total: '0.29728395046' },
  untold: { directives: 'no_deduction', total: '0.42' },
  native: { directives: 'deduction=1.5', total: '0.21' },
} as const
type Name = keyof typeof asked
const names = Object.keys(asked) as readonly Name[]
const charged = names.filter((name) => asked[name].total !== null)
const sumOf = (amounts: readonly string[]): string =>
  formatUsd(amounts.reduce((sum, amount) => sum + parseUsd(amount), 0n))
const chargedUsd = sumOf(charged.map((name) => asked[name].total ?? '0'))

const audit = { sealing: true, origin: 'gateway.test/ledger', signer: null, verifier: null, previous: [] }
// The commands run as they are, and find the queue of tasks as it is made where nothing is said of its leases.
const { queueLeaseMs: _lease, queueRenewMs: _renew, ...videoPoller } = quick.videoPoller
const running = await startTestGateway(t, { ...videoOptions({}, { audit }), bounds: { videoPoller } })
const { gateway, account, operator, sandbox, config } = running
const { workspaceId, secret } = account

const submit = async (name: Name): Promise<string> => {
  const prompt = `A cat. [[queue_ms=0;run_ms=0;${asked[name].directives}]]`.replace(';]]', ']]')
  if (name !== 'native') return newVideo(gateway.url, secret, { prompt })
  const { body } = await submitVideo(gateway.url, secret, { prompt, surface: 'native' })
  return body.data.task_id
}

await until(
  async () => (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).ok,
)
const ids = {} as Record<Name, string>
for (const name of names) ids[name] = await submit(name)
await until(async () => (await eventsOf(operator, 'TaskSettled')).length === names.length)

// The last frame of a sealed log is the checkpoint that seals those before it.
await until(async () => {
  await operator.caughtUp()
  const { sealed, sequence } = operator.tail.ledger
  return (sealed?.size ?? 0) >= sequence - 1
})
const settledBy = operator.tail.ledger.sequence

const command = (...words: readonly string[]): Promise<Ended> =>
  runProgram(config.dataFolder, config.dataFolder, ...words)

const get = async (path: string): Promise<Response> => {
  const response = await fetch(`${gateway.url}/v1/ledger/${path}`, { headers: { authorization: `Bearer ${secret}` } })
  if (!response.ok) throw new Error(`${path} is answered with ${response.status}`)
  return response
}
const { database } = requireTables(operator.platform)
await until(async () => (await database.checkpoint())! >= settledBy)

type Records = readonly Readonly<Record<string, unknown>>[]
const recordsIn = ({ out }: Ended): Records =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
const ofType = (ended: Ended, type: string): Records => recordsIn(ended).filter((record) => record['type'] === type)

/** Without how far the log had come, and what seals it. */
const story = ({ log_sequence: _, ...told }: TaskExplanation): object => told

const positionMembers = ['sequence', 'log_sequence', 'event_index', 'sealed_by']
const withoutPositions = (told: TaskExplanation): object =>
  JSON.parse(JSON.stringify(told), (name, member) => {
    if (name === 'checkpoint' && member !== null) return {}
    return positionMembers.includes(name) ? undefined : member
  })

const explained = async (name: Name, ...words: readonly string[]): Promise<TaskExplanation> => {
  const { code, out, err } = await command('explain', ids[name], '--json', ...words)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

t.test('each is explained, from the tables as from the log', async (t) => {
  const expected: Readonly<Record<Name, object>> = {
    plain: { state: 'charged', ended: { deduction: '3', source: 'reported', given_back: '0', beyond: '0' } },
    failed: { state: 'failed', net: '0', ended: { outcome: 'FAILURE', given_back: '0.42' } },
    beyond: { state: 'charged', ended: { deduction: '5', beyond: '0.28', given_back: '0' } },
    fractional: { state: 'charged', ended: { deduction: '2.123456789', given_back: '0.12271604954' } },
    untold: { state: 'charged', ended: { deduction: null, source: 'estimated' } },
    native: { state: 'charged', asked: { surface: 'native-video' }, ended: { given_back: '0.21' } },
  }
  for (const name of names) {
    const told = await explained(name)
    t.match(told, { kind: 'task', hold: { amount: '0.42', units_max: '3' }, ...expected[name] }, name)
    t.equal(told.charge?.total, asked[name].total ?? '0')
    t.equal(told.charge?.recomputed.equal, true)
    t.ok(told.events.every(({ sequence, sealed_by }) => sealed_by !== null && sealed_by >= sequence))
    t.match(told.proof, { command: `gateway prove ${ids[name]}` })
    t.ok(told.proof.checkpoint!.size < told.proof.checkpoint!.sequence)
    const overHttp = (await (await get(`charges/${ids[name]}`)).json()) as TaskExplanation
    t.same(overHttp, withoutPositions(told), 'the edge tells the same')
  }
  t.same(story(await explained('beyond', '--from-log')), story(await explained('beyond')))
  t.same(story(await explained('untold', '--from-log')), story(await explained('untold')))
  const { code, out } = await command('explain', ids.beyond)
  t.equal(code, 0)
  for (const part of [/^task \S+ was charged with 0\.7 USD/, /5 units/, /recomputed: equal/, /gateway prove/])
    t.match(out, part)
})

t.test('each has a proof that needs no database', async (t) => {
  for (const name of ['beyond', 'failed'] as const) {
    const file = join(config.dataFolder, `${name}.json`)
    t.match(await command('prove', ids[name], '--out', file), { code: 0, out: /proves TaskSettled/ })
    t.match(await command('verify', '--proof', file), { code: 0 })
    const text = await readFile(file, 'utf8')
    const { sequence } = JSON.parse(text)
    t.equal(sequence, (await explained(name)).proof.sequence)
    await writeFile(file, text.replace(`"sequence": ${sequence}`, `"sequence": ${sequence - 1}`))
    t.match(await command('verify', '--proof', file), { code: 1 }, 'of another frame it proves nothing')
  }
})

interface Listed {
  readonly kind: string
  readonly id: string
  readonly surface: string
  readonly total: string
}
const listed = async (query = ''): Promise<readonly Listed[]> =>
  ((await (await get(`charges?limit=100${query}`)).json()) as { data: readonly Listed[] }).data

t.test('the statement, the list of charges and the usage tell one sum', async (t) => {
  const { balance, held } = await walletFigures(operator, workspaceId)
  t.same([balance, held], [formatUsd(parseUsd('100') - parseUsd(chargedUsd)), '0'])
  const checked = await command('statement', workspaceId, '--json', '--check')
  t.match(checked, { code: 0, err: /checked: every movement/ })
  t.match(ofType(checked, 'closing'), [{ balance, held: '0' }])
  t.equal(sumOf(ofType(checked, 'movement').map(({ amount }) => String(amount))), balance)

  const list = await listed()
  t.same(list.map(({ id }) => id).toSorted(), charged.map((name) => ids[name]).toSorted(), 'what failed is no charge')
  t.equal(sumOf(list.map(({ total }) => total)), chargedUsd)
  t.same(
    await listed('&surface=native-video&model=vv/v3'),
    list.filter(({ id }) => id === ids.native),
  )
  t.match(
    list.find(({ id }) => id === ids.native),
    { kind: 'task', surface: 'native-video', total: '0.21' },
  )
  const { data } = (await (await get('usage?group_by=model')).json()) as { data: readonly object[] }
  t.match(data, [{ model: 'vv/v3', requests: charged.length, total: chargedUsd }])
})

t.test('every answer has the position of the log that it reflects', async (t) => {
  for (const path of ['usage', 'statement', 'holds', 'charges', `charges/${ids.plain}`])
    t.match((await get(path)).headers.get('x-gateway-ledger-sequence'), /^[\w-]{56}$/, path)
})

interface VendorTask {
  readonly task_status: string
  readonly task_info: { readonly external_task_id: string }
  readonly final_unit_deduction?: string
}

/** What the vendor lists; what it did not tell when it was asked stands on its invoice. */
const invoiceOf = async (deductions: Readonly<Record<string, string>>): Promise<string> => {
  const headers = { authorization: `Bearer ${sandboxVideoKey}` }
  const response = await fetch(`${sandbox.url}/videos/text2video?pageNum=1&pageSize=100`, { headers })
  const { data, ...envelope } = (await response.json()) as { readonly data: readonly VendorTask[] }
  const invoiced = data.map((task) => {
    const deduction = deductions[task.task_info.external_task_id] ?? task.final_unit_deduction
    return deduction === undefined ? task : { ...task, final_unit_deduction: deduction }
  })
  return JSON.stringify({ ...envelope, data: invoiced })
}

const reconcile = async (deductions: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<Ended> => {
  const file = join(config.dataFolder, 'deductions.json')
  await writeFile(file, await invoiceOf(deductions))
  return command('reconcile', '--provider', 'vv', '--format', 'vv-deductions', '--file', file, '--json', ...words)
}

const classesIn = (ended: Ended): readonly string[] =>
  ofType(ended, 'class').map((record) => `${record['class']} ${record['count']} ${record['amount']}`)

t.test("the vendor's own count is compared, and corrected once", async (t) => {
  const same = await reconcile({ [ids.untold]: '3' })
  t.match(same, { code: 0 }, same.err)
  t.match(ofType(same, 'summary'), [{ difference: '0', differences: 0, invoiced: chargedUsd, ledger: chargedUsd }])
  t.match(ofType(same, 'estimated_charge'), [{ charge: ids.untold }])

  const told = { [ids.untold]: '2.5' }
  const estimated = await reconcile(told)
  t.equal(estimated.code, 1)
  t.same(classesIn(estimated), ['estimated 1 -0.07'])
  t.match(ofType(estimated, 'difference'), [
    { charge: ids.untold, class: 'estimated', invoiced: '0.35', ledger: '0.42' },
  ])

  const altered = { ...told, [ids.fractional]: '2.223456789' }
  t.same(classesIn(await reconcile(altered)), ['estimated 1 -0.07', 'token_drift 1 0.014'])
  t.same(await eventsOf(operator, 'AdjustmentPosted'), [], 'nothing is posted unless it is asked for')

  const deductions = ['--format', 'vv-deductions', '--file', join(config.dataFolder, 'deductions.json')]
  t.match(
    await startProgramUnread(config.dataFolder, 'reconcile', '--provider', 'vv', ...deductions, '--json'),
    { code: 1, err: '' },
    'what nobody reads any more is no fault',
  )

  const drift = { [ids.untold]: '3', [ids.fractional]: '2.223456789' }
  const posted = await reconcile(drift, '--post', '--yes')
  t.equal(posted.code, 0, posted.err)
  const adjustments = await eventsOf(operator, 'AdjustmentPosted')
  t.match(adjustments, [{ workspaceId, corrects: ids.fractional, reason: 'reconciliation', amount: '-0.014' }])
  t.equal(adjustments.length, 1)
  const again = await reconcile(drift, '--post', '--yes')
  t.match(again, { code: 0 })
  t.same(ofType(again, 'correction'), [])
  t.equal((await eventsOf(operator, 'AdjustmentPosted')).length, 1, 'posting again posts nothing')

  t.match(await explained('fractional'), { adjustments: [{ amount: '-0.014' }], net: '0.31128395046' })
  t.match((await walletFigures(operator, workspaceId)).balance, formatUsd(parseUsd('99.986') - parseUsd(chargedUsd)))
  t.match(await command('statement', workspaceId, '--check'), { code: 0, err: /checked: every movement/ })
  const given = await reconcile({ ...drift, [ids.untold]: '2.5' }, '--post', '--yes')
  t.equal(given.code, 0)
  t.match((await eventsOf(operator, 'AdjustmentPosted'))[1], { corrects: ids.untold, amount: '0.07' })
})
