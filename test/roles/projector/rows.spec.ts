import { readFile } from 'node:fs/promises'
import pg from 'pg'
import t from 'tap'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'
import {
  adjusted,
  aliasSet,
  checkpointSealed,
  creditExpired,
  credited,
  creditedUntil,
  failed,
  holdPlaced,
  holdReleased,
  interruptedBy,
  keyExpirySet,
  keyIssued,
  keyRevoked,
  lateVerdict,
  limitsSet,
  opened,
  planCancelled,
  planEnded,
  planPublished,
  planRenewed,
  planSubscribed,
  pricePublished,
  routed,
  routerSet,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  used,
  videoPricePublished,
  workspaceChanged,
  workspaceId,
} from './facts.ts'
import { openProjected, type Projected, project } from './projecting.ts'

const postgres = await startPostgres(t)

const newProjected = (): Promise<Projected> => openProjected(t, postgres)

t.test('few rows take few statements, of however many tables they are', async (t) => {
  const [projected, other] = [await newProjected(), await newProjected()]
  const log = new MemoryLog()
  await log.append([opened()])
  await project(log, projected.store, 10_000)
  const { query } = pg.Client.prototype
  let statements = 0
  t.intercept(pg.Client.prototype, 'query', {
    value(this: pg.Client, ...words: readonly unknown[]): unknown {
      statements += 1
      return Reflect.apply(query, this, words)
    },
  })
  const countOf = async (number: number): Promise<number> => {
    const first = log.frames.length
    for (let place = 0; place < number; place += 1)
      await log.append([routed(`request-${first}-${place}`), used(`request-${first}-${place}`)])
    statements = 0
    await project(log, projected.store, 10_000)
    return statements
  }
  const none = await countOf(0)
  t.equal((await countOf(1)) - none, 4, 'begin, checkpoint, rows, commit')
  t.ok((await countOf(300)) - none > 10, 'many rows are copied table by table, as they are made')
  await project(log, other.store, 500)
  t.same(await projected.texts(), await other.texts())
})

t.test('accounts: a workspace is opened once, a revoked key stays listed', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([opened(workspaceId, '5'), opened(workspaceId, '77'), keyIssued('key-1'), keyIssued('key-2')])
  await project(log, store, 500)
  await log.append([keyRevoked('key-1'), keyRevoked('key-unknown')])
  await project(log, store, 500)

  t.same(await rows('workspaces'), [{ workspace_id: 'acme', name: 'The acme company', credit_limit: 5, account: null }])
  t.match(await rows('keys', 'key_id'), [
    { key_id: 'key-1', workspace_id: 'acme', prefix: 'sk-abc', revoked: true },
    { key_id: 'key-2', revoked: false },
  ])
  t.match(await rows('wallets'), [{ workspace_id: 'acme', credit_limit: 5, balance: 0 }])
  t.same(await rows('checkpoint'), [
    {
      ...{ single: true, sequence: 2, first_frame: 'test-writer:1', places_to: 2 },
      ...{ last_frame: 'test-writer:2', last_frame_sequence: 2 },
    },
  ])
  t.same(await rows('writers'), [{ writer: 'test-writer', low: 2, above: [] }])
})

t.test('accounts: a changed workspace, an expiry, a key in the place of another', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  const heir = { ...keyIssued('key-2').data, replaces: 'key-1', expiresAt: '2027-01-01T00:00:00.000Z' }
  await log.postToWallet(workspaceId, [opened(), keyIssued('key-1')])
  await project(log, store, 500)
  await log.postToWallet(workspaceId, [workspaceChanged(), { type: 'KeyIssued', data: heir }, keyExpirySet('key-1')])
  await log.append([workspaceChanged('never-opened')])
  await project(log, store, 500)

  t.same(await rows('workspaces'), [{ workspace_id: 'acme', name: 'The new acme', credit_limit: 7, account: null }])
  t.match(await rows('wallets', 'workspace_id'), [
    { workspace_id: 'acme', credit_limit: 7, subject_sequence: 2 },
    { workspace_id: 'never-opened', credit_limit: 0 },
  ])
  t.match(await rows('keys', 'key_id'), [
    { key_id: 'key-1', revoked: false, expires_at: '2026-04-01T00:00:00+00:00', replaces: null },
    { key_id: 'key-2', expires_at: '2027-01-01T00:00:00+00:00', replaces: 'key-1' },
  ])
})

t.test('aliases and routers: the last word, also that nothing is set any more', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([aliasSet('mini'), aliasSet('large'), routerSet('auto'), routerSet('gone')])
  await project(log, store, 500)
  await log.append([aliasSet('mini', 'openai/a'), aliasSet('mini', 'openai/b'), aliasSet('large', null)])
  await log.append([routerSet('gone', null)])
  await project(log, store, 500)
  t.same(await rows('aliases', 'alias'), [
    { alias: 'large', model: null },
    { alias: 'mini', model: 'openai/b' },
  ])
  t.same(await rows('routers', 'router'), [
    { router: 'auto', candidates: [{ model: 'openai/gpt-4o', weight: 2 }], candidate_order: 'weighted' },
    { router: 'gone', candidates: null, candidate_order: 'weighted' },
  ])
})

