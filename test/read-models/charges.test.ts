import t from 'tap'
import { type ChargesWanted, listCharges } from '../../src/read-models/charges.ts'
import { atCheckpoint } from '../../src/read-models/checkpoint.ts'
import { listHolds } from '../../src/read-models/holds.ts'
import { MemoryLog } from '../memory-log.ts'
import { startPostgres } from '../postgres.ts'
import { credited, holdPlaced, holdReleased, routed, used } from '../roles/projector/facts.ts'
import { Projected, project } from '../roles/projector/projecting.ts'

const postgres = await startPostgres(t)
const projected = new Projected((await postgres.newDatabase()).url)
t.teardown(() => projected.close())
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

const everything: ChargesWanted = { from: null, to: null, limit: 100 }
const read = async (wanted: Partial<ChargesWanted> = {}, workspaceId = 'acme') =>
  (await atCheckpoint(db, (trx, sequence) => listCharges(trx, workspaceId, { ...everything, ...wanted }, sequence)))
    .value

const numbers = ({ charges }: Awaited<ReturnType<typeof read>>): readonly number[] =>
  charges.map(({ requestId }) => Number(requestId.slice('request-'.length)))
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
    requestId: 'request-29',
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
  let readOn: ChargesWanted['readOn']
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
  const holds = await listHolds(db, 'acme', { limit: 10 })
  t.match(holds, [
    { holdId: 'hold-1', amountPicos: 1_000_000_000_000n, remainingPicos: 1_000_000_000_000n, purpose: 'allowance' },
    { holdId: 'hold-3', remainingPicos: 2_950_000_000_000n, deadline: new Date('2026-03-01T01:00:00.000Z') },
  ])
  t.same(await listHolds(db, 'acme', { limit: 1 }), holds.slice(0, 1))
  t.same(await listHolds(db, 'acme', { after: 'hold-1', limit: 10 }), holds.slice(1))
  t.same(await listHolds(db, 'beta', { limit: 10 }), [])
})
