import t, { type Test } from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { openPool } from '../../src/adapters/postgres/connection.ts'
import { workspaceRecord } from '../../src/administration/operations/workspaces.ts'
import { archiveSealedFrames } from '../../src/audit/archive.ts'
import { collectEvidence } from '../../src/audit/collect-evidence.ts'
import { explainCharge } from '../../src/audit/explain-charge.ts'
import type { Explanation, RequestExplanation, TaskExplanation } from '../../src/audit/explanation.ts'
import { verifierText } from '../../src/audit/note.ts'
import { readStatementFromLog, readStatementFromTables } from '../../src/audit/statement.ts'
import { StatementComparison, StatementTotals } from '../../src/audit/statement-totals.ts'
import { catchUp } from '../../src/cli/catch-up.ts'
import { explanationText } from '../../src/cli/explanation-text.ts'
import { requireTables } from '../../src/cli/platform.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { unguardCsvText } from '../../src/encoding/csv.ts'
import type { Fact } from '../../src/events/envelope.ts'
import type { StatementEntry, StatementRange } from '../../src/projections/statements/queries.ts'
import { forgeArchive } from '../audit/archive-forgery.ts'
import { MemorySource, sealedLog, verifier } from '../audit/sealed-log.ts'
import {
  lateVerdict,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  videoPricePublished,
} from '../roles/projector/facts.ts'
import { chatBody, until } from '../support/clients.ts'
import { parseCsv } from '../support/csv.ts'
import { runtime, sheetOf, startTestGateway, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runProgram, startProgramUnread } from '../support/program.ts'
import { randomOf } from '../support/random.ts'

const models = {
  greedy: 'greedy;prompt_tokens=300000;completion_tokens=10',
  down: 'down;status=503',
  mute: 'mute;no_usage=1',
  cached: 'cached;prompt_tokens=1000;cached_tokens=600;completion_tokens=10',
}
const sheets = {
  'openai/greedy': sheetOf({
    tiers: [{ prompt_tokens_above: 272_000, per_million_tokens: { input: '2', output: '3' } }],
  }),
  'openai/cached': sheetOf({ per_million_tokens: { input: '2', cached_input: '0.2', output: '8' } }),
}
const audit = { sealing: true, origin: 'gateway.test/ledger', signer: null, verifier: null, previous: [] }

const running = await startTestGateway(t, { models, sheets, config: { audit } })
const { gateway, account, operator, config } = running
const { workspaceId } = account

const command = (...words: readonly string[]): Promise<Ended> =>
  runProgram(config.dataFolder, config.dataFolder, ...words)

const ask = async (model: string, changes: object = {}): Promise<string> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...JSON.parse(chatBody(model, false)), ...changes }),
  })
  await response.arrayBuffer()
  return response.headers.get('x-gateway-request-id') ?? ''
}

const priceVersion = '0123456789abcdef'
const later = '2100-01-01T00:00:00.000Z'

const placed = (taskId: string): Fact => {
  const order = { keyId: 'key-of-a-task', priceVersion, unitsMax: '10', externalTaskId: 'ours-1' }
  const { type, data } = taskPlaced(taskId, order, workspaceId, '1.4')
  return { type, data: { ...data, deadline: later } }
}

const runTask = async (): Promise<void> => {
  const charge = { workspaceId, priceVersion, held: '1.4' }
  await operator.log.append([videoPricePublished(priceVersion)])
  await operator.log.postToWallet(workspaceId, [placed('task-1'), placed('task-2')])
  await operator.log.append([taskSubmitted('task-1', 'vendor-task-1', workspaceId)])
  await operator.log.append([taskProgressed('task-1', 40, 'IN_PROGRESS', workspaceId)])
  await operator.log.append([taskSettled('task-1', charge)])
  await operator.log.append([taskSettled('task-1', { ...charge, deduction: '5', total: '0.7' })])
  await operator.log.append([lateVerdict('task-1', { workspaceId, outcome: 'FAILURE', cost: '0' })])
}

