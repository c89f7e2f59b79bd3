import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { collectEvidence } from '../../src/audit/collect-evidence.ts'
import { explainCharge } from '../../src/audit/explain-charge.ts'
import type { Explanation, RequestExplanation, TaskExplanation } from '../../src/audit/explanation.ts'
import { readEvidence } from '../../src/audit/read-evidence.ts'
import { explanationText } from '../../src/cli/explanation-text.ts'
import { formatUsd } from '../../src/domain/money.ts'
import { chargeFor } from '../../src/domain/pricing/charge.ts'
import type { FactOf } from '../../src/events/envelope.ts'
import type { PriceSheet, TaskSettled, Usage, UsageRecorded } from '../../src/events/types.ts'
import {
  adjusted,
  checkpointSealed,
  credited,
  failed,
  holdPlaced,
  holdReleased,
  keyIssued,
  opened,
  pricePublished,
  routed,
  sheet,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  used,
  videoPricePublished,
  workspaceId,
} from '../roles/projector/facts.ts'
import { histories, logOf } from '../roles/projector/history.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { propertyRuns } from '../support/property-runs.ts'

const explainFrom = async <T extends Explanation>(log: MemoryLog, id: string): Promise<T> => {
  const explained = explainCharge(await collectEvidence({ frames: log, to: log.frames.length }, id))
  if (explained === null) throw new Error(`nothing is explained of ${id}`)
  return explained as T
}

const openedLog = async (): Promise<MemoryLog> => {
  const log = new MemoryLog()
  await log.append([opened(), keyIssued('key-1'), pricePublished('v1')])
  await log.postToWallet(workspaceId, [credited('first', '10'), holdPlaced('hold-1', '2')])
  return log
}

/** A bill as the sheet of these tests makes it. */
const billed = (requestId: string, changes: Partial<UsageRecorded> = {}): FactOf<'UsageRecorded'> => {
  const usage = { ...used('').data.usage, toolCalls: {} }
  const { lines, totalPicos } = chargeFor(sheet, usage)
  return used(requestId, { usage, lines: [...lines], total: formatUsd(totalPicos), ...changes })
}

t.test('a request that was served in another tier or region says which, and at which rates', async (t) => {
  const tiered: PriceSheet = {
    ...sheet,
    service_tiers: { flex: { per_million_tokens: { input: '1.25', output: '5' } } },
    region_multipliers: { us: '1.1' },
  }
  const log = await openedLog()
  await log.append([{ type: 'PricePublished', data: { ...pricePublished('v2').data, sheet: tiered } }])
  const charge = async (requestId: string, servedWith: Partial<Usage>): Promise<void> => {
    const usage = { ...used('').data.usage, ...servedWith, toolCalls: {} }
    const { lines, totalPicos } = chargeFor(tiered, usage)
    await log.append([
      routed(requestId),
      used(requestId, { usage, lines: [...lines], total: formatUsd(totalPicos), priceVersion: 'v2' }),
    ])
  }
  await charge('flex', { serviceTier: 'flex', inferenceGeo: 'us', cacheWrite12h: 5 })
  const flex = await explainFrom<RequestExplanation>(log, 'flex')
  t.match(flex.usage, { service_tier: 'flex', inference_geo: 'us', cache_write_12h: 5 })
  t.match(flex.price, { per_million_tokens: { input: '1.25' }, service_tier: 'flex', region_multiplier: '1.1' })
  t.equal(flex.charge?.recomputed.equal, true)
  t.match(
    explanationText(flex, 0),
    /USD per million tokens \(of the service tier flex, × 1.1 for the region\): input 1.25/,
  )
  await charge('scale', { serviceTier: 'scale', inferenceGeo: 'eu' })
  const scale = await explainFrom<RequestExplanation>(log, 'scale')
  t.match(scale.price, {
    per_million_tokens: { input: '2.5' },
    unpriced: { service_tier: 'scale', inference_geo: 'eu' },
  })
  t.match(
    explanationText(scale, 0),
    /served with service_tier scale, inference_geo eu, which the sheet has no price for/,
  )
})