t.test('changes: who said what, without hashes and sheets; a credit that moved nothing is none', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  const actor = 'admin:ana'
  await log.postToWallet(workspaceId, [
    { ...opened(), actor },
    { ...credited('invoice-1', '10'), actor },
    credited('invoice-1', '10'),
    holdPlaced('hold-1'),
  ])
  await log.append([{ ...keyIssued('key-1'), actor }, pricePublished('v1'), aliasSet('mini'), routed('request-1')])
  await project(log, store, 500)
  const change = { sequence: 1, workspace_id: 'acme', subject: 'acme', actor, time: '2026-03-01T00:00:01+00:00' }
  const changes = await rows('admin_changes', 'sequence, event_index')
  t.match(changes, [
    { ...change, event_index: 0, type: 'WorkspaceOpened', detail: { creditLimit: '5' } },
    { ...change, event_index: 1, type: 'WalletCredited', detail: { reference: 'invoice-1', amount: '10' } },
    { sequence: 2, event_index: 0, type: 'KeyIssued', detail: { keyId: 'key-1', prefix: 'sk-abc' } },
    { type: 'PricePublished', workspace_id: null, subject: 'openai/gpt-4o-mini', actor: null },
    { type: 'AliasSet', workspace_id: null, subject: 'mini', detail: { model: 'openai/gpt-4o' } },
  ])
  t.equal(changes.length, 5)
  const ids = log.frames.map(({ events }) => events.map(({ id }) => id))
  t.same(
    changes.map(({ event_id }) => event_id),
    changes.map(({ sequence, event_index }) => ids[Number(sequence) - 1]?.[Number(event_index)]),
    'each by the id of its event',
  )
  t.notMatch(JSON.stringify(changes), /sha256|per_million/)
})

t.test('limits: the last that were set, as the fold has them', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.postToWallet(workspaceId, [
    opened(),
    keyIssued('key-1'),
    limitsSet({ requestsPerMinute: 5 }),
    limitsSet({ spend: { day: '1' } }, 'key-1'),
  ])
  await project(log, store, 500)
  await log.postToWallet(workspaceId, [
    limitsSet({ allowedModels: ['openai/€ \n'] }, 'key-1'),
    limitsSet({}, 'key-1', 'other'),
  ])
  await project(log, store, 500)

  t.same(await rows('limits', 'workspace_id, key_id'), [
    { workspace_id: 'acme', key_id: '', limits: { requestsPerMinute: 5 } },
    { workspace_id: 'acme', key_id: 'key-1', limits: { allowedModels: ['openai/€ \n'] } },
    { workspace_id: 'other', key_id: 'key-1', limits: {} },
  ])
})

t.test('what keys spend and hold, by the day of the hold', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog({ timeOf: (sequence) => `2026-03-0${sequence}T23:00:00.000Z` })
  await log.postToWallet(workspaceId, [
    holdPlaced('hold-1', '1', workspaceId, { keyId: 'key-1', day: '2026-03-01' }),
    holdPlaced('hold-2'),
    taskPlaced('task-1', { keyId: 'key-2' }),
  ])
  await project(log, store, 500)
  t.match(await rows('holds', 'hold_id'), [
    { hold_id: 'hold-1', key_id: 'key-1', day: '2026-03-01' },
    { hold_id: 'hold-2', key_id: null, day: null },
    { hold_id: 'task-1', key_id: 'key-2', day: '2026-03-01' },
  ])
  const held = { held_day: 0, held_month: 0, held_total: 0 }
  t.same(await rows('key_spending', 'key_id'), [
    {
      ...{ workspace_id: 'acme', key_id: 'key-1', day: '2026-03-01', spent_day: 0, spent_month: 0, spent_total: 0 },
      ...{ held_day: 1, held_month: 1, held_total: 1 },
    },
    {
      ...{ workspace_id: 'acme', key_id: 'key-2', day: '2026-03-01', spent_day: 0, spent_month: 0, spent_total: 0 },
      ...{ held_day: 0.84, held_month: 0.84, held_total: 0.84 },
    },
  ])
  await log.append([routed('request-1', { allowanceId: 'hold-1' }), used('request-1', { total: '0.01' })])
  await log.append([routed('request-2', { allowanceId: 'hold-2' }), used('request-2', { total: '0.02' })])
  await log.append([taskSettled('task-1')])
  await log.postToWallet(workspaceId, [holdReleased('hold-1')])
  await project(log, store, 500)
  t.match(await rows('key_spending', 'key_id'), [
    { key_id: 'key-1', day: '2026-03-03', spent_day: 0.02, spent_month: 0.03, spent_total: 0.03, ...held },
    { key_id: 'key-2', day: '2026-03-01', spent_day: 0.63, spent_month: 0.63, spent_total: 0.63, ...held },
  ])
})

