import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { SlotShare } from '../../../../../src/roles/edge/admission/rates/slot-share.ts'
import { randomOf } from '../../../../support/random.ts'
import { MemoryRates } from '../../memory-rates.ts'

const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)

t.test(`never more at once than the limit, whatever several edges do, seed ${seed}`, async (t) => {
  const random = randomOf(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const records = new MemoryRates(async () => {
    for (let left = below(5); left > 0; left -= 1) await turn()
  })
  const edges = ['a', 'b', 'c'].map((holder) => new SlotShare(records, 'limit', holder, Date.now))
  const max = 4
  let atOnce = 0
  let most = 0
  let served = 0
  const ask = async (): Promise<void> => {
    const edge = edges[below(edges.length)]!
    if (!(await edge.take(max))) return
    atOnce += 1
    served += 1
    most = Math.max(most, atOnce)
    await pause(below(5))
    atOnce -= 1
    edge.release()
  }
  const clients = Array.from({ length: 20 }, async () => {
    for (let left = 40; left > 0; left -= 1) await ask()
  })
  await Promise.all(clients)
  t.equal(most, max)
  t.ok(served >= 100, `${served} were served`)
  await Promise.all(edges.map((edge) => edge.close()))
  t.same((await records.find('limit')).value, { slots: {} }, 'all places are back')
})

t.test('one after the other at two edges, none is refused', async (t) => {
  const records = new MemoryRates(turn)
  const edges = ['a', 'b'].map((holder) => new SlotShare(records, 'limit', holder, Date.now))
  for (let index = 0; index < 50; index += 1) {
    const edge = edges[index % 2]!
    t.equal(await edge.take(1), true)
    edge.release()
  }
})

t.test('a dead edge gives its places back after a while, a living one keeps them', async (t) => {
  let nowMs = 0
  const records = new MemoryRates()
  const clock = (): number => nowMs
  const [dead, living, other] = ['dead', 'living', 'other'].map(
    (holder) => new SlotShare(records, 'limit', holder, clock),
  )
  t.equal(await dead!.take(2), true)
  t.equal(await living!.take(2), true)
  t.equal(await other!.take(2), false)
  for (; nowMs <= admissionLimits.slotLeaseMs; nowMs += 1_000) {
    living!.sweep()
    await turn()
  }
  t.equal(await other!.take(2), true)
  t.equal(await other!.take(2), false)
})

t.test('what cannot be learnt is refused, and no place is lost by it', async (t) => {
  const records = new MemoryRates()
  const edge = new SlotShare(records, 'limit', 'a', Date.now)
  const { put } = records
  records.put = async (...given) => {
    await put.apply(records, given)
    throw logUnavailable()
  }
  await t.rejects(async () => edge.take(1), { code: 'log_unavailable' })
  records.put = put
  t.equal(await edge.take(1), true)
  edge.release()
  await edge.close()
  t.same((await records.find('limit')).value, { slots: {} })
})

t.test('a busy edge of a large limit writes rarely, and keeps nothing that it does not use any more', async (t) => {
  const records = new MemoryRates()
  const edge = new SlotShare(records, 'limit', 'a', Date.now)
  const max = 40 * admissionLimits.slotSpareDivisor
  const take = (): boolean | Promise<boolean> => edge.take(max)
  const atOnce = 20
  await Promise.all(Array.from({ length: atOnce }, take))
  const before = records.calls
  for (let each = 0; each < 100; each += 1) {
    edge.release()
    await turn()
    await take()
  }
  t.equal(records.calls, before)
  for (let each = 0; each < atOnce; each += 1) edge.release()
  edge.sweep()
  edge.sweep()
  await turn()
  t.same((await records.find('limit')).value, { slots: {} }, 'all places are back')
})
