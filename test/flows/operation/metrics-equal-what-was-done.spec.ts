import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { availablePicos, balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { documentationInOrder } from '../../structure/documentation.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { healthAt, type Scrape, scrape } from '../../support/metrics.ts'
import { startReceiver } from '../../support/receiver.ts'
import { newVideo, pollVideo, videoOptions } from '../../support/video.ts'

const models = {
  down: 'down;status=500',
  strange: 'strange;status=400',
  broken: 'broken;break_after=3;chunk_delay_ms=100',
  held: 'held;hang_after=3',
}

const start = (t: Test): Promise<TestGateway> => {
  const sheets = Object.fromEntries(['plain', ...Object.keys(models)].map((name) => [`openai/${name}`, sheetOf()]))
  const observe = { host: '127.0.0.1', port: 0 }
  return startTestGateway(t, { models, ...videoOptions(sheets, { observe, drainMs: 1_000 }) })
}

/** Chat requests of every outcome: 8 answers, 3 refusals of the upstream or for want of one, 1 stream that breaks. */
const chatInEveryWay = async ({ gateway, account }: TestGateway): Promise<void> => {
  const { url } = gateway
  const ask = (body: string, secret = account.secret) => chat(url, secret, body)
  for (const stream of [false, false, false, true, true]) await ask(chatBody('openai/plain', stream))
  const chain = { ...JSON.parse(chatBody('openai/plain', false)), models: ['openai/down', 'openai/plain'] }
  for (let count = 0; count < 3; count += 1) await ask(JSON.stringify(chain))
  await ask(chatBody('openai/down', false))
  await ask(chatBody('openai/strange', false))
  await ask(chatBody('openai/strange', true))
  await ask(chatBody('openai/broken', true))
  await ask(chatBody('openai/plain', false), 'sk-nobody')
  await fetch(`${url}/nowhere/PLANTED?secret=PLANTED`)
  await fetch(`${url}/v1/models`)
}

const makeVideos = async (t: Test, { gateway, account }: TestGateway): Promise<void> => {
  const receiver = await startReceiver(t)
  const more = { callback_url: `${receiver.url}/called` }
  const { url } = gateway
  const made = await newVideo(url, account.secret, { prompt: 'A cat. [[queue_ms=0;run_ms=0]]', more })
  const failed = await newVideo(url, account.secret, { prompt: 'A dog. [[queue_ms=0;run_ms=0;failed]]' })
  for (const [taskId, status] of [
    [made, 'SUCCESS'],
    [failed, 'FAILURE'],
  ] as const)
    await until(async () => (await pollVideo(url, account.secret, taskId)).body.data.status === status)
  await until(() => receiver.delivered.length === 1)
}

/** Of all that the gateway stored, nothing is on its way any more. */
const settled = async ({ gateway, operator }: TestGateway): Promise<Scrape> => {
  let seen = await scrape(gateway.observeUrl)
  await until(async () => {
    seen = await scrape(gateway.observeUrl)
    return (
      seen.value('gateway_holds_open', { purpose: 'allowance' }) === 0 &&
      seen.value('gateway_log_last_sequence') === (await operator.log.lastSequence()) &&
      Object.values(seen.values('gateway_follower_lag_frames')).every((frames) => frames === 0) &&
      Object.values(seen.values('gateway_queue_items')).every((items) => items === 0)
    )
  })
  return seen
}

const plain = { surface: 'chat', model: 'openai/plain', provider: 'openai', deployment: '' }
const of = (model: string, status = ''): string => `deployment=,model=${model},provider=openai,${status}surface=chat`

const sum = (values: Readonly<Record<string, number>>): number =>
  Object.values(values).reduce((all, value) => all + value, 0)

t.test('after a run of every outcome, what a process exports is what was done', async (t) => {
  const running = await start(t)
  const { gateway, operator } = running
  await chatInEveryWay(running)
  await makeVideos(t, running)
  const seen = await settled(running)

  t.match(seen.values('gateway_requests_total'), {
    'status=2xx,surface=chat': 9,
    'status=5xx,surface=chat': 1,
    'status=4xx,surface=chat': 3,
    'status=4xx,surface=none': 1,
    'status=2xx,surface=models': 1,
  })
  t.equal(seen.value('gateway_request_duration_seconds_count', { surface: 'chat' }), 13)
  const stageCounts = seen.values('gateway_request_stage_duration_seconds_count')
  t.same(stageCounts, {
    'stage=admit,surface=chat': 12,
    'stage=route,surface=chat': 12,
    'stage=upstream_first_byte,surface=chat': 15,
    'stage=upstream_whole,surface=chat': 8,
    'stage=closing_ack,surface=chat': 12,
  })
  const openai = { provider: 'openai', kind: 'answer' }
  t.equal(seen.value('gateway_upstream_calls_total', openai), 15, 'five, three twice, and four')
  t.same(seen.values('gateway_upstream_errors_total'), {
    'error=status_5xx,kind=answer,provider=openai': 4,
    'error=refused,kind=answer,provider=openai': 2,
    'error=broken_off,kind=answer,provider=openai': 1,
  })
  t.same(seen.values('gateway_fallbacks_total'), { 'provider=openai': 3 })
  t.same(seen.values('gateway_tasks_settled_total'), { 'outcome=SUCCESS': 1, 'outcome=FAILURE': 1 })
  t.same(seen.values('gateway_callbacks_total'), { 'outcome=delivered': 1 })
  t.ok(seen.value('gateway_upstream_calls_total', { provider: 'vv', kind: 'video' })! >= 4)

  t.same(seen.values('gateway_model_requests_total'), {
    [of('openai/plain', 'status=completed,')]: 8,
    [of('openai/down', 'status=5xx,')]: 1,
    [of('openai/strange', 'status=4xx,')]: 2,
    [of('openai/broken', 'status=interrupted,')]: 1,
  })
  t.same(seen.values('gateway_upstream_duration_seconds_count'), {
    [of('openai/plain', 'status=served,')]: 8,
    [of('openai/down', 'status=failed,')]: 4,
    [of('openai/strange', 'status=failed,')]: 2,
    [of('openai/broken', 'status=served,')]: 1,
  })
  t.same(seen.values('gateway_time_to_first_token_seconds_count'), {
    [of('openai/plain')]: 2,
    [of('openai/broken')]: 1,
  })

  await operator.caughtUp()
  const bills = (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))
  t.same(
    bills.filter(({ firstTokenMs }) => firstTokenMs !== undefined).map(({ model }) => model),
    ['openai/plain', 'openai/plain', 'openai/broken'],
  )
  const tokensOf = (kind: string): number => seen.value('gateway_tokens_total', { ...plain, kind }) ?? 0
  const ofPlain = bills.filter(({ model }) => model === 'openai/plain').map(({ usage }) => usage)
  t.equal(
    tokensOf('input') + tokensOf('cache_read') + tokensOf('cache_write'),
    ofPlain.reduce((all, { promptTotal }) => all + promptTotal, 0),
  )
  t.equal(
    tokensOf('output') + tokensOf('reasoning'),
    ofPlain.reduce((all, { outputTotal }) => all + outputTotal, 0),
  )
  t.equal(
    sum(seen.values('gateway_cost_usd_total')).toFixed(12),
    bills.reduce((all, { total }) => all + Number(total), 0).toFixed(12),
  )

  const own = (await operator.events()).filter(({ source }) => source.startsWith('/gateway/gateway/'))
  t.equal(seen.value('gateway_journal_frame_events_sum'), own.length, 'every event of this process')
  const frames = seen.value('gateway_journal_frame_events_count')
  t.equal(seen.value('gateway_journal_frame_bytes_count'), frames)
  t.equal(seen.value('gateway_journal_append_duration_seconds_count'), frames)

  const wallets = [...operator.tail.ledger.wallets.values()]
  const usdOf = (of: (wallet: (typeof wallets)[number]) => bigint): number =>
    Number(formatUsd(wallets.reduce((all, wallet) => all + of(wallet), 0n)))
  t.same(seen.values('gateway_money_usd'), {
    'state=credits': usdOf(({ creditsPicos }) => creditsPicos),
    'state=charges': usdOf(({ chargesPicos }) => chargesPicos),
    'state=fees': usdOf(({ feesPicos }) => feesPicos),
    'state=adjustments': usdOf(({ adjustmentsPicos }) => adjustmentsPicos),
    'state=lapsed': usdOf(({ lapsedPicos }) => lapsedPicos),
    'state=credit_limit': 0,
    'state=balance': usdOf(balancePicos),
    'state=held': 0,
    'state=available': usdOf(availablePicos),
  })
  t.equal(seen.value('gateway_requests_unfinished'), operator.tail.ledger.openRequests.size)
  t.equal(seen.value('gateway_workspaces'), operator.tail.ledger.accounts.workspaces.size)
  t.equal(sum(seen.values('gateway_tasks_open')), 0)
  t.match(seen.text, /gateway_build_info\{version="\d+\.\d+\.\d+",node="\d+\.[\d.]+",role="gateway"\} 1/)
  t.notMatch(seen.text, /PLANTED|acme|sk-|127\.0\.0\.1/, 'nobody who asked, and nothing that was written')

  t.match(await healthAt(gateway.observeUrl, '/readyz'), { httpStatus: 200, status: 'ready', role: 'gateway' })
  t.match(await healthAt(gateway.observeUrl, '/healthz'), { httpStatus: 200, status: 'ok' })
  t.equal((await fetch(`${gateway.url}/metrics`)).status, 404, 'not on the public port')
})

