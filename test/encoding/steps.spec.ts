import t from 'tap'
import { eachInSteps, finishSteps, type RunStep, stepsOfEach, takeSteps } from '../../src/encoding/steps.ts'

const few = Array.from({ length: 10 }, (_, place) => place)

const takeLong = (): void => {
  const untilMs = performance.now() + 5
  while (performance.now() < untilMs);
}

const counting = () => {
  const counted = { steps: 0 }
  const run: RunStep = (step) => {
    counted.steps += 1
    return step()
  }
  return { counted, run }
}

t.test('items that take long end a step before there are many, also within an item', async (t) => {
  const { counted, run } = counting()
  await takeSteps(eachInSteps(few, takeLong), run)
  t.ok(counted.steps >= 4 && counted.steps <= 10, `${counted.steps} steps of two items`)
  const nested = counting()
  await takeSteps(
    stepsOfEach([few], (items) => eachInSteps(items, takeLong)),
    nested.run,
  )
  t.ok(nested.counted.steps >= 4, `${nested.counted.steps} steps in one item`)
})

t.test('items that take a moment share a step', async (t) => {
  const { counted, run } = counting()
  await takeSteps(
    eachInSteps(few, () => undefined),
    run,
  )
  t.equal(counted.steps, 1)
})

t.test('what is finished at once has no steps', async (t) => {
  let yields = 0
  const steps = eachInSteps(few, takeLong)
  while (steps.next().done !== true) yields += 1
  t.equal(yields, 0)
  t.equal(finishSteps(eachInSteps(few, () => undefined)), undefined)
})
