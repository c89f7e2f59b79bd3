import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { RecentFrames } from '../../../src/adapters/nats/read-frame.ts'
import { until } from '../../support/clients.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const frameBytes = 1_000
const readAtOnceBytes = 64 * 1024
const frames = 500

/** What a collection lets go of is given back on another thread, after it. */
const heldBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

t.test('a frame is kept without what its connection read beside it', async (t) => {
  const recent = new RecentFrames()
  const before = heldBytes()
  for (let frame = 0; frame < frames; frame += 1)
    recent.remember(`writer:${frame}`, Buffer.from(new ArrayBuffer(readAtOnceBytes), 0, frameBytes).fill(frame), [])
  await until(() => heldBytes() - before < 2 * frames * frameBytes)
  t.same(recent.take('writer:7', Buffer.alloc(frameBytes, 7)), [])
  t.equal(recent.take('writer:7', Buffer.alloc(frameBytes, 7)), undefined, 'once')
  t.equal(recent.take('writer:8', Buffer.alloc(frameBytes, 7)), undefined, 'other bytes')
})