t.test('tables from before keys were counted are filled as a rebuild fills them', async (t) => {
  const projected = await newProjected()
  const { store, rows } = bound(projected)
  const days = ['2026-02-28', '2026-03-01', '2026-03-02', '2026-03-02', '2026-03-02']
  const log = new MemoryLog({ timeOf: (sequence) => `${days[sequence - 1]}T23:00:00.000Z` })
  for (const id of ['1', '2', '3']) {
    await log.postToWallet(workspaceId, [
      taskPlaced(`task-${id}`, { keyId: id === '3' ? 'key-2' : 'key-1' }),
      holdPlaced(`hold-${id}`),
    ])
  }
  await log.append(
    ['1', '2', '3'].flatMap((id) => [routed(`r-${id}`, { keyId: `key-${id}` }), used(`r-${id}`), failed(`f-${id}`)]),
  )
  await log.append([taskSettled('task-1'), taskFailed('task-3')])
  await project(log, store, 500)
  const [spendings, holds] = [await rows('key_spending', 'key_id'), await rows('holds', 'hold_id')]
  const migration = await readFile(new URL('../../../migrations/0015_limits.sql', import.meta.url), 'utf8')
  await projected.query('delete from key_spending; update holds set key_id = null, day = null')
  for (const statement of migration.split(';').filter((each) => /^\s*(?:update|insert)/m.test(each)))
    await projected.query(statement)
  t.same(await rows('key_spending', 'key_id'), spendings)
  t.same(await rows('holds', 'hold_id'), holds)
  t.equal(spendings.length, 3)
})

t.test('prices: every sheet published stays, with its words', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([
    pricePublished('v1', '2026-01-01T02:00:00+02:00'),
    pricePublished('v2'),
    pricePublished('v1'),
    videoPricePublished('v3'),
  ])
  await project(log, store, 500)

  t.match(await rows('prices', 'event_index'), [
    {
      sequence: 1,
      event_index: 0,
      version: 'v1',
      effective_from: '2026-01-01T00:00:00+00:00',
      published: { effectiveFrom: '2026-01-01T02:00:00+02:00', sheet: { max_output_tokens: 4096 } },
    },
    { event_index: 1, version: 'v2' },
    { event_index: 2, version: 'v1' },
    { event_index: 3, version: 'v3', model: 'vv/v3', published: { video: { unit_price: '0.14' } } },
  ])
})

t.test(
  'plans: the last terms of each, the standing subscription of a workspace, and its fee in the statement',
  async (t) => {
    const { store, rows } = bound(await newProjected())
    const log = new MemoryLog()
    await log.append([
      planPublished('pro'),
      planPublished('free', { price: '0' }),
      planPublished('pro', { price: '30' }),
    ])
    await log.postToWallet(workspaceId, [credited('invoice-1', '100')])
    const periods = ['2026-01-31', '2026-02-28', '2026-03-31'] as const
    await log.postToWallet(workspaceId, [planSubscribed('sub-1', [periods[0], periods[1]])])
    await project(log, store, 500)
    t.match(await rows('plans', 'plan_id'), [
      { plan_id: 'free', published: { price: '0' } },
      { plan_id: 'pro', published: { price: '30', limits: { requestsPerMinute: 60 } } },
    ])
    t.same(await rows('subscriptions'), [
      {
        workspace_id: 'acme',
        subscription_id: 'sub-1',
        terms: planPublished('pro').data,
        starts_at: '2026-01-31T12:00:00+00:00',
        expires_at: '2026-02-28T12:00:00+00:00',
        anchor_day: 31,
        renews: true,
      },
    ])
    t.match(await rows('wallets'), [
      {
        ...{ credits: 105, fees: 20, balance: 85 },
        grants: [
          { reference: 'sub-1@2026-01-31T12:00:00.000Z', remaining: '5', expiresAt: '2026-02-28T12:00:00.000Z' },
        ],
      },
    ])
    await log.postToWallet(workspaceId, [
      creditExpired('sub-1@2026-01-31T12:00:00.000Z', '5'),
      planRenewed('sub-1', [periods[1], periods[2]], { price: '30' }),
      planRenewed('sub-1', [periods[1], periods[2]], { price: '30' }),
      planSubscribed('sub-1', [periods[0], periods[1]]),
      planCancelled('sub-1'),
    ])
    await project(log, store, 500)
    t.match(await rows('subscriptions'), [
      { expires_at: '2026-03-31T12:00:00+00:00', terms: { price: '30' }, anchor_day: 31, renews: false },
    ])
    await log.postToWallet(workspaceId, [planEnded('sub-1')])
    await project(log, store, 500)
    t.same(await rows('subscriptions'), [])
    t.match(await rows('wallets'), [{ credits: 110, fees: 50, lapsed: 5, balance: 55 }])
    t.match(await rows('wallet_entries', 'sequence, event_index, line'), [
      { kind: 'credit', reference: 'invoice-1' },
      { kind: 'fee', line: 0, amount: -20, balance_after: 80, reference: 'sub-1@2026-01-31T12:00:00.000Z' },
      { kind: 'credit', line: 1, amount: 5, balance_after: 85, reference: 'sub-1@2026-01-31T12:00:00.000Z' },
      { kind: 'lapse', amount: -5, balance_after: 80, reference: 'sub-1@2026-01-31T12:00:00.000Z' },
      { kind: 'fee', amount: -30, reference: 'sub-1@2026-02-28T12:00:00.000Z' },
      { kind: 'credit', amount: 5, balance_after: 55 },
    ])
    t.same(
      (await rows('wallet_references', 'reference')).map(({ reference, amount }) => [reference, amount]),
      [
        ['credit:invoice-1', 100],
        ['credit:sub-1@2026-01-31T12:00:00.000Z', 5],
        ['credit:sub-1@2026-02-28T12:00:00.000Z', 5],
        ['subscription:sub-1', 20],
      ],
    )
  },
)

