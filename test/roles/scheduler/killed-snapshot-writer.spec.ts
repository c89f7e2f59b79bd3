import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { openSnapshots } from '../../../src/adapters/nats/snapshots/open.ts'
import { auditLimits } from '../../../src/audit/limits.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { SignedHeads } from '../../../src/audit/signed-heads.ts'
import { restoreLedger, type SnapshotStore } from '../../../src/audit/snapshots.ts'
import { decideVerdict, verifyLog } from '../../../src/audit/verify.ts'
import { replaySnapshots, verifySnapshots } from '../../../src/audit/verify-snapshots.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { type SealerParts, startSealer } from '../../../src/roles/scheduler/sealer.ts'
import { SnapshotWriter, type SnapshotWriterParts } from '../../../src/roles/scheduler/snapshot-writer.ts'
import { NatsServer } from '../../adapters/nats/server.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger, silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { checkpointsOf, MemoryHeadStore } from '../../support/sealing.ts'
import { opened } from '../projector/facts.ts'
import { ledgerOf } from '../projector/projecting.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const verifiers = [deriveVerifier(signer)]
const never = new Promise<never>(() => {})

/** What a process did until it was killed: before the step of that number, counted from 1. */
class KilledAt {
  readonly #step: number
  readonly steps: string[] = []

  constructor(step: number) {
    this.#step = step
  }

  get isDead(): boolean {
    return this.steps.length >= this.#step
  }

  /** Whether the process is alive to do it. */
  reach(name: string): boolean {
    if (!this.isDead) this.steps.push(name)
    return !this.isDead
  }