const adjust = (corrects: string): Promise<unknown> =>
  operator.log.postToWallet(workspaceId, [
    {
      type: 'AdjustmentPosted',
      data: {
        ...{ adjustmentId: 'adjustment-1', workspaceId, amount: '0.00001', reason: 'reconciliation', corrects },
        note: 'a "quoted", note\nof two lines',
      },
    },
  ])

const ids = {
  plain: await ask('openai/plain'),
  beyond: await ask('openai/greedy'),
  fallback: await ask('openai/down', { models: ['openai/down', 'openai/plain'] }),
  failed: await ask('openai/down'),
  estimated: await ask('openai/mute', { stream: true }),
  cached: await ask('openai/cached'),
}
await adjust(ids.plain)
await runTask()
await operator.log.append([
  {
    type: 'RequestRouted',
    data: {
      ...{ requestId: 'request-open', workspaceId, keyId: 'key-1', surface: 'chat', model: 'plain', router: null },
      ...{ stream: false, allowanceId: null, reserved: '0.1', outputCap: null, deadline: later },
      candidates: [{ model: 'openai/plain', provider: 'openai', upstreamModel: 'plain', priceVersion }],
    },
  },
])
await operator.openAccount('beta', '1')

const unsealed = async (): Promise<boolean> =>
  (operator.tail.ledger.sealed?.size ?? 0) < operator.tail.ledger.sequence - 1
await operator.caughtUp()
await until(async () => !(await unsealed()))

/** As an administrator, who sees positions in the log. */
const overHttp = async (id: string): Promise<Response> =>
  fetch(`${gateway.url}/admin/v1/workspaces/${workspaceId}/ledger/charges/${id}`, {
    headers: { authorization: `Bearer ${gateway.newAdminToken}` },
  })

const sealedAt = operator.tail.ledger.sealed?.sequence ?? 0
await until(async () => Number((await overHttp(ids.plain)).headers.get('x-gateway-ledger-sequence')) >= sealedAt)

const wholeLog = async () => ({ frames: operator.platform.log, to: await operator.log.lastSequence() })

/** What may differ between two looks at the same charge: how far the log had come. */
const story = ({ log_sequence: _sequence, ...told }: Explanation): object => told

/** What the edge tells by the tables is what the whole log tells. */
const explained = async <T extends Explanation>(t: Test, id: string): Promise<T> => {
  const response = await overHttp(id)
  const told = (await response.json()) as T
  t.equal(response.headers.get('x-gateway-ledger-sequence'), String(told.log_sequence))
  const byLog = explainCharge(await collectEvidence(await wholeLog(), id))
  t.same(JSON.parse(JSON.stringify(byLog === null ? null : story(byLog))), story(told), 'the log tells the same')
  return told
}

t.test('each kind of request is explained, and its charge computed again', async (t) => {
  const billed = ['plain', 'beyond', 'fallback', 'estimated', 'cached'] as const
  for (const kind of billed)
    t.test(kind, async (t) => {
      const told = await explained<RequestExplanation>(t, ids[kind])
      t.match(told, { kind: 'request', state: 'charged', workspace: 'acme', key: { name: 'test', prefix: /^sk-/ } })
      t.same(told.charge?.recomputed, { equal: true, total: told.charge?.total, difference: '0', findings: [] })
      const [charge] = told.wallet
      t.equal(parseUsd(charge!.balance_before) + parseUsd(charge!.amount), parseUsd(charge!.balance_after))
      t.ok(told.events.every(({ sealed_by, sequence }) => sealed_by !== null && sealed_by >= sequence))
      t.match(told.proof, { checkpoint: { size: Number, sequence: Number }, command: `gateway prove ${ids[kind]}` })
    })

  t.test('one that failed cost nothing', async (t) => {
    const told = await explained<RequestExplanation>(t, ids.failed)
    t.match(told, { state: 'failed', charge: null, wallet: [], net: '0', ended: { served: null, status: 502 } })
    t.match(told.attempts, [{ model: 'openai/down', outcome: 'failed', status: 503 }])
  })
})

