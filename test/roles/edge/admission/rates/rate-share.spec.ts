import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import { RateShare } from '../../../../../src/roles/edge/admission/rates/rate-share.ts'
import { randomOf } from '../../../../support/random.ts'
import { MemoryRates } from '../../memory-rates.ts'

const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)

/** Edges at the end of a network, which ask for one limit at a clock of their own making. */
class World {
  nowMs = 1_000_000
  readonly passes: number[] = []
  readonly records: MemoryRates
  readonly edges: readonly RateShare[]
  readonly #random: () => number

  constructor(edges: number, random: () => number) {
    this.#random = random
    this.records = new MemoryRates(async () => {
      for (let left = this.below(4); left > 0; left -= 1) await turn()
    })
    this.edges = Array.from({ length: edges }, () => new RateShare(this.records, 'limit', 1, () => this.nowMs))
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  /** Notes when it passed, once it did. */
  ask(edge: RateShare, perMinute: number, units = 1): void {
    const pass = (waitMs: number | null): void => {
      if (waitMs === null) for (let left = units; left > 0; left -= 1) this.passes.push(this.nowMs)
    }
    // Where the clock jumps while it is asked, it takes too long.
    Promise.resolve(edge.take(units, perMinute)).then(pass, (fault) => t.equal(fault.code, 'log_unavailable'))
  }

  /** Until every record has come and gone. */
  async settled(): Promise<void> {
    for (let turns = 0; turns < 40; turns += 1) await turn()
  }

  /** The most that passed in any minute. */
  get mostInAMinute(): number {
    let first = 0
    let most = 0
    for (let last = 0; last < this.passes.length; last += 1) {
      while (this.passes[last]! - this.passes[first]! > 60_000) first += 1
      most = Math.max(most, last - first + 1)
    }
    return most
  }
}

t.test(`in no minute more than the limit and its burst, whatever several edges do, seed ${seed}`, async (t) => {
  for (let round = 0; round < 12; round += 1) {
    const random = randomOf(seed + round)
    const world = new World(1 + Math.floor(random() * 4), random)
    const perMinute = Math.ceil(10 ** (random() * 3.5))
    const stepMsMax = Math.min(250, Math.ceil(60_000 / perMinute))
    for (let step = 0; step < 3_000; step += 1) {
      world.nowMs += world.below(200) === 0 ? world.below(5_000) : world.below(stepMsMax)
      const edge = world.edges[world.below(world.edges.length)]!
      for (let asks = world.below(3); asks > 0; asks -= 1) world.ask(edge, perMinute)
      if (world.below(10) === 0) edge.sweep()
      await turn()
    }
    const most = perMinute + Math.max(1, perMinute / 20)
    t.ok(world.mostInAMinute <= most, `${world.mostInAMinute} of ${perMinute} at ${world.edges.length} edges`)
  }
})

t.test('a lease that drained before its return leaves no room for others', async (t) => {
  const world = new World(3, () => 0)
  const [one, other, third] = world.edges
  world.ask(one!, 6_000, 75)
  await world.settled()
  t.match(one!.view(6_000), { remaining: 125 }, '75 more were leased')

  world.nowMs += 2_000
  world.ask(other!, 6_000, 200)
  await world.settled()
  one!.sweep()
  await world.settled()
  world.ask(third!, 6_000, 75)
  await world.settled()
  t.equal(world.passes.filter((atMs) => atMs === world.nowMs).length, 200, 'a burst')
  t.match([other!.view(6_000), third!.view(6_000)], [{ remaining: 0 }, { remaining: 0 }])
})

t.test('a lease lapses after its second, also where used tokens are recorded meanwhile', async (t) => {
  const world = new World(3, () => 0)
  const settleFor2Seconds = async (): Promise<void> => {
    for (let step = 0; step < 4; step += 1) {
      world.nowMs += 500
      for (const edge of world.edges.slice(0, 2)) {
        edge.settle(1)
        edge.sweep()
      }
      await world.settled()
    }
  }
  for (const edge of world.edges.slice(0, 2)) {
    world.ask(edge, 6_000, 75)
    await world.settled()
    await settleFor2Seconds()
  }
  for (const [index, edge] of world.edges.entries()) world.ask(edge, 6_000, [75, 75, 195][index])
  await world.settled()
  const atOnce = world.passes.filter((atMs) => atMs === world.nowMs).length
  t.ok(atOnce <= 200, `${atOnce} at once, where a burst is 200`)
})

t.test('under pressure not less than 95 %', async (t) => {
  for (const perMinute of [30, 600, 6_000]) {
    const world = new World(3, randomOf(perMinute))
    for (let step = 0; step < 6_000; step += 1) {
      world.nowMs += 20
      for (const edge of world.edges) {
        for (let asks = Math.ceil(perMinute / 3_000); asks > 0; asks -= 1) world.ask(edge, perMinute)
        if (step % 12 === 0) edge.sweep()
      }
      await turn()
    }
    const perEdge = world.passes.length / 2
    t.ok(perEdge >= perMinute * 0.95, `${perEdge} of ${perMinute}`)
    t.ok(world.mostInAMinute <= perMinute * 1.05, `${world.mostInAMinute} of ${perMinute}`)
  }
})

t.test('a busy edge asks about four times a second, and an idle one gives back', async (t) => {
  const world = new World(1, () => 0)
  const [edge] = world.edges
  for (let step = 0; step < 1_000; step += 1) {
    world.nowMs += 10
    t.equal(await edge!.take(1, 60_000), null)
  }
  t.ok(world.records.calls < 60, `${world.records.calls} questions for 1,000 requests in ten seconds`)
  world.nowMs += 1_000
  edge!.sweep()
  await turn()
  world.nowMs += 1_000
  t.match(edge!.view(60_000), { remaining: 2_000, resetMs: 0 })
  t.equal(edge!.isIdle, false)
  world.nowMs += 10_000
  t.equal(edge!.isIdle, true)
})

t.test('a storm of refusals costs few questions', async (t) => {
  const world = new World(1, () => 0)
  const [edge] = world.edges
  t.equal(await edge!.take(1, 1), null)
  const before = world.records.calls
  for (let step = 0; step < 1_000; step += 1) {
    world.nowMs += 1
    t.ok((await edge!.take(1, 1)) !== null)
  }
  t.ok(world.records.calls - before <= 11, `${world.records.calls - before} questions in a second`)
})

t.test('a raised limit counts at once, and tokens are settled', async (t) => {
  const world = new World(2, () => 0)
  const [one, other] = world.edges
  t.equal(await one!.take(1, 1), null)
  t.equal(await one!.take(1, 1), 60_000)
  t.equal(await one!.take(1, 6_000), null)

  one!.settle(5_000)
  one!.sweep()
  for (let turns = 0; turns < 20; turns += 1) await turn()
  world.nowMs += 200
  t.ok((await other!.take(1, 6_000))! > 45_000, 'what was owed is told')
  one!.settle(-5_000)
  one!.sweep()
  for (let turns = 0; turns < 20; turns += 1) await turn()
  world.nowMs += 200
  t.equal(await other!.take(1, 6_000), null)
})

t.test('what cannot be learnt is refused, and works again afterwards', async (t) => {
  const world = new World(1, () => 0)
  const [edge] = world.edges
  const { put } = world.records
  world.records.put = async () => {
    throw logUnavailable()
  }
  await t.rejects(async () => edge!.take(1, 60), { code: 'log_unavailable' })
  world.records.put = put
  t.equal(await edge!.take(1, 60), null)
})