  connection(connection: NatsConnection): NatsConnection {
    const reach = (subject: string): boolean => {
      if (subject.startsWith('gateway.snapshot.')) return this.reach('the head is stored')
      if (subject.startsWith('gateway.snapshot-part.')) return this.reach('a piece is stored')
      return subject.includes('STREAM.PURGE') ? this.reach('an old one is removed') : !this.isDead
    }
    const publish: NatsConnection['publish'] = (subject, ...more) => {
      if (reach(subject)) connection.publish(subject, ...more)
    }
    const request: NatsConnection['request'] = (subject, ...more) =>
      reach(subject) ? connection.request(subject, ...more) : never
    return new Proxy(connection, {
      get: (target, name) => {
        if (name === 'publish') return publish
        if (name === 'request') return request
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  log(log: MemoryLog): SealerParts['log'] & SnapshotWriterParts['log'] {
    const alive =
      <T>(onFrame: (frame: T) => void | Promise<void>) =>
      (frame: T) =>
        this.isDead ? never : onFrame(frame)
    return {
      writer: log.writer,
      lastSequence: () => log.lastSequence(),
      read: (from, to) => log.read(from, to),
      follow: (from, onFrame) => log.follow(from, alive(onFrame)),
      followRaw: (from, onFrame) => log.followRaw(from, alive(onFrame)),
      append: async (facts) => {
        const isConfirmation = facts.some(({ type, data }) => type === 'CheckpointSealed' && 'snapshot' in data)
        if (isConfirmation ? !this.reach('the checkpoint that confirms it is stored') : this.isDead) return never
        const appended = await log.append(facts)
        return isConfirmation && !this.reach('that is acknowledged') ? never : appended
      },
    }
  }
}

t.test('killed between any two steps of a snapshot, the next process starts and writes the next one', async (t) => {
  const server = await NatsServer.create({ syncAlways: false })
  t.teardown(() => server.remove())
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const logger = recordingLogger()
  const openStore = (by: NatsConnection) =>
    openSnapshots({ connection: by, name: 'GATEWAY', role: 'scheduler', replicas: 1, create: true, logger })
  const store = await openStore(connection)
  const jsm = await jetstreamManager(connection)
  const log = new MemoryLog()
  const heads = new MemoryHeadStore()
  const workspaces = Array.from({ length: 900 }, (_, each) => opened(`workspace-${each}`))
  for (let from = 0; from < workspaces.length; from += 100) await log.append(workspaces.slice(from, from + 100))

  const restore = (by: SnapshotStore, onRefused: () => void) => restoreLedger({ store: by, log, verifiers, onRefused })

  /** One snapshot of it is due before it stops, and its log is sealed at each tick. */
  const start = async (killed: KilledAt) => {
    const [last] = (await checkpointsOf(log)).slice(-1)
    const parts = { log: killed.log(log), logger: silentLogger }
    const times = [0]
    const dying = await openStore(killed.connection(connection))
    const snapshots = new SnapshotWriter({
      ...parts,
      store: dying,
      everyMs: 1,
      clock: () => times.pop() ?? 1,
      openLedger: async () => (await restore(store, () => {})) ?? initialLedger(),
    })
    let nowMs = 0
    const clock = (): number => {
      nowMs += schedulerLimits.sealEveryMs + schedulerLimits.sealStandbyMs
      return nowMs
    }
    const sealing = { signer, previous: [], sealed: last ?? null, firstSeal: true, snapshots, clock }
    const sealer = startSealer({ ...parts, ...sealing, heads: new SignedHeads({ stores: [heads], logger }) })
    return async (): Promise<void> => {
      await snapshots.stop()
      await sealer.stop()
    }
  }
  const confirmed = async () => (await checkpointsOf(log)).flatMap(({ snapshot }) => snapshot ?? [])
  /** Runs until a further snapshot is confirmed and the process knows it, or the process is dead: then true. */
  const run = async (killed: KilledAt): Promise<boolean> => {
    const stop = await start(killed)
    await until(async () => {
      if (killed.isDead || killed.steps.includes('that is acknowledged')) return true
      await log.append([opened(`news-${log.frames.length}`)])
      return false
    })
    const { isDead } = killed
    const stopped = stop()
    if (!isDead) await stopped // A dead one waits for what never comes, to no effect.
    return isDead
  }
  const runUnkilled = (): Promise<boolean> => run(new KilledAt(Number.POSITIVE_INFINITY))
  for (let snapshot = 0; snapshot < auditLimits.snapshotsKept; snapshot += 1) await runUnkilled()

  const reached: string[] = []
  for (let step = 1; ; step += 1) {
    const killed = new KilledAt(step)
    if (!(await run(killed))) break
    const name = `killed before step ${step}: ${killed.steps.at(-1)}`
    reached.push(killed.steps.at(-1)!)

    const refused: string[] = []
    const ledger = await restore(store, () => refused.push('refused'))
    t.ok(ledger !== null && refused.length <= 1, `${name}: a start has a snapshot`)
    t.same(ledger, ledgerOf(log, ledger!.sequence), `${name}: and it is the ledger of its frames`)
    const found = await verifyLog({ source: log, verifiers, known: [{ head: heads.head!, place: 'the state' }] })
    t.not(decideVerdict(found), 'tampered', name)
    t.same(await verifySnapshots(store, found.snapshots), { findings: [], unproven: [] }, `${name}: no alarm`)
    await runUnkilled()
    const [head] = await store.list()
    t.same(head, (await confirmed()).at(-1), `${name}: the next one is written and confirmed`)
    t.ok((await store.list()).length <= auditLimits.snapshotsKept)
  }
  for (const name of [
    'a piece is stored',
    'the head is stored',
    'an old one is removed',
    'the checkpoint that confirms it is stored',
    'that is acknowledged',
  ])
    t.ok(reached.includes(name), name)
  t.ok(reached[1] === 'a piece is stored', 'it has several pieces')
  t.comment(`killed before each of ${reached.length} steps: ${reached.join(', ')}`)

  const found = await verifyLog({ source: log, verifiers })
  t.equal(decideVerdict(found), 'proven')
  t.same(await replaySnapshots(log, found.snapshots), [], 'each that was confirmed is the ledger of its frames')
  const listStored = async () => {
    const { state } = await jsm.streams.info('GATEWAY_SNAPSHOTS', { subjects_filter: '>' })
    return new Set(Object.keys(state.subjects ?? {}).map((subject) => subject.split('.')[2]))
  }
  // A stop does not wait longer than `snapshotStopMs` for the last one, and for what makes room for it.
  await until(async () => (await listStored()).size <= auditLimits.snapshotsKept)
  t.equal((await listStored()).size, auditLimits.snapshotsKept, 'nothing is left of those that were interrupted')
})
