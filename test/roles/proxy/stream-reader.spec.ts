import t from 'tap'
import { ChunkPusher, type OpenStream } from '../../../src/roles/proxy/attempt.ts'
import { proxyLimits } from '../../../src/roles/proxy/limits.ts'
import { beginRun } from '../../../src/roles/proxy/run-state.ts'
import { StreamReader } from '../../../src/roles/proxy/stream-reader.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { silentLogger } from '../../support/log-lines.ts'

type Chunks = OpenStream['chunks']

const readerOf = (chunks: Chunks, push: (bytes: Uint8Array) => Uint8Array | null): StreamReader => {
  const relay = { state: 'open', delivered: { texts: [] }, push, end: () => null } as unknown as OpenStream['relay']
  const pusher = new ChunkPusher(relay, 'acme', { takeArrived: () => [] })
  const stream = { relay, chunks, pusher, first: null } as unknown as OpenStream
  const state = { ...beginRun(true), phase: 'streaming' as const }
  return new StreamReader({ logger: silentLogger, clock: () => 0 }, stream, { state, apply: () => state })
}

/** They have all come. */
const chunksOf = (value: Uint8Array): Chunks => ({ next: async () => ({ done: false, value }) })

t.test('large events of several streams are not read in one turn', async (t) => {
  const turnsOfEvents: number[] = []
  let turn = 0
  let isOver = false
  const loop = async (): Promise<void> => {
    for (; !isOver; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const read = async (): Promise<void> => {
    let pieces = 0
    const chunks = chunksOf(Buffer.alloc(proxyLimits.chunkPieceBytes))
    const reader = readerOf(chunks, (bytes) => {
      pieces += 1
      if (pieces <= sharedLimits.turnBytes / proxyLimits.chunkPieceBytes) return null
      turnsOfEvents.push(turn)
      const untilMs = performance.now() + 10
      while (performance.now() < untilMs);
      return bytes
    })
    while ((await reader.read()) === null);
  }
  const looping = loop()
  await Promise.all(Array.from({ length: 5 }, read))
  isOver = true
  await looping
  t.equal(new Set(turnsOfEvents).size, 5, turnsOfEvents.join())
})

t.test('a chunk of many events is read piece by piece', async (t) => {
  const pieces: number[] = []
  const reader = readerOf(chunksOf(Buffer.alloc(3.5 * proxyLimits.chunkPieceBytes)), (bytes) => {
    pieces.push(bytes.length)
    return pieces.length === 2 ? null : bytes
  })
  const bytes = await reader.read()
  t.same(
    pieces,
    [1, 1, 1, 0.5].map((part) => part * proxyLimits.chunkPieceBytes),
  )
  t.equal(bytes?.length, 2.5 * proxyLimits.chunkPieceBytes, 'all that came of it')
})

t.test('a chunk that waits for its turn goes with what has arrived behind it', async (t) => {
  const relay = { push: (bytes: Uint8Array) => bytes } as unknown as OpenStream['relay']
  const arrived = ['b', 'c'].map((text) => Buffer.from(text))
  const pusher = new ChunkPusher(relay, 'acme', { takeArrived: () => arrived.splice(0) })
  const before = new ChunkPusher(relay, 'acme', { takeArrived: () => [] })
  for (let chunk = 0; chunk < proxyLimits.chunksPerTurn; chunk += 1) before.push(Buffer.from('.'))
  const waiting = pusher.push(Buffer.from('a'))
  t.ok(waiting instanceof Promise)
  t.equal(Buffer.from((await waiting)!).toString(), 'abc')
  const next = await new Promise((resolve) => setImmediate(() => resolve(pusher.push(Buffer.from('d')))))
  t.notOk(next instanceof Promise, 'at once, where nothing waits')
})