t.test('credits that lapse: what is left of each, in the order in which they are spent', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.postToWallet(workspaceId, [
    creditedUntil('late', '2026-05-01T00:00:00Z', '3'),
    creditedUntil('soon', '2026-04-01T02:00:00+02:00', '1'),
    credited('lasting', '10'),
  ])
  await log.append([routed('request-1'), used('request-1', { total: '1.5' })])
  await project(log, store, 500)
  t.match(await rows('wallets'), [
    { balance: 12.5, grants: [{ reference: 'late', remaining: '2.5', expiresAt: '2026-05-01T00:00:00.000Z' }] },
  ])
  await log.postToWallet(workspaceId, [
    creditExpired('late', '1'),
    creditExpired('late', '9'),
    creditExpired('late', '1'),
  ])
  await project(log, store, 500)
  t.match(await rows('wallets'), [{ balance: 10, lapsed: 2.5, grants: [] }])
})

t.test('wallet: the statement has every movement and the balance after it', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([opened(workspaceId, '5')])
  await log.postToWallet(workspaceId, [credited('invoice-1', '10'), credited('invoice-1', '10'), holdPlaced('hold-1')])
  await log.append([
    routed('request-1', { allowanceId: 'hold-1', reserved: '0.05' }),
    used('request-1', { allowanceId: 'hold-1', total: '0.06' }),
  ])
  await log.postToWallet(workspaceId, [
    adjusted('adjustment-1', '0.06'),
    holdReleased('hold-1'),
    holdReleased('hold-1'),
  ])
  await log.append([routed('request-2', { allowanceId: 'hold-1' }), used('request-2', { allowanceId: 'hold-1' })])
  await project(log, store, 500)

  const statement = await rows('wallet_entries', 'sequence, event_index, line')
  t.match(statement, [
    { sequence: 2, event_index: 0, line: 0, kind: 'credit', amount: 10, held: 0, reference: 'invoice-1' },
    { sequence: 2, event_index: 2, line: 0, kind: 'hold', amount: 0, held: 1, reference: 'hold-1' },
    { sequence: 3, event_index: 1, line: 0, kind: 'charge', amount: -0.05, held: -0.05, reference: 'request-1' },
    { sequence: 3, event_index: 1, line: 1, kind: 'excess', amount: -0.01, held: -0.01, reference: 'request-1' },
    { sequence: 4, event_index: 0, line: 0, kind: 'adjustment', amount: 0.06, held: 0, reference: 'adjustment-1' },
    { sequence: 4, event_index: 1, line: 0, kind: 'release', amount: 0, held: -0.94, reference: 'hold-1' },
    { sequence: 5, event_index: 1, line: 0, kind: 'charge', amount: -0.00055, held: 0, reference: 'request-2' },
  ])
  t.same(
    statement.map(({ balance_after, held_after }) => [balance_after, held_after]),
    [
      [10, 0],
      [10, 1],
      [9.95, 0.95],
      [9.94, 0.94],
      [10, 0.94],
      [10, 0],
      [9.99945, 0],
    ],
  )
  t.same(await rows('wallets'), [
    {
      workspace_id: 'acme',
      credits: 10,
      charges: 0.06055,
      adjustments: 0.06,
      held: 0,
      credit_limit: 5,
      balance: 9.99945,
      subject_sequence: 4,
      fees: 0,
      lapsed: 0,
      grants: [],
    },
  ])
  t.same(await rows('holds'), [])
  t.same(await rows('wallet_references', 'reference'), [
    { workspace_id: 'acme', reference: 'adjustment:adjustment-1', amount: 0.06 },
    { workspace_id: 'acme', reference: 'credit:invoice-1', amount: 10 },
  ])
})

t.test('wallet: an open hold shows what remains of it', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.postToWallet(workspaceId, [holdPlaced('hold-1', '1'), holdPlaced('hold-2', '2')])
  await project(log, store, 500)
  await log.append([routed('request-1', { allowanceId: 'hold-1' }), used('request-1', { total: '0.04' })])
  await project(log, store, 500)

  t.match(await rows('holds', 'hold_id'), [
    { hold_id: 'hold-1', purpose: 'allowance', owner: 'edge-1', amount: 1, remaining: 0.96 },
    { hold_id: 'hold-2', amount: 2, remaining: 2, deadline: '2026-03-01T01:00:00+00:00' },
  ])
})

