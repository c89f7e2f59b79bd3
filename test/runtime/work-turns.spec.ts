import fc from 'fast-check'
import t from 'tap'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { takeTurn, WorkTurns } from '../../src/runtime/work-turns.ts'
import { propertyRuns } from '../support/property-runs.ts'

/** Turns of an event loop that the test runs by itself, in which each step takes so long. */
const createLoop = (stepsMax: number, stepMs = 0) => {
  let nowMs = 0
  let due: (() => void)[] = []
  const turns = new WorkTurns(stepsMax, { nextTurn: (work) => due.push(work), steadyMs: () => nowMs })
  const began: string[] = []
  const perform = (workspaceId: string): void => {
    began.push(workspaceId)
    nowMs += stepMs
  }
  const ask = (workspaceId: string, bytes = 0): void => {
    const turn = turns.take(workspaceId, bytes)
    if (turn === undefined) perform(workspaceId)
    else void turn.then(() => perform(workspaceId))
  }
  const runTurn = async (): Promise<boolean> => {
    const works = due
    due = []
    for (const work of works) {
      work()
      await Promise.resolve()
    }
    return works.length > 0
  }
  return { began, ask, runTurn }
}

t.test('a burst begins in many turns, and the request of another workspace in the next', async (t) => {
  const { began, ask, runTurn } = createLoop(4)
  for (let step = 0; step < 100; step += 1) ask('hog')
  t.same(began, ['hog', 'hog', 'hog', 'hog'])
  ask('other')
  ask('other')
  await runTurn()
  t.same(began.slice(4), ['hog', 'other', 'hog', 'other'])
  let turns = 1
  while (await runTurn()) turns += 1
  t.equal(began.length, 102)
  t.ok(turns < 30, 'four in each turn, and none is scheduled once nothing waits')
  ask('hog')
  t.equal(began.length, 103, 'at once, where nothing waits')
})

t.test('a step of a large body counts for several', async (t) => {
  const { began, ask, runTurn } = createLoop(4)
  for (let step = 0; step < 3; step += 1) ask('hog', 4 * sharedLimits.stepBytes)
  ask('other')
  t.same(began, ['hog'])
  await runTurn()
  t.same(began, ['hog', 'hog'])
  await runTurn()
  t.same(began, ['hog', 'hog', 'other', 'hog'], 'the other one counts for one, so that there is room for the next')
})

t.test('while several workspaces ask, no step begins once those before have taken their time', async (t) => {
  const { began, ask, runTurn } = createLoop(100, sharedLimits.stepsTurnMs / 2)
  for (const workspaceId of ['other', 'hog', 'hog', 'hog', 'hog']) ask(workspaceId)
  t.same(began, ['other', 'hog'])
  ask('other')
  await runTurn()
  t.same(began.slice(2), ['hog', 'other'])
  await runTurn()
  t.same(began.slice(4), ['hog', 'hog'])
  ask('hog')
  t.equal(began.length, 6)
  while (await runTurn());
  t.equal(began.length, 7)
})

t.test('a workspace that asks alone waits for fewer turns', async (t) => {
  const { began, ask, runTurn } = createLoop(4, sharedLimits.stepsSharedMs)
  ask('hog')
  await runTurn()
  for (let step = 0; step < 8; step += 1) ask('hog')
  t.equal(began.length, 5)
  await runTurn()
  t.equal(began.length, 9)
})

t.test('every step begins, no more in a turn than may, and those of a workspace in their order', async (t) => {
  const turn = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.array(turn, { maxLength: 10 }), async (stepsMax, asked) => {
      const { began, ask, runTurn } = createLoop(stepsMax)
      for (const workspaces of asked) {
        const before = began.length
        for (const workspaceId of workspaces) ask(workspaceId)
        if (began.length - before > stepsMax) return false
        const begun = began.length
        await runTurn()
        if (began.length - begun > stepsMax) return false
      }
      while (await runTurn());
      return began.toSorted().join() === asked.flat().toSorted().join()
    }),
    propertyRuns(200),
  )
  t.pass('holds')
})

t.test('steps that wait begin without another', async (t) => {
  const waited = Array.from({ length: 50 }, () => takeTurn('ws'))
  t.ok(waited.some((turn) => turn !== undefined))
  await Promise.all(waited)
  t.equal(await takeTurn('ws'), undefined)
})
