import t, { type Test } from 'tap'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import type { SnapshotHead } from '../../../src/audit/seal.ts'
import { SignedHeads } from '../../../src/audit/signed-heads.ts'
import { restoreLedger, type SnapshotStore } from '../../../src/audit/snapshots.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { snapshotFormat } from '../../../src/domain/ledger/snapshot.ts'
import { wrapEvent } from '../../../src/events/envelope.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { SnapshotWriter } from '../../../src/roles/scheduler/snapshot-writer.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { checkpointsOf, MemoryHeadStore } from '../../support/sealing.ts'
import { MemorySnapshots } from '../../support/snapshots.ts'
import { checkpointSealed, credited, opened, workspaceId } from '../projector/facts.ts'
import { ledgerOf } from '../projector/projecting.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const verifiers = [deriveVerifier(signer)]

const start = async (t: Test, log: MemoryLog, store: SnapshotStore) => {
  const logger = recordingLogger()
  const clock = { aheadMs: 0 }
  const tail = new LedgerTail(initialLedger(), log)
  const running = await scheduler.start({
    log,
    tail,
    sealing: {
      signer,
      previous: [],
      heads: new SignedHeads({ stores: [new MemoryHeadStore()], logger }),
      firstSeal: true,
    },
    snapshots: { store, openLedger: async () => initialLedger() },
    requestDeadlineMs: 1_000,
    clock: () => Date.now() + clock.aheadMs,
    logger,
  })
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    stopped ??= running.stop().then(() => tail.stop())
    return stopped
  }
  t.teardown(stop)
  return { clock, logger, stop }
}

const confirmedIn = async (log: MemoryLog): Promise<readonly SnapshotHead[]> =>
  (await checkpointsOf(log)).flatMap(({ snapshot }) => snapshot ?? [])

const restore = (log: MemoryLog, store: SnapshotStore) => {
  const refused: string[] = []
  const onRefused = (head: SnapshotHead, fault: unknown): void => void refused.push(`${head.sequence}: ${fault}`)
  return restoreLedger({ store, log, verifiers, onRefused }).then((ledger) => ({ ledger, refused }))
}

const newLog = async (): Promise<MemoryLog> => {
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet(workspaceId, [credited('first', '100')])
  return log
}

t.test('a snapshot is written when it is due, confirmed by the next checkpoint, and believed', async (t) => {
  const log = await newLog()
  const store = new MemorySnapshots()
  const { clock } = await start(t, log, store)
  await until(async () => (await checkpointsOf(log)).length === 1)
  t.same(await store.list(), [], 'none before it is due')
  clock.aheadMs = schedulerLimits.snapshotEveryMs
  await log.postToWallet(workspaceId, [credited('second', '5')])
  await until(async () => (await confirmedIn(log)).length === 1)
  const [head] = await store.list()
  t.same(await confirmedIn(log), [head])
  t.match(head, { format: snapshotFormat })
  const { ledger, refused } = await restore(log, store)
  t.same(refused, [])
  t.same(ledger, ledgerOf(log, head!.sequence))
})

t.test('a stop writes the end of the log; one without news writes nothing', async (t) => {
  const log = await newLog()
  const store = new MemorySnapshots()
  const { stop } = await start(t, log, store)
  await until(async () => (await checkpointsOf(log)).length === 1)
  const before = log.frames.length
  await stop()
  const [head] = await store.list()
  t.equal(head?.sequence, before)
  t.same(await confirmedIn(log), [head])
  t.equal(log.frames.length, before + 1)
})

t.test('of several sealers one writes the snapshot of a sequence: the last to have sealed by then', async (t) => {
  const log = new MemoryLog()
  const written: string[] = []
  const writers = ['one', 'two'].map((writer) => {
    const write: SnapshotStore['write'] = async (sequence) => {
      written.push(`${sequence} ${writer}`)
      return { sequence, format: snapshotFormat, sha256: '' }
    }
    const store = { write, removeBeyond: async () => {} }
    const follow: MemoryLog['follow'] = (from, onFrame) => log.follow(from, onFrame)
    const parts = {
      store,
      openLedger: async () => initialLedger(),
      everyMs: 0,
      clock: () => 0,
      logger: recordingLogger(),
    }
    return new SnapshotWriter({ ...parts, log: { writer, follow, lastSequence: () => log.lastSequence() } })
  })
  for (const [index, writer] of ['', 'one', '', 'two', '', 'one', 'two', 'one', '', '', 'two', ''].entries()) {
    const fact = writer === '' ? opened(`workspace-${index}`) : checkpointSealed(index)
    const event = wrapEvent(fact, `event-${index}`, '/gateway/test', new Date(index).toISOString())
    log.store({ walletSubject: null, writer, counter: index, events: [event] })
  }
  await Promise.all(writers.map((each) => each.stop()))
  const bySequence = written.toSorted((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
  t.same(bySequence, ['2 one', '3 one', '4 two', '5 two', '6 one', '9 one', '10 one', '11 two', '12 two'])
})

t.test('what a longer history left is removed when a snapshot is written', async (t) => {
  const log = await newLog()
  const store = new MemorySnapshots()
  for (const sequence of [10_000, 20_000, 30_000])
    store.put({ sequence, format: snapshotFormat, sha256: 'a'.repeat(64) }, Buffer.from(''))
  const { stop } = await start(t, log, store)
  await until(async () => (await checkpointsOf(log)).length === 1)
  await stop()
  t.same(await confirmedIn(log), await store.list())
  t.equal((await store.list()).length, 1)
})

t.test(
  'a snapshot that is changed, not confirmed, or of another format is refused, and the one before is used',
  async (t) => {
    const log = await newLog()
    const store = new MemorySnapshots()
    const { stop } = await start(t, log, store)
    await until(async () => (await checkpointsOf(log)).length === 1)
    await stop()
    const [head] = await store.list()
    store.put({ ...head!, sequence: head!.sequence + 1 }, store.bytes(head!))
    store.put({ ...head!, sequence: head!.sequence + 2, format: snapshotFormat + 1 }, store.bytes(head!))
    const { ledger, refused } = await restore(log, store)
    t.same(ledger, ledgerOf(log, head!.sequence))
    t.match(refused, [/has format/, /no checkpoint in the log/])

    store.put(head!, Buffer.from(store.bytes(head!).toString().replace('"100', '"900')))
    t.match(await restore(log, store), { ledger: null, refused: [/format/, /no checkpoint/, /do not have the hash/] })
  },
)
