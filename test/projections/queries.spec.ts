import t from 'tap'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { type Fact, wrapEvent } from '../../src/events/envelope.ts'
import { selectKeys, selectWorkspaces } from '../../src/projections/accounts/queries.ts'
import { selectFindings } from '../../src/projections/findings.ts'
import { selectPrices } from '../../src/projections/prices/queries.ts'
import { selectLateVerdicts } from '../../src/projections/tasks/late-verdicts.ts'
import { findTask, selectAllTasks, selectTasks } from '../../src/projections/tasks/queries.ts'
import { findWalletFigures } from '../../src/projections/wallets/queries.ts'
import {
  adjusted,
  credited,
  holdPlaced,
  holdReleased,
  keyIssued,
  keyRevoked,
  lateVerdict,
  opened,
  pricePublished,
  routed,
  taskFailed,
  taskPlaced,
  taskSettled,
  taskSubmitted,
  used,
  workspaceId,
} from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

const postgres = await startPostgres(t)
const days = ['2026-03-01T12:00:00.000Z', '2026-03-02T12:00:00.000Z', '2026-03-03T12:00:00.000Z']

const log = new MemoryLog({ timeOf: (sequence) => days[(sequence - 1) % 3]! })
await log.append([
  opened('acme', '5'),
  opened('beta', '0'),
  keyIssued('key-1'),
  keyIssued('key-2'),
  keyRevoked('key-1'),
])
await log.append([pricePublished('v1'), pricePublished('v2', '2026-06-01T00:00:00+02:00', 'openai/nul\u0000 \ud83d')])
await log.postToWallet('acme', [credited('nul\u0000 \ud83d', '100'), holdPlaced('hold-1', '2')])
await log.append([routed('request-1', { allowanceId: 'hold-1', reserved: '1' }), used('request-1', { total: '0.5' })])
await log.append([routed('request-2'), used('request-2', { total: '0.25', surface: 'messages' })])
await log.postToWallet('acme', [adjusted('adjustment-1', '0.25')])
const projected = await openProjected(t, postgres)
await project(log, projected.store, 500)
const { db } = projected.database

t.test('a wallet, in picos', async (t) => {
  t.same(await findWalletFigures(db, 'acme'), {
    workspaceId: 'acme',
    creditsPicos: parseUsd('100'),
    chargedPicos: parseUsd('0.75'),
    feesPicos: 0n,
    adjustmentsPicos: parseUsd('0.25'),
    lapsedPicos: 0n,
    balancePicos: parseUsd('99.5'),
    heldPicos: parseUsd('1.5'),
    creditLimitPicos: parseUsd('5'),
    availablePicos: parseUsd('103'),
  })
  t.equal(await findWalletFigures(db, 'nobody'), undefined)
  t.match(await projected.database.readModels().findBilling('beta'), { sequence: 6, value: { balancePicos: 0n } })
})

t.test('what keeps a month from being closed is listed by tables that come as far as the log', async (t) => {
  const reads = projected.database.readModels()
  t.match(await reads.listUnfinished('2026-03', 6), { sequence: 6, value: [] })
  await t.rejects(reads.listUnfinished('2026-03', 7), { message: 'the tables are at frame 6, and have to come to 7' })
})

t.test('accounts and prices, to the letter', async (t) => {
  t.match(await selectWorkspaces(db), [
    { workspaceId: 'acme', creditLimitPicos: parseUsd('5') },
    { workspaceId: 'beta', name: 'The beta company' },
  ])
  t.match(await selectKeys(db, 'acme'), [
    { keyId: 'key-1', revoked: true },
    { keyId: 'key-2', revoked: false },
  ])
  t.same(await selectKeys(db, 'beta'), [])
  t.match(await selectPrices(db), [
    { model: 'openai/gpt-4o-mini', version: 'v1' },
    { model: 'openai/nul\u0000 \ud83d', effectiveFrom: '2026-06-01T00:00:00+02:00' },
  ])
})