t.test('a deduction that cannot be: what was held is charged, and recomputed so', async (t) => {
  const log = await openedLog()
  await log.append([videoPricePublished('video-1')])
  await log.postToWallet(workspaceId, [taskPlaced('task-1', { priceVersion: 'video-1' })])
  await log.append([taskSubmitted('task-1')])
  const lines = [{ item: 'video', quantity: '6', unitPrice: '0.14', amount: '0.84' }]
  const held = { lines, total: '0.84', source: 'estimated', plausible: false, deduction: '999999999' } as const
  await log.append([taskSettled('task-1', { ...held, lines })])
  const explained = await explainFrom<TaskExplanation>(log, 'task-1')
  t.match(explained.charge?.recomputed, { total: '0.84', difference: '0' })
})

t.test('a usage that cannot be: the reservation is charged, and recomputed so', async (t) => {
  const log = await openedLog()
  const usage = { ...used('').data.usage, promptTotal: 1e15, toolCalls: {} }
  const lines = [{ item: 'reservation', quantity: 1, unitPrice: '0.5', amount: '0.5' }]
  const bill = { usage, lines, total: '0.5', reserved: '0.5', plausible: false }
  await log.append([routed('request-1', { reserved: '0.5' }), used('request-1', bill)])
  const explained = await explainFrom<RequestExplanation>(log, 'request-1')
  t.match(explained, { usage: { plausible: false, prompt_total: 1e15 }, charge: { recomputed: { equal: true } } })
  t.match(explanationText(explained, 0), /which cannot be: the reservation is charged until an operator confirms it/)
})

t.test('a usage with figures below zero says which', async (t) => {
  const log = await openedLog()
  const usage = { ...used('').data.usage, toolCalls: {}, negative: { 'prompt_tokens_details.cached_tokens': -7 } }
  await log.append([routed('request-1'), used('request-1', { usage, lines: [], total: '0', plausible: false })])
  const explained = await explainFrom<RequestExplanation>(log, 'request-1')
  t.match(explained.usage, { negative: { 'prompt_tokens_details.cached_tokens': -7 } })
  t.match(
    explanationText(explained, 0),
    'reported below zero, and counted as 0: prompt_tokens_details.cached_tokens -7',
  )
})

t.test('an answer that was left says how much thinking is estimated, and from what', async (t) => {
  const log = await openedLog()
  const estimate = { hiddenTokens: 120, thinkingMs: 3_000, tokensPerMinute: 2_400 }
  for (const basis of ['observed', 'default'] as const)
    await log.append([routed(basis), billed(basis, { source: 'estimated', estimate: { ...estimate, basis } })])
  const observed = await explainFrom<RequestExplanation>(log, 'observed')
  t.same(observed.usage?.estimate, {
    hidden_tokens: 120,
    thinking_ms: 3_000,
    tokens_per_minute: 2_400,
    basis: 'observed',
  })
  t.match(
    explanationText(observed, 0),
    "of it 120 tokens are estimated thinking that was not shown: 3000 ms at 2400 tokens a minute (the model's last streams)",
  )
  const byDefault = await explainFrom<RequestExplanation>(log, 'default')
  t.match(explanationText(byDefault, 0), /a minute \(the default of a model not observed yet\)/)
})

