import fc from 'fast-check'
import t from 'tap'
import { FairQueue } from '../../src/runtime/fair-queue.ts'
import { propertyRuns } from '../support/property-runs.ts'

t.test(
  'each key keeps its order, nothing is lost, and between two items of a key each other that waits has one',
  async (t) => {
    fc.assert(
      fc.property(fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), due: fc.boolean() })), (pushed) => {
        const queue = new FairQueue<{ key: string; due: boolean }>(({ due }) => due)
        for (const item of pushed) queue.push(item.key, item)
        const taken: { key: string; due: boolean }[] = []
        while (!queue.isEmpty) {
          const waiting = new Set(pushed.filter((item) => item.due && !taken.includes(item)).map(({ key }) => key))
          const item = queue.shift()!
          if (waiting.size > 1 && item.key === taken.at(-1)?.key) return false
          taken.push(item)
        }
        const orderOf = (items: typeof taken, key: string) => items.filter((item) => item.due && item.key === key)
        return ['a', 'b', 'c'].every((key) =>
          orderOf(taken, key).every((item, index) => item === orderOf(pushed, key)[index]),
        )
          ? taken.length === pushed.filter(({ due }) => due).length && queue.shift() === undefined
          : false
      }),
      propertyRuns(300),
    )
    t.pass('holds')
  },
)
