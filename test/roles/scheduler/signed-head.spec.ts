import t, { type Test } from 'tap'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { emptyHead } from '../../../src/audit/signed-head.ts'
import { SignedHeads } from '../../../src/audit/signed-heads.ts'
import type { LastSeal } from '../../../src/domain/ledger/ledger.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { type SealerParts, startSealer } from '../../../src/roles/scheduler/sealer.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { checkpointsOf, checkSealed, framesOf, MemoryHeadStore } from '../../support/sealing.ts'
import { credited, opened } from '../projector/facts.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const longMs = schedulerLimits.sealEveryMs + schedulerLimits.sealStandbyMs

interface Options extends Partial<Omit<SealerParts, 'log' | 'heads'>> {
  readonly stores: readonly MemoryHeadStore[]
}

/** Its clock is always far enough ahead for a checkpoint to be due. */
const start = (t: Test, log: SealerParts['log'], { stores, ...parts }: Options) => {
  const logger = recordingLogger()
  const heads = new SignedHeads({ stores, logger })
  let nowMs = 0
  const clock = (): number => {
    nowMs += longMs
    return nowMs
  }
  const known = { signer, previous: [], sealed: null, firstSeal: false, clock, logger }
  const running = startSealer({ log, ...known, heads, ...parts })
  t.teardown(() => running.stop())
  const faults = (): readonly string[] =>
    logger.lines.flatMap(({ event, fields }) =>
      event === 'seal.stopped' ? [(fields as { fault: Error }).fault.message] : [],
    )
  return { stop: () => running.stop(), faults, logger, running }
}

const logOf = async (frames: number, word = 'one'): Promise<MemoryLog> => {
  const log = new MemoryLog()
  for (let frame = 0; frame < frames; frame += 1) await log.append([opened(`${word}-${frame}`)])
  return log
}

/** A log that was sealed to its end, what was signed of it, and the last checkpoint. */
const sealedLog = async (t: Test, frames: number) => {
  const log = await logOf(frames)
  const store = new MemoryHeadStore()
  await start(t, log, { stores: [store], firstSeal: true }).stop()
  const [checkpoint] = await checkpointsOf(log)
  const sealed: LastSeal = { size: checkpoint!.size, sequence: checkpoint!.sequence }
  return { log, store, sealed }
}

const stopsWith = async (t: Test, log: MemoryLog, options: Options, message: RegExp): Promise<void> => {
  const before = log.frames.length
  const { faults, running } = start(t, log, options)
  await until(() => faults().length > 0)
  t.match(faults()[0], message)
  t.match(running.checks().ready, { ok: false, reason: message })
  t.equal(log.frames.length, before, 'and nothing is signed')
}

t.test('a log without a state is sealed only where that is said, but for an empty one', async (t) => {
  await stopsWith(
    t,
    await logOf(2),
    { stores: [new MemoryHeadStore()] },
    /not known what was signed of it last.*--first-seal/,
  )
  const { log, store } = await sealedLog(t, 2)
  t.equal(store.head?.size, 2)
  t.equal((await checkpointsOf(log)).length, 1)

  const empty = new MemoryLog()
  const fresh = new MemoryHeadStore()
  const { stop } = start(t, empty, { stores: [fresh] })
  await until(() => fresh.head?.size === 0)
  await empty.append([opened()])
  await stop()
  t.equal(fresh.head?.size, 1)
})

t.test('a log that was rolled back, rewritten, or rewritten without its checkpoints is not signed', async (t) => {
  const { store, sealed } = await sealedLog(t, 5)
  const kept = () => [new MemoryHeadStore('memory', store.head)]
  await stopsWith(t, await logOf(3), { stores: kept() }, /rolled back: it ends at frame 3, and 5 frames were signed/)
  await stopsWith(t, await logOf(9, 'another'), { stores: kept() }, /its frames 1 to 5 are not those that were signed/)
  await stopsWith(t, await logOf(9, 'another'), { stores: kept(), sealed }, /frame 6 .*cannot be built on/)
})

t.test('a log that another key of the same name has sealed anew is not signed', async (t) => {
  const { store } = await sealedLog(t, 5)
  const otherSigner = createSigner(signer.name, Buffer.alloc(32, 9))
  const forged = await logOf(9, 'another')
  await start(t, forged, { stores: [new MemoryHeadStore()], firstSeal: true, signer: otherSigner }).stop()
  const [seal] = await checkpointsOf(forged)
  const sealed = { size: seal!.size, sequence: seal!.sequence }
  await stopsWith(t, forged, { stores: [new MemoryHeadStore('memory', store.head)], sealed }, /not signed by/)
  await stopsWith(t, forged, { stores: [new MemoryHeadStore('memory', store.head)] }, /are not those that were signed/)
})

t.test('a state that is behind the checkpoints is brought up to them', async (t) => {
  const { log, sealed } = await sealedLog(t, 5)
  const behind = new MemoryHeadStore()
  const early = await logOf(2)
  await start(t, early, { stores: [behind], firstSeal: true }).stop()
  await log.append([opened('more')])
  const { stop, faults } = start(t, log, { stores: [behind], sealed })
  await stop()
  t.same(faults(), [])
  checkSealed(t, await framesOf(log), [deriveVerifier(signer)])
  t.equal(behind.head?.size, 7)
})