t.test('tasks', async (t) => {
  const log = new MemoryLog()
  const strange = 'nul\u0000 \ud83d'
  await log.postToWallet('acme', [
    taskPlaced('task-1', { model: strange, externalTaskId: strange, unitPrice: '0.140' }),
  ])
  await log.postToWallet('acme', [taskPlaced('task-2'), taskPlaced('task-3', { kind: 'omni-video' })])
  await log.postToWallet('beta', [taskPlaced('task-4', {}, 'beta')])
  await log.append([taskSubmitted('task-2'), taskSettled('task-1', { deduction: '4.50', vendorCode: -1 })])
  await log.postToWallet('acme', [holdReleased('task-2', 'acme', 'expired')])
  await log.append([lateVerdict('task-2', { cost: '0.7' }), taskSettled('task-2'), taskSettled('task-9')])
  const projected = await openProjected(t, postgres)
  await project(log, projected.store, 500)
  const { db } = projected.database
  const ids = async (kind: 'text2video' | 'omni-video', page: number, pageSize: number) =>
    (await selectTasks(db, 'acme', kind, { page, pageSize })).map(({ taskId }) => taskId)

  const listed = await selectAllTasks(db, 'acme', { limit: 10 })
  const found = (id: string) => listed.find(({ taskId }) => taskId === id)
  t.same(found('task-1'), {
    taskId: 'task-1',
    workspaceId: 'acme',
    keyId: 'key-1',
    surface: 'video',
    kind: 'text2video',
    model: strange,
    provider: 'vv',
    upstreamModel: 'vendor-v3',
    priceVersion: 'v1',
    unitPrice: '0.140',
    unitsMax: '6',
    externalTaskId: strange,
    requestDigest: 'ab'.repeat(32),
    payloadDigest: 'cd'.repeat(32),
    held: '0.84',
    queuedMs: Date.parse('2026-03-01T00:00:01Z'),
    deadlineMs: Date.parse('2026-03-02T00:00:00Z'),
    vendorTaskId: 'vendor-task-1',
    status: 'SUCCESS',
    progress: 100,
    submittedMs: null,
    startedMs: null,
    finishedMs: Date.parse('2026-03-01T00:00:04Z'),
    updatedMs: Date.parse('2026-03-01T00:00:04Z'),
    failReason: null,
    vendorCode: -1,
    deduction: '4.50',
    source: 'reported',
    lines: [{ item: 'video', quantity: '4.5', unitPrice: '0.14', amount: '0.63' }],
    total: '0.63',
    results: [{ id: 'video-1', url: 'https://vendor.example/1.mp4?sign=a', duration: '5.1' }],
  })
  t.match(found('task-2'), { status: 'FAILURE', total: '0', failReason: /deadline/ })
  t.same(await findTask(db, 'acme', 'task-1'), { taskId: 'task-1', sequences: [1, 4] })
  t.same(await findTask(db, 'acme', 'task-2'), { taskId: 'task-2', sequences: [2, 4, 5, 6, 6] })
  t.equal(await findTask(db, 'acme', 'task-4'), null, "another workspace's")
  t.equal(await findTask(db, 'acme', 'task-9'), null)

  t.same(await ids('text2video', 1, 30), ['task-2', 'task-1'], 'newest first')
  t.same(await ids('text2video', 2, 1), ['task-1'])
  t.same(await ids('text2video', 3, 1), [])
  t.same(await ids('omni-video', 1, 30), ['task-3'])

  const verdicts = await selectLateVerdicts(db)
  t.match(verdicts, [
    {
      sequence: 6,
      eventIndex: 0,
      eventType: 'LateVerdictSeen',
      taskId: 'task-2',
      deduction: null,
      costPicos: parseUsd('0.7'),
      time: new Date('2026-03-01T00:00:06Z'),
    },
    { eventIndex: 1, eventType: 'TaskSettled', taskId: 'task-2', costPicos: parseUsd('0.63'), deduction: '4.5' },
    { eventIndex: 2, eventType: 'TaskSettled', taskId: 'task-9', vendorTaskId: 'vendor-task-9' },
  ])
  t.same(await selectLateVerdicts(db, verdicts[0]), verdicts.slice(1))
})