t.test('a request that was charged, in full', async (t) => {
  const log = await openedLog()
  await log.append([routed('request-1', { allowanceId: 'hold-1', reserved: '0.0005' })])
  await log.append([billed('request-1', { allowanceId: 'hold-1' })])
  await log.append([checkpointSealed(4)])
  t.same(await explainFrom(log, 'request-1'), {
    object: 'charge',
    id: 'request-1',
    kind: 'request',
    state: 'charged',
    workspace: 'acme',
    key: { id: 'key-1', name: 'key key-1', prefix: 'sk-abc' },
    asked: {
      at: '2026-03-01T00:00:03.000Z',
      surface: 'chat',
      model: 'gpt-4o-mini',
      router: null,
      stream: true,
      output_cap: null,
      deadline: '2026-03-01T00:10:00.000Z',
    },
    plan: [{ model: 'openai/gpt-4o-mini', provider: 'openai', upstream_model: 'gpt-4o-mini', price_version: 'v1' }],
    attempts: [
      {
        model: 'openai/gpt-4o-mini',
        provider: 'openai',
        outcome: 'served',
        status: 200,
        reason: null,
        duration_ms: 812,
        deployment: 'eu',
        upstream_request_id: 'req_1',
      },
    ],
    ended: {
      at: '2026-03-01T00:00:04.000Z',
      served: { level: 0, model: 'openai/gpt-4o-mini', provider: 'openai' },
      outcome: 'completed',
      status: null,
    },
    usage: {
      source: 'reported',
      prompt_total: 120,
      input_uncached: 100,
      cache_read: 20,
      cache_read_audio: 0,
      cache_read_image: 0,
      cache_write_5m: 0,
      cache_write_1h: 0,
      cache_write_12h: 0,
      input_audio: 0,
      input_image: 0,
      output_total: 30,
      output_reasoning: 10,
      output_audio: 0,
      output_image: 0,
      tool_calls: {},
    },
    price: {
      model: 'openai/gpt-4o-mini',
      version: 'v1',
      effective_from: '2026-01-01T00:00:00Z',
      source: 'https://example.com/prices',
      sequence: 1,
      per_million_tokens: { input: '2.5', output: '10' },
      prompt_tokens_above: null,
      per_call: {},
      unit_price: null,
    },
    charge: {
      lines: [
        { item: 'input', quantity: 100, unit_price: '0.0000025', amount: '0.00025' },
        { item: 'cached_input', quantity: 20, unit_price: '0.0000025', amount: '0.00005' },
        { item: 'output', quantity: 20, unit_price: '0.00001', amount: '0.0002' },
        { item: 'reasoning', quantity: 10, unit_price: '0.00001', amount: '0.0001' },
      ],
      total: '0.0006',
      recomputed: { equal: true, total: '0.0006', difference: '0', findings: [] },
    },
    reservation: { reserved: '0.0005', allowance: 'hold-1', beyond: '0.0001' },
    wallet: [
      {
        ...{ at: '2026-03-01T00:00:04.000Z', sequence: 4, event_index: 0, line: 0, kind: 'charge' },
        ...{ amount: '-0.0005', held: '-0.0005', balance_before: '10', balance_after: '9.9995' },
        ...{ held_before: '2', held_after: '1.9995' },
      },
      {
        ...{ at: '2026-03-01T00:00:04.000Z', sequence: 4, event_index: 0, line: 1, kind: 'excess' },
        ...{ amount: '-0.0001', held: '-0.0001', balance_before: '9.9995', balance_after: '9.9994' },
        ...{ held_before: '1.9995', held_after: '1.9994' },
      },
    ],
    adjustments: [],
    net: '0.0006',
    events: [
      {
        ...{ sequence: 3, event_index: 0, at: '2026-03-01T00:00:03.000Z', type: 'RequestRouted' },
        ...{ id: '00000000-0000-7000-8000-000000000006', source: '/gateway/test/test-writer' },
        ...{ counts: true, sealed_by: 4 },
      },
      {
        ...{ sequence: 4, event_index: 0, at: '2026-03-01T00:00:04.000Z', type: 'UsageRecorded' },
        ...{ id: '00000000-0000-7000-8000-000000000007', source: '/gateway/test/test-writer' },
        ...{ counts: true, sealed_by: 4 },
      },
    ],
    proof: { sequence: 4, checkpoint: { size: 4, sequence: 5 }, command: 'gateway prove request-1' },
    log_sequence: 5,
    complete: true,
  })
})

