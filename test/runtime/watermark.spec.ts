import t from 'tap'
import { Watermark } from '../../src/runtime/watermark.ts'

t.test('who waits is resolved once it is reached, in order', async (t) => {
  const watermark = new Watermark(2)
  const reached: number[] = []
  const waits = [5, 3, 4, 2].map((sequence) => watermark.waitFor(sequence).then(() => reached.push(sequence)))
  watermark.moveTo(4)
  await Promise.all([waits[1], waits[2], waits[3]])
  t.same(reached.toSorted(), [2, 3, 4])
  watermark.moveTo(9)
  await Promise.all(waits)
  t.equal(watermark.sequence, 9)
})

t.test('who waits when it is closed, or later, gets the fault; what was reached before still resolves', async (t) => {
  const watermark = new Watermark(1)
  const waiting = watermark.waitFor(2)
  watermark.close(new Error('over'))
  await t.rejects(waiting, { message: 'over' })
  await t.rejects(watermark.waitFor(3), { message: 'over' })
  await t.resolves(watermark.waitFor(1))
})
