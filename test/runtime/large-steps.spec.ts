import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { LargeSteps } from '../../src/runtime/large-steps.ts'
import { until } from '../support/clients.ts'

t.test('steps have a third of the time, and workspaces take turns', async (t) => {
  let nowMs = 0
  const steps = new LargeSteps(() => nowMs)
  const ran: string[] = []
  const step = (workspaceId: string) =>
    steps.run(workspaceId, () => {
      ran.push(workspaceId)
      nowMs += 10
      return workspaceId
    })
  const all = ['hog', 'hog', 'hog', 'other'].map(step)
  t.same(ran, [], 'none in the turn in which it is asked for')
  await until(() => ran.length > 0)
  for (const expected of [2, 3, 4]) {
    nowMs += 10
    for (let turns = 0; turns < 100; turns += 1) await turn()
    t.equal(ran.length, expected - 1, 'not before twice as much time has passed without steps')
    nowMs += 10
    await until(() => ran.length >= expected)
    t.equal(ran.length, expected)
  }
  t.same(ran, ['hog', 'other', 'hog', 'hog'])
  t.same(await Promise.all(all), ['hog', 'hog', 'hog', 'other'])
})

t.test('what a step leads to at once counts with it', async (t) => {
  let nowMs = 0
  const steps = new LargeSteps(() => nowMs)
  const ran: string[] = []
  const first = steps
    .run('acme', () => ran.push('first'))
    .then(() => Promise.resolve())
    .then(() => {
      nowMs += 10
    })
  const second = steps.run('acme', () => ran.push('second'))
  await first
  for (let turns = 0; turns < 100; turns += 1) await turn()
  t.same(ran, ['first'])
  nowMs += 20
  await second
  t.same(ran, ['first', 'second'])
})

t.test('short steps run in one turn after another, and a fault is its own step’s', async (t) => {
  let nowMs = 0
  const steps = new LargeSteps(() => nowMs)
  const ran: number[] = []
  const short = (place: number) =>
    steps.run('acme', () => {
      ran.push(place)
      nowMs += 0.5
      if (place === 1) throw new Error('a fault')
      return steps.run('acme', () => place)
    })
  const all = Promise.allSettled([0, 1, 2].map(short))
  await turn()
  t.same(ran, [0], 'one in a turn')
  t.same(
    (await all).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})