t.test('what is open now', async (t) => {
  const running = await start(t)
  const { gateway, account } = running
  const leave = new AbortController()
  t.teardown(() => leave.abort())
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    body: chatBody('openai/held', true),
    signal: leave.signal,
  })
  t.equal(response.status, 200)
  await newVideo(gateway.url, account.secret, { prompt: 'A cat. [[never]]' })
  let seen = await scrape(gateway.observeUrl)
  await until(async () => {
    seen = await scrape(gateway.observeUrl)
    return seen.value('gateway_queue_items', { queue: 'tasks', state: 'in_hand' }) === 1
  })
  t.equal(seen.value('gateway_requests_in_flight'), 1)
  t.equal(seen.value('gateway_streams_open'), 1)
  t.ok(seen.value('gateway_connections_open')! >= 1)
  t.equal(seen.value('gateway_requests_unfinished'), 1)
  t.equal(seen.value('gateway_holds_open', { purpose: 'task' }), 1)
  t.equal(seen.value('gateway_holds_usd', { purpose: 'task' }), 0.42)
  t.ok(seen.value('gateway_holds_open', { purpose: 'allowance' })! >= 1)
  t.equal(sum(seen.values('gateway_tasks_open')), 1)
  t.ok(seen.value('gateway_money_usd', { state: 'held' })! > 0.42)

  leave.abort()
  await until(
    async () =>
      (await scrape(gateway.observeUrl)).value('gateway_requests_total', { surface: 'chat', status: 'cut' }) === 1,
  )

  t.test(
    'the dashboard and the documentation name metrics that exist, and the documentation names all of ours',
    async (t) => {
      const parts = /_(?:bucket|sum|count)$/
      const exported = (name: string): boolean => seen.names.has(name) || seen.names.has(name.replace(parts, ''))
      const dashboard = await readFile(new URL('../../../deploy/grafana/gateway.json', import.meta.url), 'utf8')
      const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] }
      const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n')
      const names = new Set(asked.match(/\b(?:gateway|nodejs|process)_\w+/g))
      t.ok(names.size > 20, 'it is full of them')
      t.same(
        [...names].filter((name) => !exported(name)),
        [],
      )
      const documented = new Set(documentationInOrder().flatMap(({ text }) => text.match(/\bgateway_\w+/g) ?? []))
      t.same(
        [...documented].filter((name) => !exported(name)),
        [],
      )
      t.same(
        [...seen.names].filter((name) => name.startsWith('gateway_') && !documented.has(name)),
        [],
      )
    },
  )
})
