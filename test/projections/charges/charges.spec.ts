import { readFile } from 'node:fs/promises'
import t from 'tap'
import { projectionLimits } from '../../../src/projections/charges/limits.ts'
import { type ChargeQuery, selectCharges } from '../../../src/projections/charges/queries.ts'
import { atCheckpoint } from '../../../src/projections/checkpoint/queries.ts'
import { selectHolds } from '../../../src/projections/wallets/holds.ts'
import {
  credited,
  holdPlaced,
  holdReleased,
  routed,
  taskFailed,
  taskPlaced,
  taskSettled,
  taskSubmitted,
  used,
} from '../../roles/projector/facts.ts'
import { openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
const { db } = projected.database

const requests = 30
const log = new MemoryLog()
await log.postToWallet('acme', [credited('first', '100')])
const bill = async (each: number): Promise<unknown> =>
  log.append([
    routed(`request-${each}`),
    used(`request-${each}`, {
      keyId: each % 10 === 0 ? 'key-rare' : 'key-1',
      model: each % 3 === 0 ? 'openai/third' : 'openai/a',
      surface: each % 2 === 0 ? 'chat' : 'responses',
    }),
  ])
for (let each = 0; each < requests; each += 1) await bill(each)
await project(log, projected.store, 500)

const everything: ChargeQuery = { from: null, to: null, limit: 100 }
const read = async (wanted: Partial<ChargeQuery> = {}, workspaceId = 'acme') =>
  (await atCheckpoint(db, (trx, sequence) => selectCharges(trx, workspaceId, { ...everything, ...wanted }, sequence)))
    .value

const numbers = ({ charges }: Awaited<ReturnType<typeof read>>): readonly number[] =>
  charges.map(({ id }) => Number(id.slice('request-'.length)))
const newestFirst = (count: number): readonly number[] => Array.from({ length: count }, (_, place) => count - 1 - place)

t.test('newest first, by what they are filtered by', async (t) => {
  t.same(numbers(await read()), newestFirst(requests))
  t.same(
    numbers(await read({ model: 'openai/third' })),
    newestFirst(requests).filter((each) => each % 3 === 0),
  )
  t.same(numbers(await read({ key: 'key-rare', surface: 'chat' })), [20, 10, 0])
  t.same(await read({}, 'nobody'), { charges: [], next: null })
  const [newest] = (await read({ limit: 1 })).charges
  t.match(newest, {
    kind: 'request',
    id: 'request-29',
    sequence: 31,
    eventIndex: 1,
    model: 'openai/a',
    provider: 'openai',
    promptTokens: 120,
    outputTokens: 30,
    source: 'reported',
  })
})

t.test('a range has the charges that its statement has', async (t) => {
  const times = (await read()).charges.map(({ time }) => time)
  t.same(numbers(await read({ from: times[9]!, to: times[4]! })), [24, 23, 22, 21, 20])
  t.same(numbers(await read({ to: times.at(-1)! })), [])
})

t.test('read on while new ones come', async (t) => {
  const seen: number[] = []
  let readOn: ChargeQuery['readOn']
  for (let page = 0; page < 20; page += 1) {
    const found = await read({ limit: 7, readOn })
    seen.push(...numbers(found))
    if (found.next === null) break
    readOn = found.next
    if (page === 1) {
      await bill(requests)
      await project(log, projected.store, 500)
    }
  }
  t.same(seen, newestFirst(requests))
  t.equal(numbers(await read())[0], requests, 'a new list begins with what is new')
})

t.test('open holds, by id', async (t) => {
  await log.postToWallet('acme', [holdPlaced('hold-3', '3'), holdPlaced('hold-1', '1'), holdPlaced('hold-2', '2')])
  await log.append([routed('of-a-hold', { allowanceId: 'hold-3' }), used('of-a-hold', { total: '0.05' })])
  await log.postToWallet('acme', [holdReleased('hold-2')])
  await project(log, projected.store, 500)
  const holds = await selectHolds(db, 'acme', { limit: 10 })
  t.match(holds, [
    { holdId: 'hold-1', amountPicos: 1_000_000_000_000n, remainingPicos: 1_000_000_000_000n, purpose: 'allowance' },
    { holdId: 'hold-3', remainingPicos: 2_950_000_000_000n, deadline: new Date('2026-03-01T01:00:00.000Z') },
  ])
  t.same(await selectHolds(db, 'acme', { limit: 1 }), holds.slice(0, 1))
  t.same(await selectHolds(db, 'acme', { after: 'hold-1', limit: 10 }), holds.slice(1))
  t.same(await selectHolds(db, 'beta', { limit: 10 }), [])
})

/** Of a workspace of its own: places alone decide the order, whatever was asked for first. */
const mixed = 'mixed'
const orderOf = (each: number) => ({
  keyId: each % 5 === 0 ? 'key-rare' : 'key-1',
  surface: each % 2 === 0 ? ('video' as const) : ('native-video' as const),
  model: each % 3 === 0 ? 'vv/third' : 'vv/v3',
})
const settledIn = (taskId: string, total: string) => ({ ...taskSettled(taskId, { workspaceId: mixed, total }) })

const mixedCharges = 24

/** Every third is a request; each task that succeeds comes with one that fails and one that stays open. */
const chargeMixed = async (each: number): Promise<void> => {
  if (each % 3 === 0) {
    await log.append([
      routed(`charge-${each}`, { workspaceId: mixed }),
      used(`charge-${each}`, { workspaceId: mixed, keyId: each % 5 === 0 ? 'key-rare' : 'key-1' }),
    ])
    return
  }
  const ids = [`charge-${each}`, `failed-${each}`, `open-${each}`]
  await log.postToWallet(
    mixed,
    ids.map((id) => taskPlaced(id, orderOf(each), mixed)),
  )
  await log.append([
    taskSubmitted(`charge-${each}`, 'vendor', mixed),
    { ...taskFailed(`failed-${each}`, { workspaceId: mixed }) },
    settledIn(`charge-${each}`, each % 4 === 0 ? '0' : `0.${each}`),
    settledIn(`charge-${each}`, '99'),
  ])
}

const idsOf = ({ charges }: Awaited<ReturnType<typeof read>>): readonly string[] => charges.map(({ id }) => id)
const charged = (keeps: (each: number) => boolean): readonly string[] =>
  newestFirst(mixedCharges)
    .filter(keeps)
    .map((each) => `charge-${each}`)
const isRequest = (each: number): boolean => each % 3 === 0

t.test('requests and tasks in one list', async (t) => {
  await log.postToWallet(mixed, [credited('first', '100', mixed)])
  for (let each = 0; each < mixedCharges; each += 1) await chargeMixed(each)
  await project(log, projected.store, 500)

  const whole = await read({}, mixed)
  t.same(
    idsOf(whole),
    charged(() => true),
  )
  t.equal(whole.next, null)
  t.match(
    whole.charges.find(({ id }) => id === 'charge-22'),
    {
      ...{ kind: 'task', keyId: 'key-1', surface: 'video', model: 'vv/v3', provider: 'vv', level: null },
      ...{ priceVersion: 'v1', source: 'reported', outcome: 'SUCCESS', promptTokens: null, outputTokens: null },
      ...{ totalPicos: 220_000_000_000n, eventIndex: 2 },
    },
  )
  t.same(
    idsOf(await read({ key: 'key-rare' }, mixed)),
    charged((each) => each % 5 === 0),
  )
  t.same(
    idsOf(await read({ surface: 'native-video' }, mixed)),
    charged((each) => !isRequest(each) && each % 2 === 1),
  )
  t.same(
    idsOf(await read({ model: 'vv/v3', key: 'key-rare', surface: 'video' }, mixed)),
    charged((each) => !isRequest(each) && each % 10 === 0),
  )
  t.same(await read({ key: 'key-none' }, mixed), { charges: [], next: null })
  t.same(await read({ model: 'vv/none' }, mixed), { charges: [], next: null })
})

t.test('in pages of any size the list is the same', async (t) => {
  const whole = (await read({}, mixed)).charges
  for (let limit = 1; limit <= mixedCharges + 1; limit += 1)
    for (const filter of [{}, { surface: 'video' }, { key: 'key-1' }]) {
      const seen: unknown[] = []
      let readOn: ChargeQuery['readOn']
      do {
        const page = await read({ ...filter, limit, readOn }, mixed)
        seen.push(...page.charges)
        readOn = page.next ?? undefined
      } while (readOn !== undefined)
      const { surface, key } = { surface: undefined, key: undefined, ...filter }
      const wanted = whole.filter(
        (each) => (surface ?? each.surface) === each.surface && (key ?? each.keyId) === each.keyId,
      )
      t.same(seen, wanted, `${limit} a page, ${JSON.stringify(filter)}`)
    }
})

t.test('a range has the tasks that its statement has', async (t) => {
  const all = (await read({}, mixed)).charges
  const [to, from] = [all[5]!.time, all[15]!.time]
  const entries = await projected.values(`
    select distinct reference, sequence, event_index from wallet_entries
    where workspace_id = '${mixed}' and kind in ('charge', 'release') and reference like 'charge-%'
      and time >= '${from.toISOString()}' and time < '${to.toISOString()}'
    order by sequence desc, event_index desc`)
  t.same(idsOf(await read({ from, to }, mixed)), entries)
})

t.test(
  'of tasks that stood before there was a list, the migration makes the rows that the projector makes',
  async (t) => {
    const rows = () => projected.rows('task_charges', 'workspace_id, sequence, event_index')
    const made = await rows()
    t.ok(made.length > 0)
    const migration = await readFile(new URL('../../../migrations/0013_charges.sql', import.meta.url), 'utf8')
    await projected.query(`truncate task_charges; ${/insert into task_charges[^;]*;/.exec(migration)![0]}`)
    t.same(await rows(), made)
  },
)

/** A row of a bill, or of a task, at each of so many frames. */
const fillNewer = (kind: 'request' | 'task', count: number): Promise<void> =>
  projected.query(
    kind === 'request'
      ? `insert into usage_entries
         select u.workspace_id, 1000000 + n, 0, 'newer-' || n, 'key-many', u.surface, 'openai/newer', u.provider, u.level, u.price_version,
           u.prompt_total, u.input_uncached, u.cache_read, u.cache_write_5m, u.cache_write_1h, u.input_audio, u.input_image, u.output_total,
           u.output_reasoning, u.output_audio, u.output_image, u.tool_calls, u.source, u.outcome, u.lines, u.total, u.time
         from (select * from usage_entries where workspace_id = '${mixed}' limit 1) u, generate_series(1, ${count}) n`
      : `insert into task_charges
         select c.workspace_id, 2000000 + n, 0, c.task_id, 'key-many', 'video', 'vv/newer'
         from (select * from task_charges where workspace_id = '${mixed}' limit 1) c, generate_series(1, ${count}) n`,
  )

t.test('a page looks at so many of each kind, and says from where to read on', async (t) => {
  await fillNewer('request', projectionLimits.chargesScannedMax + 10)
  await fillNewer('task', 2 * projectionLimits.chargesScannedMax)
  await projected.query('analyze; update checkpoint set sequence = sequence + 3000000')
  const pages: (readonly string[])[] = []
  let readOn: ChargeQuery['readOn']
  do {
    const page = await read({ model: 'vv/v3', readOn }, mixed)
    pages.push(idsOf(page))
    readOn = page.next ?? undefined
  } while (readOn !== undefined && pages.length < 10)
  t.same(pages.slice(0, 2), [[], []], 'there is nothing among the newest tasks')
  t.same(
    pages.flat(),
    charged((each) => !isRequest(each)),
  )
  t.same(
    await read({ model: 'vv/third' }, mixed),
    { charges: [], next: null },
    'what was never charged is not searched',
  )
  const found = await read({ surface: 'native-video', limit: 3 }, mixed)
  t.match(found, { charges: [], next: { line: 0 } })
  t.same(await read({ key: 'key-none' }, mixed), { charges: [], next: null })
})