t.test('what tells them apart', async (t) => {
  const beyond = await explained<RequestExplanation>(t, ids.beyond)
  t.match(beyond.wallet, [{ kind: 'charge' }, { kind: 'excess' }])
  t.equal(parseUsd(beyond.reservation!.beyond), -parseUsd(beyond.wallet[1]!.amount))
  t.match(beyond.price, { prompt_tokens_above: 272_000, per_million_tokens: { input: '2' } })

  const fallback = await explained<RequestExplanation>(t, ids.fallback)
  t.match(fallback, { ended: { served: { level: 1, model: 'openai/plain' } }, plan: { length: 2 } })
  t.match(fallback.attempts, [{ outcome: 'failed', status: 503 }, { outcome: 'served' }])

  t.match(await explained(t, ids.estimated), { usage: { source: 'estimated' } })
  t.match(await explained(t, ids.cached), {
    charge: { lines: [{ item: 'input', quantity: 400 }, { item: 'cached_input' }, {}] },
  })

  const adjusted = await explained<RequestExplanation>(t, ids.plain)
  t.match(adjusted.adjustments, [{ amount: '0.00001', reason: 'reconciliation' }])
  t.equal(parseUsd(adjusted.net), parseUsd(adjusted.charge!.total) - parseUsd('0.00001'))
})

t.test('a task: hold, vendor, settlement, and what came when all was said', async (t) => {
  const told = await explained<TaskExplanation>(t, 'task-1')
  t.match(told, {
    state: 'charged',
    hold: { amount: '1.4', unit_price: '0.14', units_max: '10' },
    submitted: { vendor_task_id: 'vendor-task-1' },
    progress: [{ status: 'IN_PROGRESS', percent: 40 }],
    ended: { deduction: '4.5', given_back: '0.77', beyond: '0' },
    charge: { total: '0.63', recomputed: { equal: true } },
    late_verdicts: [{ cost: '0.7' }, { outcome: 'FAILURE', cost: '0' }],
    wallet: [{ kind: 'hold' }, { kind: 'charge' }, { kind: 'release' }],
  })
  t.same(
    told.events.map(({ type, counts }) => [type, counts]),
    [
      ['HoldPlaced', true],
      ['TaskSubmitted', true],
      ['TaskProgressed', true],
      ['TaskSettled', true],
      ['TaskSettled', false],
      ['LateVerdictSeen', false],
    ],
  )
  t.match(await explained(t, 'task-2'), { state: 'open', ended: null, wallet: [{ kind: 'hold' }] })
})