t.test('stored responses: the first that has an id keeps it, also within a batch', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  const others = { workspaceId: 'other', provider: 'xai' }
  await log.append([
    routed('request-1', { surface: 'responses' }),
    used('request-1', { surface: 'responses', storedResponseId: 'resp-1' }),
    used('request-2', { storedResponseId: 'resp-2' }),
    used('request-3'),
    routed('request-3'),
    routed('request-4', others),
    used('request-4', { ...others, storedResponseId: 'resp-1', outcome: 'interrupted' }),
  ])
  await project(log, store, 500)
  const first = {
    response_id: 'resp-1',
    workspace_id: 'acme',
    provider: 'openai',
    request_id: 'request-1',
    sequence: 1,
  }
  t.same(await rows('stored_responses'), [first], 'one is open, one is kept nowhere, one comes second')

  await log.append([
    routed('request-2'),
    routed('request-5', others),
    used('request-5', { ...others, storedResponseId: 'resp-1' }),
  ])
  await project(log, store, 500)
  t.match(await rows('stored_responses', 'response_id'), [
    first,
    { response_id: 'resp-2', request_id: 'request-2', sequence: 2 },
  ])
})

t.test('requests: one row when both sides are there, in whichever order they came', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([
    routed('request-1', { router: 'auto' }),
    used('request-2'),
    routed('request-3'),
    failed('request-4'),
  ])
  await project(log, store, 500)
  t.match(await rows('open_requests', 'request_id'), [
    { request_id: 'request-1', sequence: 1, closing: null, routed: { type: 'RequestRouted' } },
    { request_id: 'request-2', sequence: 1, routed: null, closing: { type: 'UsageRecorded' } },
    { request_id: 'request-3' },
    { request_id: 'request-4', closing: { type: 'RequestFailed' } },
  ])

  await log.append([used('request-1', { level: 1 }), routed('request-2'), routed('request-4'), used('request-1')])
  await project(log, store, 500)
  t.match(await rows('requests', 'request_id'), [
    {
      request_id: 'request-1',
      sequence: 2,
      event_index: 0,
      first_sequence: 1,
      router: 'auto',
      model: 'gpt-4o-mini',
      stream: true,
      status: 'ok',
      served_model: 'openai/gpt-4o-mini',
      level: 1,
      reserved: 0.05,
      total: 0.00055,
      error_reason: null,
      attempts: [{ outcome: 'served', durationMs: 812 }],
      routed_at: '2026-03-01T00:00:01+00:00',
      closed_at: '2026-03-01T00:00:02+00:00',
    },
    {
      request_id: 'request-2',
      event_index: 1,
      status: 'ok',
      routed_at: '2026-03-01T00:00:02+00:00',
      closed_at: '2026-03-01T00:00:01+00:00',
    },
    { request_id: 'request-4', status: 'failed', error_status: 502, error_reason: 'upstream_error', total: 0 },
  ])
  t.match(await rows('open_requests', 'request_id'), [
    { request_id: 'request-1', routed: null, closing: { data: { level: 0 } } },
    { request_id: 'request-3' },
  ])
})

t.test('outcomes: by hour of the end, and by when the first token came', async (t) => {
  const { store, rows } = bound(await newProjected())
  let said = '2026-03-01T00:59:59.999Z'
  const log = new MemoryLog({ timeOf: () => said })
  await log.append([
    ...[routed('request-1'), used('request-1', { firstTokenMs: 125 })],
    ...[routed('request-2'), used('request-2', { firstTokenMs: 126 })],
    ...[routed('request-3'), failed('request-3'), routed('request-4')],
    ...[routed('request-6'), used('request-6', { outcome: 'interrupted' })],
    ...[routed('request-7'), used('request-7', { outcome: 'client_gone' })],
  ])
  await project(log, store, 2)
  said = '2026-03-01T01:00:00.000Z'
  await log.append([used('request-4', { firstTokenMs: 64_001 }), routed('request-5'), used('request-5')])
  await project(log, store, 500)
  const place = { workspace_id: 'acme', model: 'gpt-4o-mini', key_id: 'key-1' }
  t.match(await rows('outcomes_by_hour', 'hour'), [
    {
      ...{ ...place, hour: '2026-03-01T00:00:00+00:00', requests: 5, failed: 1, interrupted: 1 },
      ...{ first_token_125: 1, first_token_250: 1, first_token_above: 0 },
    },
    { ...place, hour: '2026-03-01T01:00:00+00:00', requests: 2, failed: 0, first_token_125: 0, first_token_above: 1 },
  ])
  t.match(await rows('requests', 'request_id'), [
    ...[{ first_token_ms: 125 }, { first_token_ms: 126 }, { first_token_ms: null }, { first_token_ms: 64_001 }],
    ...[{ status: 'ok', first_token_ms: null }, { status: 'interrupted' }, { status: 'ok' }],
  ])
})

