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

const bytesOf = (counter: number, memory: Buffer = Buffer.alloc(frameBytes)): Buffer => {
  memory.fill(`counter ${counter}`)
  memory.write(`frame ${counter}\n`)
  return memory
}

const frameOf = (counter: number) => ({ writer: 'writer', counter, events: [] })

t.test('a frame is kept without what its connection read beside it', async (t) => {
  const recent = new RecentFrames()
  const before = heldBytes()
  for (let counter = 1; counter <= frames; counter += 1)
    recent.remember(frameOf(counter), bytesOf(counter, Buffer.from(new ArrayBuffer(readAtOnceBytes), 0, frameBytes)))
  await until(() => heldBytes() - before < 2 * frames * frameBytes)
  t.same(recent.take(bytesOf(7)), frameOf(7))
  t.equal(recent.take(bytesOf(7)), undefined, 'once')
  t.equal(recent.take(bytesOf(8).fill('other', 100)), undefined, 'other bytes')
})
