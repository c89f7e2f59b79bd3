import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { usageOf } from '../../../src/domain/usage/usage.ts'
import { selectUsage, type UsageQuery } from '../../../src/projections/usage/queries.ts'
import { routed, sheet, used } from '../../roles/projector/facts.ts'
import { openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
const { db } = projected.database

const odd = 'openai/nul\u0000 \ud83d'
const bills = [
  ['2026-03-01', 'key-1', 'chat', 'openai/a', '0.5'],
  ['2026-03-01', 'key-2', 'chat', 'openai/b', '0.25'],
  ['2026-03-02', 'key-1', 'messages', 'openai/a', '1'],
  ['2026-03-02', 'key-1', 'chat', 'openai/a', '2'],
  ['2026-03-03', 'key-2', 'chat', odd, '4'],
] as const

const log = new MemoryLog({ timeOf: (sequence) => `${bills[sequence - 1]?.[0] ?? '2026-03-09'}T12:00:00.000Z` })
for (const [place, [, keyId, surface, model, total]] of bills.entries())
  await log.append([routed(`request-${place}`, { keyId }), used(`request-${place}`, { keyId, surface, model, total })])
await log.append([
  routed('request-of-beta', { workspaceId: 'beta' }),
  used('request-of-beta', { workspaceId: 'beta', total: '9' }),
])
await project(log, projected.store, 2)

const wanted: UsageQuery = { from: null, to: null, groupBy: ['day'], limit: 100 }
const sums = async (changes: Partial<UsageQuery>) =>
  (await selectUsage(db, 'acme', { ...wanted, ...changes })).map(({ group, requests, totalPicos }) => [
    ...group,
    requests,
    totalPicos,
  ])

t.test('summed by what is asked for, in the order of its values', async (t) => {
  t.same(await sums({}), [
    ['2026-03-01', 2n, parseUsd('0.75')],
    ['2026-03-02', 2n, parseUsd('3')],
    ['2026-03-03', 1n, parseUsd('4')],
  ])
  t.same(await sums({ groupBy: ['model', 'key'] }), [
    ['openai/a', 'key-1', 3n, parseUsd('3.5')],
    ['openai/b', 'key-2', 1n, parseUsd('0.25')],
    [odd, 'key-2', 1n, parseUsd('4')],
  ])
  t.same(await sums({ groupBy: ['surface'] }), [
    ['chat', 4n, parseUsd('6.75')],
    ['messages', 1n, parseUsd('1')],
  ])
  t.equal((await sums({ groupBy: ['day', 'model', 'key', 'surface'] })).length, 5)
  const [first] = await selectUsage(db, 'acme', wanted)
  t.match(first?.usage, { promptTotal: 240n, cacheRead: 40n, outputTotal: 60n, outputReasoning: 20n, inputAudio: 0n })
})

t.test('the sums of every kind of token equal the lines of the bills', async (t) => {
  const usage = {
    ...usageOf(
      { total: 1_000, cacheRead: 300, cacheReadAudio: 40, cacheReadImage: 50, cacheWrite5m: 60, cacheWrite1h: 70 },
      { total: 200, reasoning: 30, audio: 40, image: 50 },
    ),
  }
  const parts = {
    ...usage,
    cacheWrite12h: 80,
    inputUncached: usage.inputUncached - 80 - 9,
    inputAudio: 4,
    inputImage: 5,
  }
  const { lines, totalPicos } = chargeFor(sheet, parts)
  const bill = { workspaceId: 'gamma', usage: parts, lines: [...lines], total: formatUsd(totalPicos) }
  for (const id of ['request-of-gamma', 'other-of-gamma'])
    await log.append([routed(id, { workspaceId: 'gamma' }), used(id, bill)])
  await project(log, projected.store, 500)
  const [sums] = await selectUsage(db, 'gamma', { ...wanted, groupBy: ['key'] })
  const billedOf = (...items: readonly string[]): bigint =>
    2n * lines.filter(({ item }) => items.includes(item)).reduce((sum, { quantity }) => sum + BigInt(quantity), 0n)
  const cached = ['cached_input', 'cached_audio_input', 'cached_image_input']
  const written = ['cache_write_5m', 'cache_write_1h', 'cache_write_12h']
  t.same(sums?.usage, {
    promptTotal: billedOf('input', ...cached, ...written, 'audio_input', 'image_input'),
    inputUncached: billedOf('input'),
    cacheRead: billedOf(...cached),
    cacheReadAudio: billedOf('cached_audio_input'),
    cacheReadImage: billedOf('cached_image_input'),
    cacheWrite5m: billedOf('cache_write_5m'),
    cacheWrite1h: billedOf('cache_write_1h'),
    cacheWrite12h: billedOf('cache_write_12h'),
    inputAudio: billedOf('audio_input'),
    inputImage: billedOf('image_input'),
    outputTotal: billedOf('output', 'reasoning', 'audio_output', 'image_output'),
    outputReasoning: billedOf('reasoning'),
    outputAudio: billedOf('audio_output'),
    outputImage: billedOf('image_output'),
  })
  t.equal(sums?.usage.cacheWrite12h, 160n)
  t.equal(sums?.totalPicos, 2n * totalPicos)
})

t.test('filtered; the last day is in it', async (t) => {
  t.same(await sums({ from: '2026-03-02', to: '2026-03-02' }), [['2026-03-02', 2n, parseUsd('3')]])
  t.same(await sums({ model: odd }), [['2026-03-03', 1n, parseUsd('4')]])
  t.same(await sums({ key: 'key-2', groupBy: ['key'] }), [['key-2', 2n, parseUsd('4.25')]])
  t.same(await sums({ surface: 'messages', model: 'openai/a' }), [['2026-03-02', 1n, parseUsd('1')]])
  t.same(await sums({ from: '2026-03-04' }), [])
  t.same(await sums({ model: 'openai/nobody' }), [])
})

t.test('read on behind any group', async (t) => {
  for (const groupBy of [['day'], ['surface', 'model'], ['key', 'day', 'surface']] as const) {
    const all = await selectUsage(db, 'acme', { ...wanted, groupBy })
    for (const [place, { group }] of all.entries())
      t.same(await selectUsage(db, 'acme', { ...wanted, groupBy, after: group }), all.slice(place + 1))
    t.same(await selectUsage(db, 'acme', { ...wanted, groupBy, limit: 1 }), all.slice(0, 1))
  }
})
