import t from 'tap'
import { allottedSlots, heldByOthers, heldSlots, noSlots } from '../../../src/domain/rates/slots.ts'

const at = (untilMs: number, slots: number) => ({ slots, untilMs })

t.test('as many as the others leave', async (t) => {
  const slots = heldSlots(noSlots, 0, 'a', at(1_000, 3))
  t.equal(allottedSlots(slots, 0, { holder: 'b', used: 0, wanted: 5 }, 5), 2)
  t.equal(allottedSlots(slots, 0, { holder: 'a', used: 3, wanted: 9 }, 5), 5)
  t.equal(allottedSlots(slots, 0, { holder: 'b', used: 4, wanted: 5 }, 5), 4, 'what runs, runs')
  t.equal(allottedSlots(slots, 0, { holder: 'b', used: 0, wanted: 5 }, 2), 0)
})

t.test('what is not renewed is free', async (t) => {
  const slots = heldSlots(heldSlots(noSlots, 0, 'a', at(1_000, 3)), 500, 'b', at(1_500, 1))
  t.equal(heldByOthers(slots, 'b', 999), 3)
  t.equal(heldByOthers(slots, 'b', 1_000), 0)
  t.same(heldSlots(slots, 1_000, 'c', at(2_000, 1)), { b: at(1_500, 1), c: at(2_000, 1) })
  t.same(heldSlots(slots, 500, 'a', at(1_500, 0)), { b: at(1_500, 1) }, 'and what is given back')
})