t.test('what is open says so, and what nobody has is refused', async (t) => {
  t.match(await explained(t, 'request-open'), { state: 'open', ended: null, charge: null, net: '0' })
  const open = await explained<RequestExplanation>(t, 'request-open')
  const deadlineMs = Date.parse(open.asked!.deadline)
  t.match(explanationText(open, deadlineMs), /is still open[\s\S]*nothing yet; the proxy gives up at/)
  const later = explanationText(open, deadlineMs + 1)
  t.match(later, new RegExp(`nothing; the time of its proxy ended at ${open.asked!.deadline}, and no end has come`))
  t.equal(/is released with the allowance/.test(later), open.reservation!.allowance !== null)
  const task = await explained<TaskExplanation>(t, 'task-2')
  const dueMs = Date.parse(task.hold.deadline)
  t.match(explanationText(task, dueMs), /nothing yet; the hold is released at/)
  t.match(explanationText(task, dueMs + 1), /nothing; the hold's deadline was .*, and a scheduler gives it back/)
  t.match(await command('explain', 'nobody'), {
    code: 1,
    out: '',
    err: /no request and no task has the id nobody/,
  })
  t.equal((await overHttp('nobody')).status, 404)
})

t.test('the command tells the same', async (t) => {
  const told = story(await explained(t, 'task-1'))
  for (const words of [[], ['--from-log']]) {
    const { code, out } = await command('explain', 'task-1', '--json', ...words)
    t.same({ code, told: story(JSON.parse(out)) }, { code: 0, told })
  }
})

t.test('the story as text', async (t) => {
  const { code, out } = await command('explain', ids.plain)
  t.equal(code, 0)
  for (const part of [
    /^request \S+ was charged with \S+ USD, \S+ USD after its adjustments/,
    /asked .*workspace acme, key key_\S+ "test" \(sk-/,
    /recomputed: equal/,
    /wallet +frame \d+\.\d+ +charge +balance 100 → /,
    /adjusted +0\.00001 USD, reconciliation.*"a \\"quoted\\", note\\nof two lines"/,
    /UsageRecorded +sealed by checkpoint \d+/,
    /gateway prove /,
  ])
    t.match(out, part)
  t.match(
    explanationText(await explained<TaskExplanation>(t, 'task-1'), 0),
    /deducted by the vendor: 4\.5 units[\s\S]*was not charged/,
  )
})

interface Movement {
  readonly type: string
  readonly at: string
  readonly kind: string
  readonly amount: string
  readonly balance_after: string
  readonly reference: string
  readonly upstream_request_id: string
}
interface Balance {
  readonly type: string
  readonly balance: string
  readonly held: string
  readonly final: boolean
  readonly sums: readonly { readonly kind: string; readonly count: number; readonly amount: string }[]
}
interface Read {
  readonly opening: Balance
  readonly movements: readonly Movement[]
  readonly closing: Balance
}

const statement = async (...words: readonly string[]): Promise<Read> => {
  const { out, err, code } = await command('statement', workspaceId, '--json', '--holds', ...words)
  if (code !== 0) throw new Error(err)
  const records = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { opening: records[0], movements: records.slice(1, -1), closing: records.at(-1) }
}

t.test('a statement equals the wallet, and ties to the log', async (t) => {
  const whole = await statement()
  await operator.caughtUp()
  const wallet = workspaceRecord(operator, workspaceId)
  t.match(whole.opening, { type: 'opening', balance: '0', held: '0' })
  t.match(whole.closing, { type: 'closing', balance: wallet.balance, final: false })
  const sum = whole.movements.reduce((picos, { amount }) => picos + parseUsd(amount), 0n)
  t.equal(formatUsd(sum), wallet.balance)
  t.equal(
    formatUsd(whole.closing.sums.reduce((picos, { amount }) => picos + parseUsd(amount), 0n)),
    wallet.balance,
    'so do the sums by kind',
  )
  const checked = await command('statement', workspaceId, '--json', '--check')
  t.match(checked, { code: 0, err: /checked: every movement/ })
  const byLog = await command('statement', workspaceId, '--json', '--holds', '--from-log', '--to', '2100-01-01')
  const [, ...records] = byLog.out.trimEnd().split('\n')
  t.same(
    records.slice(0, whole.movements.length).map((line) => JSON.parse(line)),
    whole.movements,
  )
})

t.test('holds are hidden, and checked all the same', async (t) => {
  const shown = await command('statement', workspaceId, '--json', '--check')
  t.match(shown, { code: 0, err: /checked: every movement/ })
  t.notMatch(shown.out, /"kind":"(?:hold|release)","reference"/)
  t.ok((await statement()).movements.some(({ kind }) => kind === 'hold'))
})

t.test('a report of the month is what its statements come to, in every format', async (t) => {
  const { movements } = await statement()
  const month = movements[0]!.at.slice(0, 7)
  const debits = movements.filter(({ kind }) => /charge|excess|fee|adjustment/.test(kind))
  const spent = formatUsd(-debits.reduce((picos, { amount }) => picos + parseUsd(amount), 0n))
  const report = (...words: readonly string[]) => command('report', '--month', month, ...words)
  const json = await report('--group-by', 'workspace', '--format', 'json')
  t.match(json, { code: 0, err: /^checked: this is what the statements of \d+ workspaces? come/ })
  const rows = json.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(
    rows.find(({ workspace }) => workspace === workspaceId),
    { net: spent },
  )
  const [head, ...records] = parseCsv((await report('--format', 'csv')).out)
  t.same(head, ['workspace', 'model', 'requests', 'charges', 'corrections', 'fees', 'net'])
  t.equal(
    formatUsd(records.reduce((picos, record) => picos + parseUsd(record.at(-1)!), 0n)),
    formatUsd(rows.reduce((picos, { net }) => picos + parseUsd(net), 0n)),
  )
  const byTag = await report('--group-by', 'tag:team')
  t.match(byTag, { code: 2, err: /No request has the tag `team`, and it is not configured. Configured are: none/ })
  t.match(await command('report', '--month', '2026-13'), {
    code: 2,
    err: /a month in UTC is such as 2026-11, got `2026-13`/,
  })
  t.match(await report('--group-by', 'model,model'), { code: 2, err: /each once/ })
  t.match((await command('report', '--month', '2001-01')).err, /statements of 0 workspaces/)
})

const readAll = async (range: StatementRange) => {
  const { db } = requireTables(operator.platform).database
  const read = await readStatementFromTables(db, workspaceId, range)
  const folded = await readStatementFromLog({ ...(await wholeLog()), to: read.sequence }, workspaceId, range)
  const totals = new StatementTotals(read.opening)
  const comparison = new StatementComparison(read.opening, folded)
  const entries: StatementEntry[] = []
  for await (const entry of read.entries) {
    entries.push(entry)
    totals.take(entry)
    await comparison.take(entry)
  }
  const { opening } = read
  const difference = await comparison.end(read.isFinal())
  return { opening, entries, closing: totals.closing, isFinal: read.isFinal(), difference }
}

t.test('a charge has the upstream request id that its explanation has', async (t) => {
  const { movements } = await statement()
  const table = (await command('statement', workspaceId)).out
  for (const id of [ids.plain, ids.fallback]) {
    const { attempts } = await explained<RequestExplanation>(t, id)
    const served = attempts?.at(-1)?.upstream_request_id ?? ''
    t.match(served, /^req_/)
    const charge = movements.find(({ kind, reference }) => kind === 'charge' && reference === id)
    t.equal(charge?.upstream_request_id, served)
    t.match(table, new RegExp(`${id}  ${served}  openai/`))
  }
})

t.test('consecutive statements join, wherever they are cut', async (t) => {
  const whole = await readAll({ from: null, to: null })
  t.equal(whole.difference, null)
  const instants = [...new Set(whole.entries.map(({ time }) => time.getTime()))].sort((one, other) => one - other)
  const cuts = [null, ...instants.filter((_, place) => place % 3 === 1).map((ms) => new Date(ms)), null]
  const parts = []
  for (const [place, from] of cuts.slice(0, -1).entries())
    parts.push(await readAll({ from, to: cuts[place + 1] ?? null }))
  t.same(
    parts.map(({ difference, isFinal }) => [difference, isFinal]),
    parts.map((_, place) => [null, place < parts.length - 1]),
  )
  t.same(parts.flatMap(({ entries }) => entries).slice(0, whole.entries.length), whole.entries)
  t.same(
    parts.slice(1).map(({ opening }) => opening),
    parts.slice(0, -1).map(({ closing }) => closing),
  )
})

t.test('a statement that nobody reads any more is no fault', async (t) => {
  const unread = await startProgramUnread(config.dataFolder, 'statement', workspaceId, '--check')
  t.match(unread, { code: 0, err: /^checked: [^\n]+\n$/ }, 'and it is checked to its end')
})

t.test('as CSV, which parses back', async (t) => {
  const { entries, closing } = await readAll({ from: null, to: new Date('2100-01-01') })
  const { code, out } = await command('statement', workspaceId, '--csv', '--holds', '--to', '2099-12-31')
  t.equal(code, 0)
  const [head, opening, ...records] = parseCsv(out)
  t.equal(
    head?.join(),
    'at,sequence,event_index,line,kind,reference,amount,held,balance_after,held_after,note,upstream_request_id,corrects,model,key,surface,tags,price_version,event_at',
  )
  t.equal(opening?.join(), `,,,,opening,,,,0,0${','.repeat(9)}`)
  t.match(records.at(-1), [
    '2100-01-01T00:00:00.000Z',
    '',
    '',
    '',
    'closing',
    '',
    '',
    '',
    formatUsd(closing.balancePicos),
  ])
  t.same(
    records.slice(0, entries.length).map((record) => record.slice(4, 9)),
    entries.map((entry) => [
      ...[entry.kind, entry.reference, formatUsd(entry.amountPicos), formatUsd(entry.heldPicos)],
      formatUsd(entry.balanceAfterPicos),
    ]),
  )
})

const notes = [
  ...['a remark', '', '=HYPERLINK("http://x")', '+1', '-2+3', '@SUM(A1)', '\tx', '\rx', '-1.50', "'=1", ' =1', '＝1'],
  ...['say "hi", or not', 'two\r\nlines', 'a NUL \0, half a pair \ud800', 'Grüße 請求書 🧾', 'x'.repeat(2_000)],
]

t.test('the note of a credit is in every format of its statement', async (t) => {
  const { secret } = await operator.openAccount('gamma', '0')
  for (const [place, note] of notes.entries()) await operator.credit('gamma', '1', `=${place}`, note)
  const credited = await command('credit', 'gamma', '1', '--reference', 'by command', '--note', 'of the command')
  t.equal(credited.code, 0)
  const all = [...notes, 'of the command']
  const notesIn = (out: string): readonly unknown[] =>
    out
      .trimEnd()
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line).note)
  for (const words of [[], ['--from-log']])
    t.same(notesIn((await command('statement', 'gamma', '--json', ...words)).out), all, `JSON ${words}`)
  t.match(await command('statement', 'gamma', '--check'), { code: 0, err: /checked: every movement/ })

  const byHttp = await fetch(`${gateway.url}/v1/ledger/statement`, { headers: { authorization: `Bearer ${secret}` } })
  const { data } = (await byHttp.json()) as { data: { note: string }[] }
  t.same(
    data.map(({ note }) => note),
    all,
    'the read API',
  )

  const [head, ...records] = parseCsv((await command('statement', 'gamma', '--csv')).out)
  const column = head!.indexOf('note')
  t.same(
    records.slice(1, -1).map((record) => unguardCsvText(record[column] ?? '')),
    all.map((note) => note.toWellFormed()),
    'CSV',
  )
  const evaluated = records.flat().filter((field) => /^\s*[=+\-@\t\r＝]/.test(field))
  t.same(evaluated, ['-1.50'], 'a spreadsheet evaluates none')

  const { out, code, err } = await command('statement', 'gamma')
  t.same({ code, err }, { code: 0, err: '' })
  const lines = out.split('\n')
  t.match(lines[2], /reference, upstream request id, model, what is corrected, note, when it occurred$/)
  t.match(lines[4], / {2}=0 {2}a remark$/)
  t.match(out, / {2}=13 {2}"two\\r\\nlines"\n/)
  t.match(out, / {2}by command {2}of the command\n/)
  t.notMatch(out, /[\0\t\r]/, 'a terminal obeys none')
})

