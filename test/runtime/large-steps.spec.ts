import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { LargeSteps } from '../../src/runtime/large-steps.ts'
import { until } from '../support/clients.ts'

t.test('steps have half of the time, and workspaces take turns', async (t) => {
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
  t.same(ran, ['hog'], 'the first at once, the next not in the same turn')
  await delay(30)
  t.same(ran, ['hog'], 'as long as no time has passed without steps')
  for (const expected of [2, 3, 4]) {
    nowMs += 10
    await until(() => ran.length >= expected)
    t.equal(ran.length, expected)
  }
  t.same(ran, ['hog', 'hog', 'other', 'hog'])
  t.same(await Promise.all(all), ['hog', 'hog', 'hog', 'other'])
})

t.test('short steps run several in a turn, and a fault is its own step’s', async (t) => {
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
  t.same(ran, [0, 1, 2])
  t.same(
    (await all).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})