t.test('calls: by hour, provider and deployment, and the last one that failed', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog({ timeOf: (sequence) => `2026-03-01T00:0${sequence}:00.000Z` })
  const attempt = { ...failed('').data.attempts[0]!, deployment: 'us' }
  const passedOver = { ...attempt, outcome: 'passed_over' as const, status: null }
  await log.append([routed('request-1'), used('request-1', { firstTokenMs: 125 }), routed('request-2')])
  await project(log, store, 500)
  await log.append([failed('request-2', { attempts: [passedOver, attempt, { ...attempt, status: 503 }] })])
  await log.append([routed('request-3'), failed('request-3')])
  await log.append([routed('request-4'), used('request-4', interruptedBy('broken_off'))])
  await log.append([routed('request-5'), used('request-5', interruptedBy('shutdown'))])
  await project(log, store, 500)
  const hour = '2026-03-01T00:00:00+00:00'
  t.match(await rows('calls_by_hour', 'deployment'), [
    { hour, provider: 'openai', deployment: '', calls: 1, failed: 1, first_token_125: 0 },
    { hour, provider: 'openai', deployment: 'eu', calls: 3, failed: 1, first_token_125: 1 },
    { hour, provider: 'openai', deployment: 'us', calls: 2, failed: 2, first_token_125: 0 },
  ])
  t.match(await rows('failed_calls', 'deployment'), [
    { deployment: '', at: '2026-03-01T00:03:00+00:00', status: 500, reason: 'server_error' },
    { deployment: 'eu', at: '2026-03-01T00:04:00+00:00', status: 200, reason: 'broken_off' },
    { deployment: 'us', at: '2026-03-01T00:02:00+00:00', status: 503, model: 'openai/gpt-4o-mini' },
  ])
})

t.test(
  'calls: neither what the gateway or its client ended nor what the request is at fault for is a failure',
  async (t) => {
    const { store, rows } = bound(await newProjected())
    const log = new MemoryLog()
    const attempt = { ...failed('').data.attempts[0]!, deployment: 'eu', status: null }
    const ended = (reason: string | null) => ({ ...attempt, reason })
    const attempts = [...[null, 'client_gone', 'deadline', 'shutdown'], 'rate_limited', 'provider_not_configured'].map(
      ended,
    )
    await log.append([routed('request-1'), failed('request-1', { attempts })])
    await project(log, store, 500)
    t.same(await rows('calls_by_hour', 'hour'), [], 'there is no verdict')
    const refused = { ...attempt, status: 422, reason: 'refused' }
    await log.append([routed('request-2'), failed('request-2', { attempts: [refused] })])
    await project(log, store, 500)
    t.match(await rows('calls_by_hour', 'hour'), [{ calls: 1, failed: 0 }])
    t.same(await rows('failed_calls', 'deployment'), [])
    const limited = { ...attempt, status: 429, reason: 'rate_limited' }
    const { attempts: served } = used('').data
    await log.append([routed('request-3'), used('request-3', { firstTokenMs: 125, attempts: [limited, ...served] })])
    await project(log, store, 500)
    const counted = [{ calls: 3, failed: 1, first_token_125: 0 }]
    t.match(await rows('calls_by_hour', 'hour'), counted, 'the time before a second call is not its own')
    t.match(await rows('failed_calls', 'deployment'), [{ status: 429, reason: 'rate_limited' }])
  },
)

t.test('places: what tells of a charge beside its own two events', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([routed('request-1'), used('request-1')])
  await log.postToWallet(workspaceId, [adjusted('adjustment-1'), adjusted('adjustment-1'), holdPlaced('hold-1')])
  await log.postToWallet(workspaceId, [taskPlaced('task-1'), holdReleased('hold-1'), holdReleased('hold-1')])
  await log.append([taskSubmitted('task-1')])
  await log.postToWallet(workspaceId, [holdReleased('task-1')])
  await log.append([lateVerdict('task-1')])
  await project(log, store, 2)

  t.same(
    (await rows('charge_places', 'sequence, event_index')).map((row) => [
      ...[row['charge_id'], row['sequence'], row['event_index'], row['workspace_id']],
    ]),
    [
      ['request-1', 2, 0, 'acme'],
      ['request-1', 2, 1, 'acme'],
      ['task-1', 3, 0, 'acme'],
      ['hold-1', 3, 2, 'acme'],
      ['task-1', 4, 0, 'acme'],
      ['task-1', 5, 0, 'acme'],
      ['task-1', 6, 0, 'acme'],
    ],
    'one that ended nothing could be of a task that had ended',
  )
})

t.test('minutes: the frame in which movements first told each, or a later one', async (t) => {
  const { store, rows } = bound(await newProjected())
  const times = ['12:00:00.000', '12:00:59.999', '12:03:00.000', '12:01:00.000', '12:09:59.000', '12:03:30.000']
  const log = new MemoryLog({ timeOf: (sequence) => `2026-03-01T${times[sequence - 1]}Z` })
  for (const place of times.keys()) await log.postToWallet(workspaceId, [credited(`credit-${place}`)])
  await project(log, store, 2)
  t.same(await rows('movement_minutes', 'minute'), [
    { minute: '2026-03-01T12:00:00+00:00', sequence: 1 },
    { minute: '2026-03-01T12:03:00+00:00', sequence: 3 },
    { minute: '2026-03-01T12:09:00+00:00', sequence: 5 },
  ])
})

