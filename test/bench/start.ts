/** `make bench-start`: a start from a snapshot against a replay, by the events of the log and the workspaces in it. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { openSnapshots } from '../../src/adapters/nats/snapshots/open.ts'
import { countPeaks, GrowingTree } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier } from '../../src/audit/note.ts'
import { SealBuilder, type SnapshotHead, signSeal } from '../../src/audit/seal.ts'
import { encodeSnapshot, restoreLedger } from '../../src/audit/snapshots.ts'
import { applyFrame, initialLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { type Fact, wrapEvent } from '../../src/events/envelope.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { MemorySource } from '../audit/sealed-log.ts'
import { credited, keyIssued, opened } from '../roles/projector/facts.ts'
import { silentLogger } from '../support/log-lines.ts'
import { rawFrameOf } from '../support/memory-log.ts'
import { GeneratedLog } from './audit/generated-log.ts'

const { values } = parseArgs({
  options: { events: { type: 'string', default: '1000000' }, workspaces: { type: 'string', default: '1000' } },
})
const [events, workspaces] = [Number(values.events), Number(values.workspaces)]
const eventsOfRequest = 2

const timed = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
  const fromMs = performance.now()
  const done = await work()
  return [done, (performance.now() - fromMs) / 1_000]
}

const frameOf = (sequence: number, facts: readonly Fact[]) => ({
  sequence,
  walletSubject: null,
  writer: 'bench',
  counter: sequence,
  events: facts.map((fact, index) => wrapEvent(fact, `event-${sequence}-${index}`, '/bench', '2026-03-01T00:00:00Z')),
})

const fold = async (): Promise<Ledger> => {
  const ledger = initialLedger()
  const shape = { requests: events / eventsOfRequest, days: 30, keys: 50, modelsOfKey: 4, models: 40 }
  const log = new GeneratedLog(shape)
  const reached = Promise.withResolvers<void>()
  const follower = log.follow(1, (frame) => {
    applyFrame(ledger, frame)
    if (frame.sequence === log.frames) reached.resolve()
  })
  await Promise.race([reached.promise, follower.done])
  await follower.stop()
  for (let number = 0; number < workspaces; number += 1) {
    const id = `workspace-${number}`
    const facts = [opened(id), keyIssued(`key-${number}`, id), credited(`credit-${number}`, '10', id)]
    applyFrame(ledger, frameOf(ledger.sequence + 1, facts))
  }
  return ledger
}

const signer = createSigner('bench', Buffer.alloc(32, 1))

/** The last frame of a log of that length, and the checkpoint that confirms the snapshot of it. */
const endOf = (head: SnapshotHead): readonly RawFrame[] => {
  const before = head.sequence - 1
  const peaks = Array.from({ length: countPeaks(before) }, () => Buffer.alloc(32))
  const builder = new SealBuilder(new GrowingTree(before, peaks))
  const last = rawFrameOf(frameOf(head.sequence, [opened('last')]))
  builder.take(last)
  const data = signSeal(builder.next(), signer, head)
  return [last, rawFrameOf(frameOf(head.sequence + 1, [{ type: 'CheckpointSealed', data }]))]
}

const server = await NatsServer.create()
const connection = await connectNats({ url: server.url, name: 'bench' })
try {
  const store = await openSnapshots({
    connection,
    name: 'GATEWAY',
    role: 'scheduler',
    replicas: 1,
    create: true,
    logger: silentLogger,
  })
  const [ledger, foldSeconds] = await timed(fold)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const [head, writeSeconds] = await timed(() => store.write(ledger.sequence, encodeSnapshot(ledger)))
  delay.disable()
  const log = new MemorySource(endOf(head))
  const verifiers = [deriveVerifier(signer)]
  const beforeBytes = process.memoryUsage().rss
  const onRefused = (_: SnapshotHead, fault: unknown): never => {
    throw fault
  }
  const [restored, startSeconds] = await timed(() => restoreLedger({ store, log, verifiers, onRefused }))
  console.table({
    events,
    workspaces,
    'seconds to fold it all, without reading it': foldSeconds.toFixed(2),
    'seconds to write the snapshot': writeSeconds.toFixed(2),
    'longest stop of the event loop meanwhile, ms': (delay.max / 1e6).toFixed(0),
    'seconds to read the snapshot and decode it': startSeconds.toFixed(2),
    'MB of memory for it': ((process.memoryUsage().rss - beforeBytes) / 2 ** 20).toFixed(0),
    'at sequence': restored?.sequence,
  })
} finally {
  await connection.close()
  await server.remove()
}