t.test('a bill that does not follow from its usage and its sheet', async (t) => {
  const bill = billed('').data
  const [input, ...others] = bill.lines
  const cases: readonly (readonly [what: string, changes: Partial<UsageRecorded>, expected: object])[] = [
    [
      'a line whose product is another',
      { lines: [{ ...input!, amount: '0.00026' }, ...others], total: '0.00061' },
      {
        ...{ equal: false, total: '0.0006', difference: '0.00001' },
        findings: [
          'input: 100 × 0.0000025 = 0.00026 is 0.00025',
          'the bill has input: 100 × 0.0000025 = 0.00026',
          'the price sheet gives input: 100 × 0.0000025 = 0.00025',
        ],
      },
    ],
    [
      'a total that is no sum',
      { total: '0.0007' },
      { equal: false, difference: '0.0001', findings: ['the lines add up to 0.0006, not to 0.0007'] },
    ],
    [
      'a price of its own',
      { lines: [{ ...input!, unitPrice: '0.000003', amount: '0.0003' }, ...others], total: '0.00065' },
      { equal: false, difference: '0.00005', findings: { length: 2 } },
    ],
    ['a line that lacks', { lines: others, total: '0.00035' }, { equal: false, difference: '-0.00025' }],
    [
      'a sheet that nobody published',
      { priceVersion: 'v7' },
      { equal: null, total: null, difference: null, findings: ['no price sheet v7 was published'] },
    ],
    ['which does not hide a slip', { priceVersion: 'v7', total: '1' }, { equal: false, findings: { length: 2 } }],
  ]
  for (const [what, changes, expected] of cases) {
    const log = await openedLog()
    await log.append([routed('request-1'), billed('request-1', changes)])
    const explained = await explainFrom<RequestExplanation>(log, 'request-1')
    t.match(explained.charge?.recomputed, expected, what)
    t.match(
      explanationText(explained, 0),
      explained.charge?.recomputed.equal === null ? /recomputed: not possible/ : /recomputed: /,
    )
  }
})

t.test('tiers and tools: the rates that were used', async (t) => {
  const rates = { input: '5', output: '20' }
  const tiered = {
    ...sheet,
    tiers: [{ prompt_tokens_above: 100, per_million_tokens: rates }],
    per_call: { web_search: '0.01', other: '1' },
  }
  const log = await openedLog()
  const published = pricePublished('v2')
  await log.append([{ ...published, data: { ...published.data, sheet: tiered } }])
  const { usage } = used('').data
  const { lines, totalPicos } = chargeFor(tiered, usage)
  const total = formatUsd(totalPicos)
  await log.append([routed('request-1'), used('request-1', { priceVersion: 'v2', lines: [...lines], total })])
  const explained = await explainFrom<RequestExplanation>(log, 'request-1')
  t.match(explained.price, { per_million_tokens: rates, prompt_tokens_above: 100, per_call: { web_search: '0.01' } })
  t.same(explained.price?.per_call, { web_search: '0.01' })
  t.equal(explained.charge?.recomputed.equal, true)
  t.match(
    explanationText(explained, 0),
    /USD per million tokens \(of prompts above 100 tokens\): input 5, output 20[\s\S]*web_search 0\.01/,
  )
})

t.test('what counts, and what came when all was said', async (t) => {
  const log = await openedLog()
  await log.append([billed('request-1')])
  t.match(await explainFrom(log, 'request-1'), { state: 'open', asked: null, wallet: [], net: '0' })
  t.match(explanationText(await explainFrom(log, 'request-1'), 0), /is still open[\s\S]*not yet the request/)
  await log.append([routed('request-1')])
  log.store(log.frames.at(-2)!)
  await log.append([failed('request-1')])
  await log.postToWallet(workspaceId, [
    adjusted('a-1', '0.0001'),
    adjusted('a-1', '0.0001'),
    adjusted('a-2', '-0.00003'),
  ])
  const explained = await explainFrom<RequestExplanation>(log, 'request-1')
  t.match(explained, { state: 'charged', net: '0.00053', adjustments: [{ amount: '0.0001' }, { amount: '-0.00003' }] })
  t.same(
    explained.events.map(({ sequence, type, counts }) => [sequence, type, counts]),
    [
      [3, 'UsageRecorded', true],
      [4, 'RequestRouted', true],
      [6, 'RequestFailed', false],
      [7, 'AdjustmentPosted', true],
      [7, 'AdjustmentPosted', false],
      [7, 'AdjustmentPosted', true],
    ],
  )
  t.match(explained.wallet, [{ kind: 'charge', sequence: 4 }, { kind: 'adjustment' }, { kind: 'adjustment' }])
  t.equal(explained.proof.checkpoint, null)
  t.match(explanationText(explained, 0), /frame 3 is not sealed yet/)
})

