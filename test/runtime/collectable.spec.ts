import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Collectable, useMade } from '../../src/runtime/collectable.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const bytes = 2 * sharedLimits.turnBytes
const size = { workspaceId: 'w', bytes }

/** What is referred to in a turn stays until its end. */
const collectInNextTurn = async (): Promise<void> => {
  await turn()
  collect()
}

const counted = () => {
  const made = { times: 0 }
  function* make(): Generator<void, { readonly text: string }> {
    yield
    made.times += 1
    return { text: 'x' }
  }
  return { made, value: new Collectable(make, bytes, { text: 'x' }) }
}

t.test('a large value is made again once the collector has taken it', async (t) => {
  const { made, value } = counted()
  await collectInNextTurn()
  t.strictSame(value.value, { text: 'x' })
  t.equal(made.times, 1)
})

t.test('a value that is in use is not made again', async (t) => {
  const { made, value } = counted()
  const used = value.value
  await collectInNextTurn()
  t.equal(value.value, used)
  t.equal(made.times, 0)
})

t.test('it is made in steps, found by what uses it, and free while that goes on', async (t) => {
  const { made, value } = counted()
  await collectInNextTurn()
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const use = useMade(size, value, async () => {
    t.strictSame(value.value, { text: 'x' })
    t.equal(made.times, 1)
    begun.resolve()
    await ended.promise
  })
  await begun.promise
  await collectInNextTurn()
  t.strictSame(value.value, { text: 'x' })
  t.equal(made.times, 2)
  ended.resolve()
  await use
})

t.test('a small value is kept', async (t) => {
  const value = new Collectable<object>(
    () => {
      throw new Error('it is not made')
    },
    1,
    { text: 'x' },
  )
  await collectInNextTurn()
  t.strictSame(value.value, { text: 'x' })
})