t.test('tables that are ahead of where the log ended before are no other log’s', async (t) => {
  const { platform, log } = operator
  const grown = [1]
  const growing = { ...platform.log, lastSequence: async () => grown.shift() ?? log.lastSequence() }
  await t.resolves(catchUp({ ...platform, log: growing }, runtime))
  const shorter = { ...platform.log, lastSequence: async () => 1 }
  await t.rejects(
    catchUp({ ...platform, log: shorter }, runtime),
    /the tables are at sequence \d+, but the log ends at 1/,
  )
})

t.test('used wrongly', async (t) => {
  t.match(await command('statement', 'nobody'), { code: 1, err: /no such workspace/ })
  await t.rejects(readStatementFromLog(await wholeLog(), 'nobody', { from: null, to: null }), /no such workspace/)
  for (const words of [
    ['--to', '2026-02-30'],
    ['--from', '2026-03-02', '--to', '2026-03-01'],
    ['--check', '--from-log'],
  ])
    t.match(await command('statement', workspaceId, ...words), { code: 2, out: '' }, words.join(' '))
  const noon = '2026-03-01T12:00:00Z'
  t.match(await command('statement', workspaceId, '--from', noon, '--to', noon), {
    code: 2,
    out: '',
    err: /the statement must end after it begins, got from 2026-03-01T12:00:00.000Z up to 2026-03-01T12:00:00.000Z/,
  })
  const day = await command('statement', workspaceId, '--from', '2026-03-01', '--to', '2026-03-01')
  t.match(day, { code: 0, out: /from 2026-03-01T00:00:00.000Z up to 2026-03-02T00:00:00.000Z, which is not in it/ })
})