t.test('a verdict that several pollers recorded is found once, and not at all where it was charged', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet('acme', [taskPlaced('charged'), taskPlaced('late'), taskPlaced('failed')])
  await log.append([taskSettled('charged'), taskSettled('charged'), taskFailed('failed'), taskFailed('failed')])
  await log.postToWallet('acme', [holdReleased('late', 'acme', 'expired')])
  const verdict = lateVerdict('late', { deduction: '4.5' })
  await log.append([verdict, verdict, taskSettled('late')])
  await log.append([lateVerdict('failed', { deduction: '3', cost: '0.42' })])
  await log.append([taskSettled('charged', { deduction: '5', total: '0.7' }), lateVerdict('late')])
  const projected = await openProjected(t, postgres)
  await project(log, projected.store, 500)
  const wanted = { workspaceId: null, overdueBefore: new Date(0), limit: 10 }
  const { findings } = await selectFindings(projected.database.db, wanted)
  t.same(
    findings.map(({ kind, id, amountPicos }) => [kind, id, formatUsd(amountPicos)]),
    [
      ['late_verdict', 'late', '0.63'],
      ['late_verdict', 'charged', '0.7'],
      ['late_verdict', 'failed', '0.42'],
      ['late_verdict', 'late', '0.63'],
    ],
    'another figure is another verdict',
  )
})

t.test(
  'an estimate and a correction are found behind any number of bills, by their workspace and by everybody',
  async (t) => {
    const log = new MemoryLog()
    const belowZero = { ...used('').data.usage, negative: { prompt_tokens: -5, completion_tokens: -1 } }
    await log.append([opened('acme'), opened('beta')])
    await log.append([routed('request-1'), used('request-1', { source: 'estimated', total: '0.5' })])
    await log.append([
      routed('request-2'),
      used('request-2', { total: '0.1', plausible: false, usage: belowZero, unpriced: ['service_tier'] }),
      routed('request-3'),
      used('request-3', { total: '0.2', unpriced: ['service_tier'] }),
    ])
    await log.postToWallet('acme', [taskPlaced('task-1', {}, 'acme')])
    await log.append([taskSettled('task-1', { source: 'estimated', plausible: false, deduction: '999999999' })])
    await log.postToWallet('acme', [taskPlaced('task-2', {}, 'acme')])
    const { deduction: _none, ...undeducted } = taskSettled('task-2', { source: 'estimated' }).data
    await log.append([{ type: 'TaskSettled', data: undeducted }])
    await log.postToWallet('acme', [adjusted('adjustment-1', '0.25')])
    const projected = await openProjected(t, postgres)
    await project(log, projected.store, 500)
    await projected.query(`
    create temp table bill as select * from usage_entries;
    delete from bill where request_id <> 'request-1';
    update bill set source = 'reported';
    insert into usage_entries
    select (jsonb_populate_record(bill, jsonb_build_object('sequence', 1000 + i))).* from bill, generate_series(1, 10100) i`)
    const wanted = { overdueBefore: new Date(0), limit: 10 }
    const acme = await selectFindings(projected.database.db, { ...wanted, workspaceId: 'acme' })
    t.match(acme, {
      isComplete: true,
      findings: [
        {
          kind: 'adjustment',
          workspaceId: 'acme',
          id: 'adjustment-1',
          amountPicos: parseUsd('0.25'),
          detail: 'undelivered',
        },
        { kind: 'estimated_charge', workspaceId: 'acme', id: 'task-2', amountPicos: parseUsd('0.63') },
        { kind: 'implausible_deduction', id: 'task-1', amountPicos: parseUsd('0.63'), detail: '999999999 units' },
        {
          kind: 'unpriced_tier',
          id: 'request-3',
          amountPicos: parseUsd('0.2'),
          detail: 'openai/gpt-4o-mini: 120 tokens in, 30 out',
        },
        {
          kind: 'implausible_usage',
          id: 'request-2',
          amountPicos: parseUsd('0.1'),
          detail: 'openai/gpt-4o-mini: 120 tokens in, 30 out; prompt_tokens -5, completion_tokens -1',
        },
        { kind: 'estimated_charge', workspaceId: 'acme', id: 'request-1', amountPicos: parseUsd('0.5') },
      ],
    })
    t.same(await selectFindings(projected.database.db, { ...wanted, workspaceId: null }), acme)
    t.same((await selectFindings(projected.database.db, { ...wanted, workspaceId: 'beta' })).findings, [])
  },
)

