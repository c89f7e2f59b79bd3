import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openHeadFile } from '../../src/adapters/audit-files.ts'
import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import { rollBack } from '../../src/audit/rollback.ts'
import { type SignedHead, type SignedHeadStore, signedHeadOf } from '../../src/audit/signed-head.ts'
import { encodeFrame } from '../../src/events/codec.ts'
import { type Fact, wrapEvent } from '../../src/events/envelope.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { opened } from '../roles/projector/facts.ts'
import { MemorySource } from './sealed-log.ts'

const frameOf = (sequence: number, fact: Fact): RawFrame => {
  const time = '2026-03-01T00:00:00.000Z'
  const line = JSON.stringify(wrapEvent(fact, `event-${sequence}`, '/gateway/operator/writer', time))
  const id = { writer: 'writer', counter: sequence }
  const data = Buffer.from(encodeFrame(id, [line]))
  return { sequence, subject: 'journal.operator', id: `writer:${sequence}`, storedMs: Date.parse(time), data }
}

const framesTo = (size: number, of: string, begun: readonly RawFrame[] = []): readonly RawFrame[] => [
  ...begun,
  ...Array.from({ length: size - begun.length }, (_, place) =>
    frameOf(begun.length + place + 1, opened(`${of}-${place}`)),
  ),
]

const headOf = (origin: string, frames: readonly RawFrame[]): SignedHead => {
  const tree = new GrowingTree()
  for (const frame of frames) tree.append(hashFrame(frame))
  return signedHeadOf(origin, tree)
}

/** Once rolled back from ten frames to five, and signed to eight as `second`; its last frame is lost now. */
const startSecond = async (t: Test) => {
  const firstFrames = framesTo(10, 'first')
  const first = headOf('first', firstFrames)
  const frames = firstFrames.slice(0, 5)
  const folder = t.testdir()
  const store = openHeadFile(join(folder, 'audit.state'))
  await store.replace(first)
  const rollBackTo = (
    size: number,
    origin: string,
    published: readonly SignedHead[],
    stores: readonly SignedHeadStore[] = [store],
  ) =>
    rollBack({
      source: new MemorySource(frames),
      append: async (fact) => frames.push(frameOf(frames.length + 1, fact)),
      ...{ stores, published, origin, size, reason: 'a disk was lost', actor: 'operator:ana' },
    })
  t.match(await rollBackTo(5, 'second', [first]), { origin: 'first', size: 10 })
  const second = headOf('second', framesTo(8, 'second', frames))
  frames.push(...framesTo(7, 'second', frames).slice(frames.length))
  await store.replace(second)
  return { folder, first, second, store, rollBackTo }
}

t.test('a second rollback names what was signed last, though witnesses know more of the history before', async (t) => {
  const { first, second, store, rollBackTo } = await startSecond(t)
  t.match(await rollBackTo(7, 'third', [first, second]), { origin: 'second', size: 8 })
  t.match(await store.read(), { origin: 'third', size: 7 })
  await store.replace(second)
  t.match(
    await rollBackTo(7, 'third', [first, second]),
    { origin: 'second', size: 8 },
    'repeated where it was interrupted',
  )
})

t.test('also where no store has it', async (t) => {
  const { folder, first, second, rollBackTo } = await startSecond(t)
  const empty = openHeadFile(join(folder, 'empty.state'))
  t.match(await rollBackTo(7, 'third', [first, second], [empty]), { origin: 'second', size: 8 })
})

t.test('and where another store has an older one', async (t) => {
  const { folder, first, store, rollBackTo } = await startSecond(t)
  const old = openHeadFile(join(folder, 'old.state'))
  await old.replace(first)
  t.match(await rollBackTo(7, 'third', [first], [old, store]), { origin: 'second', size: 8 })
})