t.test('an archive is told of when it is what was sealed', async (t) => {
  const folder = await temporaryFolder(t)
  const target = await ArchiveFolder.open(`${folder}/archive`, verifier.name)
  const { frames } = sealedLog({ frames: 60, random: randomOf(81) })
  await archiveSealedFrames({ source: new MemorySource(frames), target, verifiers: [verifier] })
  await target.close()
  const run = (...words: readonly string[]): Promise<Ended> =>
    runProgram(folder, folder, ...words, '--archive', `${folder}/archive`)
  const key = ['--public-key', verifierText(verifier)]
  t.match(await run('statement', 'acme', '--json', ...key), { code: 0, out: /"type":"closing"/ })
  t.match(await run('explain', 'nobody', ...key), { code: 1, out: '', err: /no request and no task/ })
  const keyless = await run('statement', 'acme')
  t.match(keyless, { code: 2, out: '', err: /no public key: name the log’s with --public-key/ })

  await forgeArchive(`${folder}/archive`, frames, (text) => text.replaceAll('"amount":"', '"amount":"9'))
  for (const words of [
    ['statement', 'acme'],
    ['explain', 'nobody'],
  ]) {
    const { code, out, err } = await run(...words, ...key)
    t.match({ code, out, err }, { code: 1, out: /^frame-changed: frame/, err: /the archive is not what was sealed/ })
    t.notMatch(out, /balance|closing/)
  }
})

t.test('tables that were tampered with are found out', async (t) => {
  const pool = openPool(requireTables(operator.platform).place, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => pool.end())
  const give = (picos: string): Promise<unknown> =>
    pool.query(
      `update wallet_entries set amount = amount + ${picos}, balance_after = balance_after + ${picos}
       where workspace_id = 'beta' and kind = 'credit'`,
    )
  await give('0.01')
  t.match(await command('statement', 'beta', '--check'), {
    code: 1,
    err: /not what the log makes of it: it has .*"amount":"1.01".*the log has .*"amount":"1"/,
  })
  await pool.query(`update wallet_entries set balance_after = 7 where workspace_id = 'beta' and kind = 'credit'`)
  t.match(await command('statement', 'beta'), { code: 1, err: /leaves a balance of 7 and 0 held/ })
})