t.test('an id that only a correction names is the id of nothing', async (t) => {
  const log = await openedLog()
  await log.postToWallet(workspaceId, [adjusted('a-1')])
  t.equal(explainCharge(await collectEvidence({ frames: log, to: 3 }, 'request-1')), null)
  t.equal(explainCharge(await collectEvidence({ frames: log, to: 3 }, 'hold-1')), null, 'neither is an allowance')
})

const version = 'v9'
const held = '1.4'
const settled = (changes: Partial<TaskSettled> = {}): FactOf<'TaskSettled'> =>
  taskSettled('task-1', { priceVersion: version, held, ...changes })

const taskLog = async (end: readonly (FactOf<'TaskSettled'> | FactOf<'HoldReleased'>)[], unitPrice = '0.14') => {
  const log = await openedLog()
  await log.append([videoPricePublished(version, 'vv/v3', unitPrice)])
  await log.postToWallet(workspaceId, [
    taskPlaced('task-1', { priceVersion: version, unitsMax: '10' }, workspaceId, held),
  ])
  await log.append([taskSubmitted('task-1')])
  if (end.length > 0) await log.append([...end])
  return log
}

t.test('tasks, however they end', async (t) => {
  const beyond = {
    ...{ deduction: '12', total: '1.68' },
    lines: [{ item: 'video', quantity: '12', unitPrice: '0.14', amount: '1.68' }],
  }
  const estimated = {
    ...{ source: 'estimated' as const, total: '1.4' },
    lines: [{ item: 'video', quantity: '10', unitPrice: '0.14', amount: '1.4' }],
  }
  const { deduction: _told, ...untold } = settled(estimated).data
  const failure = { priceVersion: version, held, failReason: 'the prompt is odd', vendorCode: 1301 }
  const cases: readonly (readonly [what: string, Parameters<typeof taskLog>[0], expected: object])[] = [
    ['in success', [settled()], { state: 'charged', net: '0.63', ended: { given_back: '0.77', beyond: '0' } }],
    [
      'beyond its hold',
      [settled(beyond)],
      {
        net: '1.68',
        ended: { given_back: '0', beyond: '0.28' },
        wallet: [{}, { kind: 'charge' }, { kind: 'excess' }, {}],
      },
    ],
    [
      'without a figure of the vendor',
      [{ type: 'TaskSettled', data: untold }],
      { charge: { recomputed: { equal: true } }, ended: { source: 'estimated', deduction: null } },
    ],
    [
      'in failure',
      [taskFailed('task-1', failure)],
      {
        ...{ state: 'failed', net: '0', charge: { total: '0', recomputed: { equal: true } } },
        ended: { reason: 'the prompt is odd', vendor_code: 1301, given_back: '1.4' },
      },
    ],
    [
      'at the deadline, and the vendor was late',
      [holdReleased('task-1', workspaceId, 'expired'), settled()],
      { state: 'given_back', charge: null, net: '0', ended: { given_back: '1.4' }, late_verdicts: [{ cost: '0.63' }] },
    ],
    [
      'in success, as two pollers recorded, and then with another figure',
      [settled(), settled(), settled(beyond), settled(beyond)],
      { state: 'charged', net: '0.63', late_verdicts: { length: 1, 0: { cost: '1.68' } } },
    ],
    ['not yet', [], { state: 'open', ended: null, submitted: { vendor_task_id: 'vendor-task-1' } }],
  ]
  for (const [what, end, expected] of cases) {
    const explained = await explainFrom<TaskExplanation>(await taskLog(end), 'task-1')
    t.match(explained, expected, what)
    t.match(explanationText(explained, 0), /^task task-1 /)
  }
  const wrong = await explainFrom<TaskExplanation>(await taskLog([settled()], '0.15'), 'task-1')
  t.same(wrong.charge?.recomputed.findings, ['the unit price is 0.14, in the price sheet v9 it is 0.15'])
})

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)