const minute = (seconds: number): string => new Date(Date.parse('2026-03-01T00:00:00Z') + seconds * 1_000).toISOString()

t.test(
  'charges of the last minute of an edge that ended without a shutdown are found until they are settled',
  async (t) => {
    const log = new MemoryLog()
    let counter = 0
    const write = (writer: string, seconds: number, ...facts: readonly Fact[]): void => {
      counter += 1
      const events = facts.map((fact, n) =>
        wrapEvent(fact, `event-${counter}-${n}`, `/gateway/edge/${writer}`, minute(seconds)),
      )
      const isWallet = facts.some(({ type }) => type.startsWith('Hold') || type === 'AdjustmentPosted')
      log.store({ walletSubject: isWallet ? workspaceId : null, writer: `${writer}-${counter}`, counter: 1, events })
    }
    const place = (holdId: string, owner: string): Fact => {
      const { type, data } = holdPlaced(holdId, '1')
      return { type, data: { ...data, owner } }
    }
    const serve = (edge: string, seconds: number, requestId: string, total = '0.01'): void => {
      write(edge, seconds, routed(requestId, { allowanceId: `hold-${edge}` }))
      write('proxy', seconds, used(requestId, { total }))
    }
    write('admin', 0, opened(workspaceId))
    for (const edge of ['killed', 'stopped', 'slow']) write(edge, 0, place(`hold-${edge}`, edge))
    serve('killed', 10, 'long-before')
    for (const edge of ['killed', 'stopped', 'slow']) serve(edge, 100, `${edge}-1`)
    serve('killed', 101, 'free', '0')
    serve('killed', 102, 'refunded')
    write('killed', 120, routed('late', { allowanceId: 'hold-killed' }))
    write('stopped', 121, holdReleased('hold-stopped', workspaceId, 'returned'))
    write('proxy', 125, used('late', { total: '0.02' }))
    for (const edge of ['killed', 'slow'])
      write('scheduler', 1_500, holdReleased(`hold-${edge}`, workspaceId, 'expired'))
    serve('slow', 1_600, 'slow-2')
    const { type, data } = adjusted('undelivered:refunded', '0.01')
    write('edge', 1_700, { type, data: { ...data, corrects: 'refunded' } })

    const [small, large] = [await openProjected(t, postgres), await openProjected(t, postgres)]
    await project(log, small.store, 1)
    await project(log, large.store, 500)
    t.same(await small.texts(), await large.texts())
    const wanted = { workspaceId: null, overdueBefore: new Date(0), limit: 10 }
    const { findings } = await selectFindings(large.database.db, wanted)
    t.match(
      findings.filter(({ kind }) => kind === 'unknown_delivery'),
      [
        {
          id: 'late',
          amountPicos: parseUsd('0.02'),
          time: new Date(minute(125)),
          detail: `edge last seen ${minute(120)}`,
          isSettled: false,
        },
        { id: 'refunded', isSettled: true },
        { id: 'killed-1', workspaceId, amountPicos: parseUsd('0.01') },
      ],
    )
    t.equal(findings.filter(({ kind }) => kind === 'unknown_delivery').length, 3)
  },
)
