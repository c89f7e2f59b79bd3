import t, { type Test } from 'tap'
import { until } from '../../support/clients.ts'
import { randomOf } from '../../support/random.ts'
import { busy, success } from './scripted-vendor.ts'
import { isDone, Life, startProcess, World } from './world.ts'

type Script = (world: World) => void

/** What the vendor does, and whether the hold ends before its word. */
const scripts: { readonly [name: string]: Script } = {
  'an easy vendor': () => undefined,
  'the first answer to a submit is lost': ({ vendor }) => {
    vendor.onSubmit = (_payload, call) => (call === 1 ? 'lost' : null)
  },
  'a vendor that is busy at first': ({ vendor }) => {
    vendor.onSubmit = (_payload, call) => (call < 3 ? busy : null)
  },
  'a vendor that refuses': ({ vendor }) => {
    vendor.onSubmit = () => ({ type: 'refused', message: 'no', code: 1301 })
  },
  'a verdict after the deadline': (world) => {
    world.vendor.onQuery = async (vendorTaskId, poll) => {
      if (poll === 2) await world.expire()
      return poll < 4
        ? { type: 'open', vendorTaskId, status: 'IN_PROGRESS' }
        : { type: 'ended', verdict: success(vendorTaskId) }
    }
  },
}

const assertWhole = (t: Test, world: World, name: string): void => {
  const task = world.task()
  const made = name === 'a vendor that refuses' ? 0 : 1
  t.equal(world.vendor.made, made, 'the vendor made one task, if any')
  t.equal(world.vendor.duplicates, 0, 'nobody tried to make it twice')
  t.equal(world.ends(), 1, 'it ended once')
  t.ok(world.callbacks.puts.length >= 1, 'the caller is called back')
  for (const { text } of world.callbacks.puts)
    t.equal(JSON.parse(JSON.parse(text).body).status, task?.status, 'with how it ended')
  const succeeds = made === 1 && name !== 'a verdict after the deadline'
  t.same(world.wallet(), { balance: succeeds ? '99.58' : '100', held: '0' })
  t.equal(task?.status, succeeds ? 'SUCCESS' : 'FAILURE')
  if (name === 'a verdict after the deadline')
    t.ok(world.events('LateVerdictSeen').length + world.events('TaskSettled').length >= 1, 'the late verdict is told')
}

/** Processes that die after so many effects, one after the other; the last one lives. */
const liveThrough = async (
  t: Test,
  script: Script,
  lives: readonly { readonly diesAt: number; readonly before: boolean }[],
): Promise<{ readonly world: World; readonly deaths: number }> => {
  const world = new World()
  script(world)
  await world.order()
  let deaths = 0
  for (const { diesAt, before } of lives) {
    const death = Promise.withResolvers<void>()
    const life = new Life(diesAt, before, death.resolve)
    const process = await startProcess(t, world, { life, bounds: { stopMs: 1, lastAnswerMs: 1 } })
    await Promise.race([death.promise, until(isDone(world))])
    if (!life.isOver) return { world, deaths }
    deaths += 1
    world.tasks.dropTakers()
    world.callbacks.dropTakers()
    await process.stop()
  }
  await startProcess(t, world, { bounds: { stopMs: 100, lastAnswerMs: 1 } })
  await until(isDone(world))
  return { world, deaths }
}

for (const [name, script] of Object.entries(scripts))
  t.test(`killed at every step: ${name}`, async (t) => {
    for (const before of [true, false]) {
      let steps = 1
      for (; ; steps += 1) {
        const { world, deaths } = await liveThrough(t, script, [{ diesAt: steps, before }])
        assertWhole(t, world, name)
        if (deaths === 0) break
      }
      t.ok(steps > 4, `it was killed at ${steps - 1} steps`)
    }
  })

t.test('killed again and again', async (t) => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = randomOf(seed)
    const names = Object.keys(scripts)
    const name = names[Math.floor(random() * names.length)]!
    const lives = Array.from({ length: 6 }, () => ({ diesAt: 1 + Math.floor(random() * 7), before: random() < 0.5 }))
    const { world } = await liveThrough(t, scripts[name]!, lives)
    t.test(`seed ${seed}: ${name}`, async (t) => assertWhole(t, world, name))
  }
})