const explainByTables = async (log: MemoryLog, id: string): Promise<Explanation | null> => {
  const tables = projected.database.readModels()
  const { sequence, value: trace } = await tables.findTrace(id)
  return trace === undefined ? null : explainCharge(await readEvidence(log, tables, id, { trace, sequence }))
}

/** The tables do not know of all that was ignored. */
const whatCounts = (explained: Explanation | null): object | null =>
  explained === null ? null : { ...explained, events: explained.events.filter(({ counts }) => counts) }

/** Nobody stores a frame that holds nothing. */
const withoutEmptyFrames = ({ frames }: MemoryLog): MemoryLog => {
  const log = new MemoryLog()
  for (const frame of frames) if (frame.events.length > 0) log.store(frame)
  return log
}

t.test('by the tables the story is that of the log, of any history', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.integer({ min: 1, max: 50 }), async (history, batch) => {
      const log = withoutEmptyFrames(logOf(history))
      await projected.empty()
      await project(log, projected.store, batch)
      for (let each = 0; each < 12; each += 1) {
        const id = `request-${each}`
        const byLog = explainCharge(await collectEvidence({ frames: log, to: log.frames.length }, id))
        assert.deepEqual(whatCounts(await explainByTables(log, id)), whatCounts(byLog))
      }
    }),
    propertyRuns(5),
  )
})

const correcting = (id: string, amount: string, corrects: string, ofWorkspace = workspaceId) => {
  const { type, data } = adjusted(id, amount, ofWorkspace)
  return { type, data: { ...data, corrects } }
}

t.test('corrections of corrections count, however many steps away, by the tables and by the log', async (t) => {
  const log = await openedLog()
  await log.append([routed('request-1'), billed('request-1')])
  await log.postToWallet(workspaceId, [correcting('refund', '5', 'request-1'), correcting('other', '1', 'request-2')])
  await log.postToWallet('beta', [correcting('of-beta', '9', 'refund', 'beta')])
  await log.postToWallet(workspaceId, [correcting('reversal', '-5', 'refund'), correcting('unrelated', '3', 'of-beta')])
  await log.postToWallet(workspaceId, [
    correcting('again', '0.0001', 'reversal'),
    correcting('of-other', '-1', 'other'),
  ])
  await projected.empty()
  await project(log, projected.store, 10)
  const expected = { net: '0.0005', adjustments: [{ amount: '5' }, { amount: '-5' }, { amount: '0.0001' }] }
  for (const explained of [await explainFrom(log, 'request-1'), await explainByTables(log, 'request-1')]) {
    t.match(explained, expected)
    t.equal(explained?.adjustments.length, 3)
  }
})

t.test('a checkpoint that says it seals its own frame, or later ones, is not named', async (t) => {
  const log = await openedLog()
  await log.append([routed('request-1'), checkpointSealed(3), checkpointSealed(5), checkpointSealed(1_000)])
  await log.append([billed('request-1'), checkpointSealed(4)])
  await projected.empty()
  const explained = async (): Promise<RequestExplanation> => {
    const byLog = await explainFrom<RequestExplanation>(log, 'request-1')
    await project(log, projected.store, 1)
    t.same(await explainByTables(log, 'request-1'), byLog)
    return byLog
  }
  t.match(await explained(), {
    proof: { sequence: 4, checkpoint: null },
    events: [{ sealed_by: null }, { sealed_by: null }],
  })
  await log.append([checkpointSealed(3)])
  t.match(await explained(), { proof: { checkpoint: null }, events: [{ sealed_by: 3 }, { sealed_by: null }] })
  await log.append([checkpointSealed(5)])
  t.match(await explained(), {
    proof: { sequence: 4, checkpoint: { size: 5, sequence: 6 } },
    events: [{ sealed_by: 3 }, { sealed_by: 5 }],
  })
})

t.test('and of tasks', async (t) => {
  const log = await taskLog([settled(), settled({ deduction: '5' })])
  await log.append([checkpointSealed(3), checkpointSealed(6)])
  await log.append([taskProgressed('task-1', 50)])
  await projected.empty()
  await project(log, projected.store, 2)
  t.same(await explainByTables(log, 'task-1'), await explainFrom(log, 'task-1'))
  t.equal(await explainByTables(log, 'nobody'), null)
})