t.test('of two stores the larger counts', async (t) => {
  const { store } = await sealedLog(t, 5)
  const early = new MemoryHeadStore('file')
  await start(t, await logOf(2), { stores: [early], firstSeal: true }).stop()
  const later = new MemoryHeadStore('table', store.head)
  await stopsWith(t, await logOf(3), { stores: [early, later] }, /it ends at frame 3, and 5 frames were signed/)
  const elsewhere = new MemoryHeadStore('table')
  await start(t, await logOf(2, 'another'), { stores: [elsewhere], firstSeal: true }).stop()
  await stopsWith(t, await logOf(3), { stores: [early, elsewhere] }, /size 2 and have different roots/)
})

t.test('where one store is away and the other has nothing, sealing waits for it', async (t) => {
  const { log, store, sealed } = await sealedLog(t, 5)
  const away = new MemoryHeadStore('table', store.head)
  away.fault = new Error('connection refused')
  const file = new MemoryHeadStore('file')
  await log.append([opened('more')])
  const { logger, faults } = start(t, log, { stores: [file, away], sealed })
  await until(() => logger.lines.some(({ event }) => event === 'seal.state_unavailable'))
  t.equal((await checkpointsOf(log)).length, 1)
  away.fault = null
  await until(async () => (await checkpointsOf(log)).length === 2)
  t.same(faults(), [])
  t.same([file.head?.size, away.head?.size], [7, 7])
})

t.test(
  'while the table is away the file alone takes what is signed; while the file is, nothing is signed',
  async (t) => {
    const log = new MemoryLog()
    const [file, table] = [new MemoryHeadStore('file'), new MemoryHeadStore('table')]
    const { logger } = start(t, log, { stores: [file, table] })
    await until(() => table.head !== null)
    table.fault = new Error('connection refused')
    await log.append([opened('one')])
    await until(async () => (await checkpointsOf(log)).length === 1)
    t.same([file.head?.size, table.head?.size], [1, 0])
    t.match(logger.lines, [{ level: 'warn', event: 'seal.state_unavailable' }])
    file.fault = new Error('no space left on device')
    await log.append([opened('two')])
    await until(() => logger.lines.some(({ event }) => event === 'seal.checkpoint_not_stored'))
    t.equal((await checkpointsOf(log)).length, 1)
    file.fault = null
    await until(async () => (await checkpointsOf(log)).length === 2)
  },
)

t.test(
  'killed between any two steps of a checkpoint, the next one seals on, and nothing is contradicted',
  async (t) => {
    const never = new Promise<never>(() => {})
    for (const step of ['before the head is stored', 'before the checkpoint is', 'before it is acknowledged']) {
      const { log, store, sealed } = await sealedLog(t, 3)
      await log.append([credited('one')])
      const reached = Promise.withResolvers<void>()
      const hang = async (): Promise<never> => {
        reached.resolve()
        return never
      }
      const dying = new MemoryHeadStore('memory', store.head)
      dying.beforeWrite = async (head) => {
        if (step === 'before the head is stored') await hang()
        store.head = head
      }
      const killed: SealerParts['log'] = {
        writer: 'killed',
        lastSequence: () => log.lastSequence(),
        read: (from, to) => log.read(from, to),
        followRaw: (from, onFrame) => log.followRaw(from, onFrame),
        append: async (facts) => {
          if (step === 'before the checkpoint is') return hang()
          await log.append(facts)
          return hang()
        },
      }
      const first = start(t, killed, { stores: [dying], sealed })
      await reached.promise
      await log.append([credited('two')])
      const { stop, faults } = start(t, log, { stores: [store], sealed })
      await stop()
      t.same([faults(), first.faults()], [[], []], step)
      const found = checkSealed(t, await framesOf(log), [deriveVerifier(signer)])
      t.ok(found.at(-1)!.size >= 6, 'all is sealed')
    }
  },
)

t.test(
  'of two sealers neither signs less than the other, also where one dies after it said what it signs',
  async (t) => {
    const { log, store, sealed } = await sealedLog(t, 3)
    const table = new MemoryHeadStore('table', store.head)
    const [one, other] = [new MemoryHeadStore('one', store.head), new MemoryHeadStore('other', store.head)]
    await log.append([opened('four')])
    const dying: SealerParts['log'] = {
      writer: 'dying',
      lastSequence: () => log.lastSequence(),
      read: (from, to) => log.read(from, to),
      followRaw: (from, onFrame) => log.followRaw(from, onFrame),
      append: () => new Promise(() => {}),
    }
    start(t, dying, { stores: [one, table], sealed })
    await until(() => table.head?.size === 5)
    t.equal((await checkpointsOf(log)).length, 1, 'it has signed what is nowhere stored')
    const { faults } = start(t, log, { stores: [other, table], sealed })
    await log.append([opened('six')])
    await until(async () => (await checkpointsOf(log)).some(({ size }) => size === 6))
    t.same(faults(), [])
    checkSealed(t, await framesOf(log), [deriveVerifier(signer)])
  },
)

t.test('what was signed of another log is not continued', async (t) => {
  const { store } = await sealedLog(t, 3)
  const other = createSigner('example.com/other', Buffer.alloc(32, 7))
  await stopsWith(
    t,
    await logOf(3),
    { stores: [store], signer: other },
    /in memory, is of the log example\.com\/log, and the key is of example\.com\/other/,
  )
  const foreign = new MemoryHeadStore('data/audit.state', emptyHead('example.com/other'))
  await stopsWith(
    t,
    await logOf(3),
    { stores: [foreign, new MemoryHeadStore('the table held', store.head)] },
    /data\/audit\.state is of the log example\.com\/other, and the table held of example\.com\/log: `audit\.state`/,
  )
})
