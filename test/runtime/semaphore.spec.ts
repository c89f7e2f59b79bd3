import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { Semaphore } from '../../src/runtime/semaphore.ts'
import { propertyRuns } from '../support/property-runs.ts'

/** Work that is begun in the order of `begun`, and goes on until it is ended. */
const openWork = (semaphore: Semaphore) => {
  const begun: string[] = []
  const endings = new Map<string, () => void>()
  const run = (key: string, name: string): Promise<string> =>
    semaphore.run(key, () => {
      begun.push(name)
      return new Promise((resolve) => endings.set(name, () => resolve(name)))
    })
  const end = async (name: string): Promise<void> => {
    endings.get(name)?.()
    await turn()
  }
  return { begun, run, end }
}

t.test('one key has half of the places, and keys that wait take turns', async (t) => {
  const { begun, run, end } = openWork(new Semaphore(4))
  const all = ['h1', 'h2', 'h3', 'h4', 'h5'].map((name) => run('hog', name))
  t.same(begun, ['h1', 'h2'], 'the others are free for other keys')
  all.push(...['a1', 'a2', 'a3'].map((name) => run('a', name)), run('b', 'b1'))
  t.same(begun, ['h1', 'h2', 'a1', 'a2'])
  await end('h1')
  t.same(begun.slice(4), ['h3'])
  await end('a1')
  t.same(begun.slice(5), ['a3'])
  await end('a2')
  t.same(begun.slice(6), ['b1'], 'before what came earlier, of a key that has its half')
  for (const name of ['h2', 'h3', 'h4', 'h5', 'a3', 'b1']) await end(name)
  t.same((await Promise.all(all)).length, 9)
})

t.test('work that fails gives its place back', async (t) => {
  const semaphore = new Semaphore(1)
  const failing = semaphore.run('a', () => Promise.reject(new Error('broken')))
  const next = semaphore.run('a', async () => 'next')
  await t.rejects(failing, /broken/)
  t.equal(await next, 'next')
})

t.test('work that waits for too long is not begun any more', async (t) => {
  const { begun, run, end } = openWork(new Semaphore(1, { ms: 20, late: () => new Error('late') }))
  const first = run('hog', 'first')
  await t.rejects(run('hog', 'second'), /late/)
  const third = run('other', 'third')
  await end('first')
  t.same(begun, ['first', 'third'])
  await end('third')
  t.same(await Promise.all([first, third]), ['first', 'third'])
})

t.test('places are neither lost nor doubled', async (t) => {
  const works = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), turns: fc.integer({ min: 0, max: 4 }) }))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), works, async (permits, wanted) => {
      const semaphore = new Semaphore(permits)
      let running = 0
      let isExceeded = false
      const done = await Promise.all(
        wanted.map(({ key, turns }) =>
          semaphore.run(key, async () => {
            running += 1
            isExceeded ||= running > permits
            for (let left = turns; left > 0; left -= 1) await null
            running -= 1
            return key
          }),
        ),
      )
      return !isExceeded && done.length === wanted.length
    }),
    propertyRuns(200),
  )
  t.pass('holds')
})