t.test('usage: every bill with its lines, and its day', async (t) => {
  const { store, rows } = bound(await newProjected())
  const days = ['2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00.000Z', '2026-03-02T12:00:00.000Z']
  const log = new MemoryLog({ timeOf: (sequence) => days[sequence - 1]! })
  await log.append([routed('request-1'), used('request-1'), routed('request-2'), used('request-2', { total: '1' })])
  await log.append([routed('request-3'), used('request-3'), routed('request-4'), failed('request-4')])
  await project(log, store, 500)
  await log.append([routed('request-5'), used('request-5', { total: '0.5' })])
  await project(log, store, 500)

  t.match(await rows('usage_entries', 'sequence, event_index'), [
    {
      workspace_id: 'acme',
      sequence: 1,
      event_index: 1,
      request_id: 'request-1',
      provider: 'openai',
      price_version: 'v1',
      prompt_total: 120,
      input_uncached: 100,
      cache_read: 20,
      output_total: 30,
      output_reasoning: 10,
      tool_calls: { web_search: 1 },
      source: 'reported',
      outcome: 'completed',
      lines: [{ item: 'input', quantity: 100, unitPrice: '0.0000025', amount: '0.00025' }, { item: 'output' }],
      total: 0.00055,
      time: '2026-03-01T23:59:59.999+00:00',
    },
    { request_id: 'request-2' },
    { request_id: 'request-3' },
    { request_id: 'request-5' },
  ])
  const group = { workspace_id: 'acme', model: 'openai/gpt-4o-mini', key_id: 'key-1', surface: 'chat' }
  t.match(await rows('usage_by_day', 'day'), [
    { ...group, day: '2026-03-01', requests: 2, prompt_total: 240, output_total: 60, total: 1.00055 },
    { ...group, day: '2026-03-02', requests: 2, prompt_total: 240, output_total: 60, total: 0.50055 },
  ])
})

t.test('seals: one row for each size, the first that came behind what it seals, without its leaves', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  const peaks = [Buffer.alloc(32, 1).toString('base64')]
  await log.append([opened(), checkpointSealed(1), checkpointSealed(2)])
  await log.append([checkpointSealed(1, { leaves: Buffer.alloc(32).toString('base64') })])
  await log.append([checkpointSealed(2, { from: 1, peaks }), checkpointSealed(2, { from: 0 }), checkpointSealed(3)])
  await project(log, store, 500)
  await log.append([checkpointSealed(1, { from: 0, note: 'late' })])
  await project(log, store, 500)

  const { note, root } = checkpointSealed(1).data
  t.same(await rows('seals', 'size'), [
    { size: 1, sequence: 2, from_size: 0, root, peaks: [], note },
    { ...checkpointRow(2), sequence: 3, from_size: 1, peaks },
  ])
})

function checkpointRow(size: number) {
  const { note, root } = checkpointSealed(size).data
  return { size, root, note }
}

t.test('a task: its row moves on with it, and ends once with its hold', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet(workspaceId, [credited('invoice-1', '10'), taskPlaced('task-1', { externalTaskId: 'mine' })])
  await project(log, store, 500)
  const ordered = {
    task_id: 'task-1',
    workspace_id: 'acme',
    key_id: 'key-1',
    surface: 'video',
    kind: 'text2video',
    model: 'vv/v3',
    provider: 'vv',
    upstream_model: 'vendor-v3',
    price_version: 'v1',
    unit_price: '0.14',
    units_max: '6',
    held: 0.84,
    external_task_id: 'mine',
    queued_at: '2026-03-01T00:00:02+00:00',
    deadline: '2026-03-02T00:00:00+00:00',
  }
  t.match(await rows('tasks'), [
    { ...ordered, status: 'QUEUED', progress: 0, submitted_at: null, finished_at: null, lines: [], total: 0 },
  ])
  t.match(await rows('holds'), [{ hold_id: 'task-1', purpose: 'task', amount: 0.84, remaining: 0.84 }])
  t.same(await rows('external_tasks'), [
    { workspace_id: 'acme', external_task_id: 'mine', task_id: 'task-1', request_digest: 'ab'.repeat(32) },
  ])

  await log.append([taskSubmitted('task-1'), taskProgressed('task-1', 40), taskProgressed('task-1', 20)])
  await project(log, store, 500)
  const underWay = { ...ordered, vendor_task_id: 'vendor-task-1', submitted_at: '2026-03-01T00:00:03+00:00' }
  t.match(await rows('tasks'), [{ ...underWay, status: 'IN_PROGRESS', progress: 40, finished_at: null }])

  await log.append([taskSettled('task-1')])
  await log.append([taskSettled('task-1', { total: '0.7' }), taskProgressed('task-1', 99)])
  await log.postToWallet(workspaceId, [holdReleased('task-1')])
  await project(log, store, 500)
  t.match(await rows('tasks'), [
    {
      ...underWay,
      status: 'SUCCESS',
      progress: 100,
      started_at: '2026-03-01T00:00:03+00:00',
      finished_at: '2026-03-01T00:00:04+00:00',
      updated_at: '2026-03-01T00:00:04+00:00',
      deduction: '4.5',
      source: 'reported',
      lines: [{ item: 'video', quantity: '4.5', unitPrice: '0.14', amount: '0.63' }],
      total: 0.63,
      results: [{ id: 'video-1', duration: '5.1' }],
    },
  ])
  t.same(await rows('holds'), [])
  t.match(await rows('wallets'), [{ charges: 0.63, held: 0, balance: 9.37 }])
  t.match(await rows('wallet_entries', 'sequence, event_index, line'), [
    { kind: 'credit' },
    { kind: 'hold', held: 0.84, reference: 'task-1' },
    { sequence: 4, line: 0, kind: 'charge', amount: -0.63, held: -0.63, reference: 'task-1' },
    { sequence: 4, line: 1, kind: 'release', amount: 0, held: -0.21, held_after: 0, reference: 'task-1' },
  ])
  t.match(await rows('late_verdicts'), [{ sequence: 5, event_index: 0, event_type: 'TaskSettled', cost: 0.7 }])
  t.same(await rows('task_charges'), [
    {
      ...{ workspace_id: 'acme', sequence: 4, event_index: 0, task_id: 'task-1' },
      ...{ key_id: 'key-1', surface: 'video', model: 'vv/v3' },
    },
  ])
})

