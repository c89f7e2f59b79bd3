import { hash } from 'node:crypto'
import pg from 'pg'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { openOutcomes } from '../../../src/adapters/nats/outcomes/open.ts'
import { issueKey, revokeKey } from '../../../src/administration/account-changes.ts'
import { foldLog } from '../../../src/audit/fold-log.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { emptyHead, signedHeadText } from '../../../src/audit/signed-head.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { initialLedger, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { digestCanonically } from '../../../src/encoding/canonical-digest.ts'
import { encodeKeyRecord } from '../../../src/roles/edge/admission/idempotency/key-record.ts'
import { billOf } from '../../support/bills.ts'
import { chat, chatBody, startClients, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import {
  type Account,
  configOf,
  type Operator,
  openOperator,
  runtime,
  temporaryFolder,
  untilKeyIsKnown,
} from '../../support/gateway.ts'
import { GatewayProcess } from '../../support/gateway-process.ts'
import { askKeyed } from '../../support/keyed.ts'
import { runProgram } from '../../support/program.ts'
import { eventsOf, newVideo, pollVideo, videoOptions } from '../../support/video.ts'

const forgedSecret = 'sk-forged-by-whoever-writes-to-the-tables'
const signer = createSigner('gateway.test/ledger', Buffer.alloc(32, 7))
const audit = { sealing: true, origin: signer.name, signer, verifier: deriveVerifier(signer), previous: [] }
const idempotencyKey = 'order-7'
const far = 1_000_000_000
const bounds = { videoPoller: { taskPollMs: 100, taskPollMaxMs: 300 } }

/** What is in the log of three workspaces: one that owns something, one that asks for it, one without money. */
interface Past {
  readonly owner: Account
  readonly thief: Account
  readonly broke: Account
  readonly revokedSecret: string
  readonly ownersRequest: string
  readonly thiefsRequest: string
  readonly responses: readonly [string, string]
  readonly taskId: string
  readonly resultUrl: string
}

const get = async (url: string, path: string, { secret }: Pick<Account, 'secret'>) => {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${secret}` } })
  return { status: response.status, text: await response.text() }
}

const respond = async (url: string, { secret }: Account, more: object = {}) => {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/plain', input: 'Hello!', max_output_tokens: 20, store: true, ...more }),
  })
  const body: ReturnType<JSON['parse']> = await response.json()
  return { status: response.status, body }
}

const makePast = async (t: Test, url: string, operator: Operator): Promise<Past> => {
  const owner = await operator.openAccount('owner', '10')
  const thief = await operator.openAccount('thief', '1')
  const broke = await operator.openAccount('broke', '0')
  const { secret: revokedSecret, keyId } = await issueKey(operator, { workspaceId: 'thief', name: 'old' }, runtime)
  await revokeKey(operator, keyId)
  await untilKeyIsKnown(url, broke)
  const ask = async ({ secret }: Account): Promise<string> => {
    const { status, requestId } = await chat(url, secret, chatBody('openai/plain', false))
    t.equal(status, 200)
    return requestId ?? ''
  }
  const [ownersRequest, thiefsRequest] = [await ask(owner), await ask(thief)]
  const [one, other] = [await respond(url, owner), await respond(url, owner)]
  t.equal(one.status, 200, JSON.stringify(one.body))
  const taskId = await newVideo(url, owner.secret, { prompt: 'A cat. [[queue_ms=0;run_ms=0]]' })
  await until(async () => (await pollVideo(url, owner.secret, taskId)).body.data.status === 'SUCCESS')
  const [settled] = await eventsOf(operator, 'TaskSettled')
  const resultUrl = settled?.results[0]?.url ?? ''
  t.match(resultUrl, /^http/)
  const responses = [one.body.id, other.body.id] as const
  const stored = (await eventsOf(operator, 'UsageRecorded')).flatMap(({ storedResponseId }) => storedResponseId ?? [])
  t.same(stored, responses)
  return { owner, thief, broke, revokedSecret, ownersRequest, thiefsRequest, responses, taskId, resultUrl }
}

/** As a killed edge leaves it: claimed, with an answer that nobody received, and no longer renewed. */
const leaveClaim = async (operator: Operator, requestId: string): Promise<void> => {
  const { platform } = operator
  const connection = await platform.connect('outcomes')
  const outcomes = await openOutcomes({ ...platform.outcomes, connection })
  const body = JSON.parse(chatBody('openai/plain', false))
  await outcomes.put(
    { workspaceId: 'thief', keyDigest: hash('sha256', idempotencyKey) },
    encodeKeyRecord({
      ...{ state: 'claimed', requestId, holder: 'gone', claimedMs: 0, leaseUntilMs: 1 },
      digest: await digestCanonically([idempotencyKey, '/v1/chat/completions', body], (step) => step()),
      work: { type: 'request', keyId: 'any', surface: 'chat', stream: false },
    }),
    0,
    5_000,
  )
  await outcomes.close()
  await connection.close()
}

const terms = JSON.stringify({
  planId: 'forged',
  name: 'Forged',
  price: '0',
  includedCredit: '1000000',
  period: 'month',
})

/** By table, what would give its writer a key, money or another's answer, if it were believed. */
const forgeriesOf = ({ thiefsRequest, responses, taskId }: Past): Readonly<Record<string, string>> => ({
  admin_changes: `insert into admin_changes values (${far}, 0, 'WalletCredited', 'broke', 'broke', 'admin:root', '{}', now())`,
  aliases: `insert into aliases values ('forged', 'openai/plain')`,
  calls_by_hour: `update calls_by_hour set failed = calls`,
  charge_places: `update charge_places set workspace_id = 'thief' where charge_id = '${taskId}'`,
  checkpoint: `update checkpoint set places_to = 0`,
  external_tasks: `insert into external_tasks values ('thief', 'mine', '${taskId}', '')`,
  failed_calls: `insert into failed_calls values ('openai', '', now(), 'forged', 500, 'forged')`,
  holds: `update holds set amount = 0, remaining = 0, deadline = now() - interval '1 day'`,
  key_spending: `update key_spending set spent_day = 0, spent_month = 0, spent_total = 0`,
  keys: `update keys set revoked = false;
    insert into keys values ('forged', 'owner', 'forged', '${hash('sha256', forgedSecret)}', 'sk-forged', false, null, null)`,
  label_spending: `update label_spending set limits = '{}', spent_day = 0, spent_month = 0, spent_total = 0`,
  late_verdicts: `insert into late_verdicts values (${far}, 0, 'LateVerdictSeen', 'thief', '${taskId}', null, 'SUCCESS', null, 1, null, now())`,
  limits: `delete from limits; insert into limits values ('broke', '', '{}')`,
  lost_writers: `insert into lost_writers select distinct edge, now() + interval '1 day' from usage_entries on conflict do nothing`,
  movement_minutes: `update movement_minutes set sequence = 1`,
  open_requests: `insert into open_requests select 'forged', ${far}, routed, closing from open_requests limit 1`,
  outcomes_by_hour: `update outcomes_by_hour set requests = 0, failed = 0`,
  plans: `insert into plans values ('forged', '${terms}')`,
  prices: `update prices set published = jsonb_set(published::jsonb, '{sheet,per_million_tokens}', '{"input":"0","output":"0"}')::json
    where published::jsonb ? 'sheet'`,
  read_models: `insert into read_models values ('forged', 1)`,
  refusals_by_minute: `insert into refusals_by_minute values (now(), 'thief', 'key', 'other', 1)`,
  requests: `update requests set total = 1000000, workspace_id = 'thief'`,
  routers: `insert into routers values ('forged', '[{"model":"openai/plain","weight":1}]', 'weighted')`,
  seals: `insert into seals values (${far}, ${far}, 0, '', '[]', '')`,
  signed_head: `update ledger_audit.signed_head set size = 0, head = '${signedHeadText(emptyHead(signer.name))}'`,
  stored_responses: `update stored_responses set workspace_id = 'thief';
    update stored_responses set request_id = '${thiefsRequest}' where response_id = '${responses[1]}'`,
  subscriptions: `insert into subscriptions values
    ('broke', 'forged', '${terms}', now() - interval '1 day', now() + interval '1 day', 1, true)`,
  task_charges: `update task_charges set workspace_id = 'thief'`,
  tasks: `update tasks set workspace_id = 'thief'`,
  usage_by_day: `update usage_by_day set total = 0`,
  usage_by_label: `update usage_by_label set total = 0`,
  usage_entries: `update usage_entries set total = 1000000, workspace_id = 'thief'`,
  wallet_entries: `insert into wallet_entries values ('broke', ${far}, 0, 0, 'credit', 1000000, 0, 1000000, 0, 'forged', now())`,
  wallet_references: `insert into wallet_references values ('broke', 'credit:forged', 1000000)`,
  wallets: `update wallets set credits = 1000000, balance = 1000000, charges = 0, held = 0`,
  workspaces: `update workspaces set credit_limit = 1000000`,
  writer_activity: `update writer_activity set seen_at = now()`,
  writers: `update writers set low = low + 1000`,
})

const forge = async (t: Test, operator: Operator, past: Past): Promise<void> => {
  const { url, schema } = requireTables(operator.platform).place
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    const { rows } = await client.query(`select tablename from pg_tables where schemaname like '${schema}%'`)
    const tables = rows.map(({ tablename }) => tablename).filter((name) => !name.includes('migration'))
    const forgeries = forgeriesOf(past)
    t.same(tables.toSorted(), Object.keys(forgeries), 'each table has its forgery')
    for (const [table, text] of Object.entries(forgeries))
      await client.query(text).catch((fault: Error) => t.fail(`${table}: ${fault.message}`))
  } finally {
    await client.end()
  }
}

const foldWhole = async ({ platform: { log } }: Operator): Promise<Ledger> => {
  const ledger = initialLedger()
  for await (const _ of foldLog({ frames: log, to: await log.lastSequence() }, ledger));
  return ledger
}

const balances = ({ wallets }: Ledger) =>
  Object.fromEntries(
    ['owner', 'thief', 'broke'].map((id) => [id, wallets.has(id) ? formatUsd(balancePicos(wallets.get(id)!)) : null]),
  )

const checkKeys = async (t: Test, url: string, { revokedSecret }: Past): Promise<void> => {
  for (const secret of [forgedSecret, revokedSecret]) {
    t.equal((await get(url, '/v1/dashboard/billing/usage', { secret })).status, 401, 'no key works')
    t.equal((await chat(url, secret, chatBody('openai/plain', false))).status, 401)
  }
}

const refusals = [400, 404, 503]

const checkForeign = async (t: Test, url: string, { owner, thief, ...past }: Past): Promise<void> => {
  for (const responseId of past.responses) {
    t.ok(refusals.includes((await get(url, `/v1/responses/${responseId}`, thief)).status), 'no foreign response')
    t.ok(refusals.includes((await respond(url, thief, { previous_response_id: responseId })).status))
  }
  for (const path of [
    `/v1/video/generations/${past.taskId}`,
    `/v1/videos/${past.taskId}`,
    `/v1/videos/${past.taskId}/content`,
    `/vv/v1/videos/text2video/${past.taskId}`,
    '/vv/v1/videos/text2video/mine',
    '/vv/v1/videos/text2video?pageSize=30',
    `/v1/ledger/charges/${past.ownersRequest}`,
    `/v1/ledger/charges/${past.taskId}`,
  ]) {
    const { status, text } = await get(url, path, thief)
    t.ok(refusals.includes(status), `${path}: ${status}`)
    t.notOk(text.includes(past.resultUrl), 'no foreign result')
  }
  t.equal((await get(url, `/v1/responses/${past.responses[0]}`, owner)).status, 200, 'its owner has it')
}

const checkMoney = async (t: Test, url: string, folder: string, operator: Operator, past: Past): Promise<void> => {
  const { thief, broke, thiefsRequest, ownersRequest } = past
  t.equal((await chat(url, broke.secret, chatBody('openai/plain', false))).status, 402, 'no money is spent')
  t.ok(refusals.includes((await chat(url, thief.secret, chatBody('forged', false))).status ?? 0))
  const { total } = await billOf({ operator }, thiefsRequest)
  const again = { url, secret: thief.secret, key: idempotencyKey, body: chatBody('openai/plain', false) }
  t.match(await askKeyed(again), { status: 200, isReplayed: false }, 'the abandoned request is resolved')
  for (const requestId of [thiefsRequest, ownersRequest])
    t.match(await runProgram(folder, folder, 'findings', 'refund', requestId), { code: 1, err: /is not in doubt/ })
  const adjustments = await eventsOf(operator, 'AdjustmentPosted')
  t.match(adjustments, [{ workspaceId: 'thief', corrects: thiefsRequest, amount: total }], 'its own bill is given back')
  t.match(await eventsOf(operator, 'WalletCredited'), { length: 2 })
}

/** What happens to the gateway between the forgery and the next request. */
type Situation = (
  gateway: GatewayProcess,
  restart: () => Promise<GatewayProcess>,
  t: Test,
  past: Past,
) => Promise<GatewayProcess>

/** A start after a kill has the least to go by: of the restarts the short form has that one. */
const inShort: readonly string[] = ['without a restart', 'after kill -9 under load']
const isLong = process.env['CHAOS_ROUNDS'] !== undefined

const situations: Readonly<Record<string, Situation>> = {
  'without a restart': async (gateway) => gateway,
  'after a stop': async (gateway, restart) => {
    await gateway.end('SIGTERM')
    return restart()
  },
  'after kill -9 under load': async (gateway, restart, t, { owner }) => {
    const clients = startClients(t, gateway.url, owner.secret)
    await until(() => clients.journal.length > 20)
    await gateway.end('SIGKILL')
    await clients.stop()
    return restart()
  },
  'after an idle restart': async (gateway, restart) => {
    await gateway.end('SIGTERM')
    await (await restart()).end('SIGTERM')
    return restart()
  },
}

for (const [name, pass] of Object.entries(situations).filter(([each]) => isLong || inShort.includes(each)))
  t.test(`a forged row in every table, ${name}`, { timeout: 240_000 }, async (t) => {
    const { direct } = await startExternalServers(t)
    const sandbox = await startSandbox(runtime)
    t.teardown(() => sandbox.stop())
    const folder = await temporaryFolder(t)
    const config = configOf(folder, sandbox.url, videoOptions({}, { external: direct, audit }))
    const operator = await openOperator(config)
    const start = () => GatewayProcess.start(config, { bounds })
    const first = await startGateway(config, runtime, (fault) => t.fail(fault.message), bounds)
    const past = await makePast(t, first.url, operator)
    await first.stop()
    let gateway = await start() // It has nothing of the past in memory but what its ledger has.
    t.teardown(async () => {
      await operator.stop()
      await gateway.end('SIGTERM')
    })
    await leaveClaim(operator, past.thiefsRequest)
    const { database } = requireTables(operator.platform)
    await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
    const before = balances(await foldWhole(operator))

    await forge(t, operator, past)
    gateway = await pass(gateway, start, t, past)
    await checkKeys(t, gateway.url, past)
    await checkForeign(t, gateway.url, past)
    await checkMoney(t, gateway.url, folder, operator, past)
    t.match(gateway.logged, /projection\.row_mismatch/, 'it is logged')
    const after = balances(await foldWhole(operator))
    t.match(after, { broke: before['broke'], thief: before['thief'] }, 'no money appeared')
    t.match(await runProgram(folder, folder, 'verify'), { code: 0 }, 'the log is sealed on')
  })