t.test('tasks that fail or run out of time cost nothing; the vendor may still say what it likes', async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  await log.postToWallet(
    workspaceId,
    ['task-1', 'task-2', 'task-3'].map((id) => taskPlaced(id)),
  )
  await log.append([taskFailed('task-1', { vendorCode: 1301, failReason: 'nul\u0000' })])
  await log.postToWallet(workspaceId, [holdReleased('task-2', workspaceId, 'expired')])
  await project(log, store, 500)
  await log.append([
    lateVerdict('task-2', { deduction: '4.5', failReason: 'so late' }),
    taskFailed('task-9', { vendorCode: 1e21 }),
  ])
  await project(log, store, 500)

  t.match(await rows('tasks', 'task_id'), [
    { status: 'FAILURE', progress: 100, vendor_code: 1301, fail_reason: 'nul\ue0000000', total: 0 },
    { status: 'FAILURE', vendor_task_id: null, fail_reason: /deadline/, source: null, updated_at: /00:00:03/ },
    { status: 'QUEUED' },
  ])
  t.match(await rows('wallets'), [{ charges: 0, held: 0.84 }])
  t.same(await rows('usage_by_day'), [])
  t.match(await rows('late_verdicts', 'event_index'), [
    {
      sequence: 4,
      event_type: 'LateVerdictSeen',
      workspace_id: 'acme',
      task_id: 'task-2',
      vendor_task_id: 'vendor-task-2',
      outcome: 'SUCCESS',
      deduction: '4.5',
      cost: 0.63,
      fail_reason: 'so late',
      time: '2026-03-01T00:00:04+00:00',
    },
    { event_type: 'TaskSettled', task_id: 'task-9', outcome: 'FAILURE', deduction: null, cost: 0 },
  ])
  t.same(await rows('task_charges'), [])
})

t.test('tasks are in the usage of the day on which they succeeded, once', async (t) => {
  const { store, rows } = bound(await newProjected())
  const days = ['2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00.000Z', '2026-03-02T12:00:00.000Z']
  const log = new MemoryLog({ timeOf: (sequence) => days[sequence - 1]! })
  await log.postToWallet(workspaceId, [
    taskPlaced('task-1'),
    taskPlaced('task-2'),
    taskPlaced('task-3', { surface: 'native-video', keyId: 'key-2' }),
  ])
  await log.append([taskSettled('task-1'), taskSettled('task-1'), taskSettled('task-3', { total: '0.9' })])
  await project(log, store, 500)
  await log.append([taskSettled('task-2'), routed('request-1'), used('request-1')])
  await project(log, store, 500)
  const group = { day: '2026-03-02', workspace_id: 'acme', prompt_total: 0, output_total: 0 }
  t.match(await rows('usage_by_day', 'surface'), [
    { surface: 'chat', requests: 1 },
    { ...group, surface: 'native-video', model: 'vv/v3', key_id: 'key-2', requests: 1, total: 0.9 },
    { ...group, surface: 'video', model: 'vv/v3', key_id: 'key-1', requests: 2, total: 1.26 },
  ])
  t.match(await rows('wallets'), [{ charges: 2.16055 }])
})

t.test("a caller's own id names the last task that the log says, also where it should not say two", async (t) => {
  const { store, rows } = bound(await newProjected())
  const log = new MemoryLog()
  const named = { externalTaskId: 'mine' }
  await log.postToWallet(workspaceId, [taskPlaced('task-1', named), taskPlaced('task-2', named)])
  await log.postToWallet('other', [taskPlaced('task-3', named, 'other')])
  await project(log, store, 500)
  t.match(await rows('external_tasks', 'workspace_id'), [
    { workspace_id: 'acme', task_id: 'task-2' },
    { workspace_id: 'other', task_id: 'task-3' },
  ])
  await log.postToWallet(workspaceId, [taskPlaced('task-4', { ...named, requestDigest: 'ef'.repeat(32) })])
  await project(log, store, 500)
  t.match(await rows('external_tasks', 'workspace_id'), [
    { task_id: 'task-4', request_digest: 'ef'.repeat(32) },
    { task_id: 'task-3' },
  ])
  t.equal((await rows('tasks')).length, 4)
})

function bound(projected: Projected) {
  return {
    store: projected.store,
    rows: (table: Parameters<Projected['rows']>[0], order = '1') => projected.rows(table, order),
  }
}
