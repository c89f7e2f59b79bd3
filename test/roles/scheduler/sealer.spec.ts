import { setTimeout as pause } from 'node:timers/promises'
import { jetstream } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { createSigner, deriveVerifier, type Signer } from '../../../src/audit/note.ts'
import { SealBuilder, signSeal } from '../../../src/audit/seal.ts'
import { SignedHeads } from '../../../src/audit/signed-heads.ts'
import { initialLedger, type LastSeal } from '../../../src/domain/ledger/ledger.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { wrapEvent } from '../../../src/events/envelope.ts'
import type { CheckpointSealed } from '../../../src/events/types.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import type { RawFrames } from '../../../src/log/raw-frames.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { type SealerParts, startSealer } from '../../../src/roles/scheduler/sealer.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { adjustment, type Opened, openOn } from '../../adapters/nats/open.ts'
import { NatsServer } from '../../adapters/nats/server.ts'
import { until } from '../../support/clients.ts'
import { type RecordingLogger, recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { checkpointsOf, checkSealed, type FoundCheckpoint, framesOf, MemoryHeadStore } from '../../support/sealing.ts'
import { turnMsOf } from '../../support/turn-clock.ts'
import { credited, holdPlaced, opened as workspaceOpened } from '../projector/facts.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const successor = createSigner('example.com/log', Buffer.alloc(32, 8))

/** A clock that a test moves on; it ticks by itself too. */
class Clock {
  #aheadMs = 0
  readonly now = (): number => Date.now() + this.#aheadMs
  advance(ms: number): void {
    this.#aheadMs += ms
  }
}

interface Running {
  readonly clock: Clock
  readonly logger: RecordingLogger
  stop(): Promise<void>
}

const unknownHead = (logger: RecordingLogger): Pick<SealerParts, 'heads' | 'firstSeal'> => ({
  heads: new SignedHeads({ stores: [new MemoryHeadStore()], logger }),
  firstSeal: true,
})

const start = (t: Test, log: SealerParts['log'], parts: Partial<SealerParts> = {}): Running => {
  const clock = new Clock()
  const logger = recordingLogger()
  const known = { signer, previous: [], sealed: null, ...unknownHead(logger) }
  const running = startSealer({ log, ...known, clock: clock.now, logger, ...parts })
  t.teardown(() => running.stop())
  return { clock, logger, stop: () => running.stop() }
}

const believed = [deriveVerifier(signer)]

/** Every checkpoint of a log, each of them believed. */
const verified = async (t: Test, log: RawFrames, verifiers = believed): Promise<readonly FoundCheckpoint[]> =>
  checkSealed(t, await framesOf(log), verifiers)

const errorsOf = ({ logger }: Running): readonly unknown[] =>
  logger.lines.flatMap(({ level, event, fields }) =>
    level === 'error' && 'fault' in fields ? [`${event}: ${(fields.fault as Error).message}`] : [],
  )

/** A log, and what a sealer does with it. */
const watch = (log: SealerParts['log']) => {
  const seen = { followedFrom: 0, taken: 0, appends: 0 }
  const watched: SealerParts['log'] = {
    writer: log.writer,
    append: (facts) => {
      seen.appends += 1
      return log.append(facts)
    },
    lastSequence: () => log.lastSequence(),
    read: (from, to) => log.read(from, to),
    followRaw: (from, onFrame) => {
      seen.followedFrom = from
      return log.followRaw(from, (frame) => {
        seen.taken = frame.sequence
        return onFrame(frame)
      })
    },
  }
  return { log: watched, seen }
}

/** Longer than any sealer waits. */
const longMs = schedulerLimits.sealEveryMs + schedulerLimits.sealStandbyMs
const severalTicksMs = 4 * schedulerLimits.sealTickMs

const server = await NatsServer.create()
t.teardown(() => server.remove())

const openLog = async (t: Test, name: string, on = server): Promise<Opened> => {
  const opened = await openOn(on, { name, role: 'scheduler' })
  t.teardown(opened.close)
  return opened
}

/** Frames that are stored one by one until told to stop. */
const load = (log: Opened['log']): (() => Promise<void>) => {
  let isRunning = true
  const work = (async () => {
    for (let index = 0; isRunning; index += 1) {
      await log.append([adjustment(`a-${index}`)])
      await pause(5)
    }
  })()
  return async () => {
    isRunning = false
    await work
  }
}

t.test('what is new is sealed; checkpoints alone are not new', async (t) => {
  const log = new MemoryLog()
  const sealer = start(t, log)
  sealer.clock.advance(longMs)
  await pause(severalTicksMs)
  t.equal(log.frames.length, 0, 'there is nothing to say of an empty log')
  await log.append([workspaceOpened()])
  await until(async () => (await checkpointsOf(log)).length === 1)
  for (let round = 0; round < 3; round += 1) {
    sealer.clock.advance(longMs)
    await pause(severalTicksMs)
  }
  t.match(
    await verified(t, log),
    [{ size: 1, from: 0, sequence: 2 }],
    'one checkpoint, however long nothing else comes',
  )
  await log.postToWallet('acme', [credited('one')])
  sealer.clock.advance(-24 * 3_600_000)
  await until(async () => (await checkpointsOf(log)).length === 2)
  t.match((await verified(t, log))[1], { size: 3, from: 1, sequence: 4 })
  t.same(sealer.logger.lines, [])
})

t.test('a stop seals what is stored by then, and once', async (t) => {
  const log = new MemoryLog()
  for (let index = 0; index < 3; index += 1) await log.append([workspaceOpened()])
  await start(t, log).stop()
  t.match(await verified(t, log), [{ size: 3, sequence: 4 }])
  await start(t, log, { sealed: { size: 3, sequence: 4 } }).stop()
  t.equal(log.frames.length, 4, 'where nothing is new there is nothing to seal')

  const { log: watched, seen } = watch(log)
  const busy = {
    ...watched,
    append: (facts: Parameters<typeof watched.append>[0]) => {
      void log.append([workspaceOpened()]) // Others go on writing.
      return watched.append(facts)
    },
  }
  await log.append([workspaceOpened()])
  await start(t, busy, { sealed: { size: 3, sequence: 4 } }).stop()
  t.equal(seen.appends, 1)
  t.match((await verified(t, log)).at(-1), { size: 5 })

  const refusing = watch(log)
  const refused = start(t, {
    ...refusing.log,
    append: async () => {
      refusing.seen.appends += 1
      throw new GatewayError('log_unavailable', 'The event log is closed.')
    },
  })
  await refused.stop()
  t.equal(refusing.seen.appends, 1, 'what is not stored is left to the next start')
  t.match(refused.logger.lines, [{ event: 'seal.checkpoint_not_stored' }])
})

t.test('a log that was never sealed is sealed in pieces', async (t) => {
  const relaxed = await NatsServer.create({ syncAlways: false })
  t.teardown(() => relaxed.remove())
  const { connection, log, close } = await openOn(relaxed, { name: 'LONG', role: 'scheduler', durability: 'relaxed' })
  t.teardown(close)
  const client = jetstream(connection)
  const count = 2 * schedulerLimits.sealLeavesMax + 1_000
  for (let from = 0; from < count; from += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, count - from) }, (_, place) =>
        client.publish('long.journal.edge', `whatever ${from + place}`),
      ),
    )
  const sealer = start(t, log)
  sealer.clock.advance(longMs)
  await until(async () => ((await checkpointsOf(log)).at(-1)?.size ?? 0) >= count)
  const checkpoints = await verified(t, log)
  t.ok(checkpoints.every(({ size, from }) => size - from <= schedulerLimits.sealLeavesMax))
  t.ok(checkpoints.length <= 5, `${checkpoints.length} pieces`)
  t.same(
    checkpoints.slice(1).map(({ from }) => from),
    checkpoints.slice(0, -1).map(({ size }) => size),
    'each begins where the one before ends',
  )
  t.same(errorsOf(sealer), [])
})

t.test('a sealer goes on from the last checkpoint, and reads nothing before it', async (t) => {
  const { log } = await openLog(t, 'RESUME')
  for (const id of ['a', 'b', 'c']) await log.append([adjustment(id)])
  const first = start(t, log)
  first.clock.advance(longMs)
  await until(async () => (await checkpointsOf(log)).length === 1)
  await first.stop()
  await log.append([adjustment('d')])
  const sealed = (await checkpointsOf(log))[0]!
  const watched = watch(log)
  const second = start(t, watched.log, { sealed })
  second.clock.advance(longMs)
  await until(async () => (await checkpointsOf(log)).length === 2)
  t.match((await verified(t, log))[1], { from: sealed.size, size: sealed.sequence + 1 })
  t.same(watched.seen.followedFrom, sealed.size + 1)
})

t.test('two sealers: one works, and when it is gone the other does', async (t) => {
  const [one, other] = [await openLog(t, 'TWO'), await openLog(t, 'TWO')]
  const stopLoad = load((await openLog(t, 'TWO')).log)
  const sealers = [start(t, one.log), start(t, other.log)]
  const count = async (): Promise<number> => (await checkpointsOf(one.log)).length
  await until(async () => (await count()) >= 3)
  const settled = await count()
  await until(async () => (await count()) >= settled + 3)
  const leading = new Set((await checkpointsOf(one.log)).slice(settled).map(({ writer }) => writer))
  t.equal(leading.size, 1, 'one of them works')
  const isFirst = leading.has(one.log.writer)
  await sealers[isFirst ? 0 : 1]!.stop()
  const stoppedMs = Date.now()
  const heir = isFirst ? other.log.writer : one.log.writer
  await until(async () => (await checkpointsOf(one.log)).at(-1)?.writer === heir)
  t.ok(Date.now() - stoppedMs < 10 * longMs, `taken over within ${Date.now() - stoppedMs} ms`)
  await stopLoad()
  await verified(t, one.log)
  for (const sealer of sealers) t.same(sealer.logger.lines, [])
})

t.test('both at once: the same frames are sealed twice, and nobody minds', async (t) => {
  const log = new MemoryLog()
  let waiting = 0
  let both = Promise.withResolvers<void>()
  /** Neither is stored before both have signed. */
  const meet = (): Promise<void> => {
    const { promise, resolve } = both
    waiting += 1
    if (waiting < 2) return promise
    waiting = 0
    both = Promise.withResolvers<void>()
    resolve()
    return promise
  }
  const view = (writer: string) => {
    const { log: watched, seen } = watch(log)
    const append: SealerParts['log']['append'] = async ([fact]) => {
      await meet()
      const counter = log.frames.length
      const event = wrapEvent(fact!, `${writer}-${counter}`, '/gateway/scheduler/x', '2026-03-01T00:00:00.000Z')
      return log.store({ walletSubject: null, writer, counter, events: [event] })
    }
    return { log: { ...watched, writer, append }, seen }
  }
  const views = [view('one'), view('two')]
  const sealers = views.map((each) => start(t, each.log))
  for (let round = 0; round < 5; round += 1) {
    const { sequence } = await log.append([workspaceOpened()])
    for (const { clock } of sealers) clock.advance(longMs)
    await until(() => views.every(({ seen }) => seen.taken === sequence + 2))
    const checkpoints = (await verified(t, log)).filter(({ size }) => size === sequence)
    t.same(checkpoints.map(({ writer }) => writer).toSorted(), ['one', 'two'], 'both have sealed')
  }
  for (const sealer of sealers) t.same(errorsOf(sealer), [])
})

t.test(
  'a sealer whose checkpoints are not stored is not ready once frames wait for too long, and then is again',
  async (t) => {
    const log = new MemoryLog()
    const logger = recordingLogger()
    const store = new MemoryHeadStore()
    const clock = new Clock()
    const heads = new SignedHeads({ stores: [store], logger })
    const parts = { signer, previous: [], sealed: null, firstSeal: true, clock: clock.now, logger }
    const sealer = startSealer({ log, heads, ...parts })
    t.teardown(() => sealer.stop())
    await log.append([workspaceOpened()])
    await until(async () => (await checkpointsOf(log)).length === 1)
    clock.advance(10 * sharedLimits.verifyUnsealedMs)
    t.same(sealer.checks().ready, { ok: true }, 'nothing waits')

    store.fault = new Error('the disk is full')
    await log.append([workspaceOpened('other')])
    await until(() => logger.lines.some(({ event }) => event === 'seal.checkpoint_not_stored'))
    t.same(sealer.checks().ready, { ok: true }, 'not yet for long')
    clock.advance(sharedLimits.verifyUnsealedMs + 1_000)
    t.match(sealer.checks().ready, { ok: false, reason: /no checkpoint was stored for \d+ s, .* the disk is full/ })
    t.same(sealer.checks().alive, { ok: true }, 'it goes on by itself')

    store.fault = null
    await until(async () => (await checkpointsOf(log)).length === 2)
    t.same(sealer.checks().ready, { ok: true })
  },
)

t.test('a sealer that cannot read what was signed last is not ready', async (t) => {
  const logger = recordingLogger()
  const store = new MemoryHeadStore()
  store.fault = new Error('away')
  const clock = new Clock()
  const heads = new SignedHeads({ stores: [store], logger })
  const parts = { signer, previous: [], sealed: null, firstSeal: true, clock: clock.now, logger }
  const sealer = startSealer({ log: new MemoryLog(), heads, ...parts })
  t.teardown(() => sealer.stop())
  t.same(sealer.checks().ready, { ok: true })
  clock.advance(sharedLimits.verifyUnsealedMs + 1_000)
  t.match(sealer.checks().ready, {
    ok: false,
    reason: /sealing has not begun for \d+ s: what was signed last cannot be read/,
  })
  store.fault = null
  await until(() => sealer.checks().ready.ok)
})

/** What a sealer would say that had read other frames. */
const contradiction = (size: number, by: Signer): CheckpointSealed => {
  const sealing = new SealBuilder()
  for (let sequence = 1; sequence <= size; sequence += 1)
    sealing.take({ sequence, subject: 'journal.edge', id: '', storedMs: 0, data: Buffer.from(`other ${sequence}`) })
  return signSeal(sealing.next(), by)
}

t.test('a checkpoint that cannot be built on ends the sealing loudly; holds expire all the same', async (t) => {
  const cases = {
    'that contradicts the frames': [contradiction(2, signer), /frame 3 .*: .*of size 2 seals other frames/],
    'that nobody we know has signed': [contradiction(2, successor), /frame 3 .*: .*is not signed by example.com\/log/],
    'of frames that are not there': [contradiction(9, signer), /frame 3 .*: .*of size 9 precedes frame 9/],
  } as const
  for (const [name, [data, message]] of Object.entries(cases)) {
    const log = new MemoryLog()
    const tail = new LedgerTail(initialLedger(), log)
    const clock = new Clock()
    const logger = recordingLogger()
    await log.append([workspaceOpened()])
    await log.postToWallet('acme', [credited('one'), holdPlaced('hold-1')])
    await tail.waitForSequence(2)
    const clocks = { clock: clock.now, steadyClock: clock.now, requestDeadlineMs: sharedLimits.requestDeadlineMs }
    const running = await scheduler.start({
      log,
      tail,
      sealing: { signer, previous: [], ...unknownHead(logger) },
      ...clocks,
      logger,
    })
    t.same(running.checks(), { sealing: { ok: true } })
    await log.append([{ type: 'CheckpointSealed', data }])
    const errors = () => logger.lines.filter(({ level }) => level === 'error')
    await until(() => errors().length > 0)
    t.match(errors(), [{ event: 'seal.stopped', fields: { fault: { message } } }], name)
    t.match(running.checks(), { sealing: { ok: false, reason: message } })
    clock.advance(longMs)
    await log.postToWallet('acme', [holdPlaced('hold-2')])
    clock.advance(Date.parse('2026-03-01T01:00:00.000Z'))
    await until(() =>
      ['hold-1', 'hold-2'].every((holdId) =>
        log.frames.some(({ events }) =>
          events.some(({ type, data }) => type === 'HoldReleased' && data.holdId === holdId),
        ),
      ),
    )
    t.equal((await checkpointsOf(log)).length, 1, 'nothing is signed on top of it')
    await running.stop()
    await tail.stop()
  }
})

t.test('a key follows another only where it is told of it', async (t) => {
  const { log } = await openLog(t, 'ROTATE')
  await log.append([adjustment('a')])
  const first = start(t, log)
  first.clock.advance(longMs)
  await until(async () => (await checkpointsOf(log)).length === 1)
  await first.stop()
  await log.append([adjustment('b')])
  const sealed: LastSeal = (await checkpointsOf(log))[0]!

  const stranger = start(t, log, { sealed, signer: successor })
  await until(() => errorsOf(stranger).length > 0)
  t.match(errorsOf(stranger), [/seal.stopped: the checkpoint in frame 2 cannot be built on: .* is not signed/])
  stranger.clock.advance(longMs)
  await pause(severalTicksMs)
  t.equal((await checkpointsOf(log)).length, 1)
  await stranger.stop()

  const heir = start(t, log, { sealed, signer: successor, previous: [deriveVerifier(signer)] })
  heir.clock.advance(longMs)
  await until(async () => (await checkpointsOf(log)).length === 2)
  const checkpoints = await verified(t, log, [deriveVerifier(successor), deriveVerifier(signer)])
  t.match(checkpoints[1], { from: sealed.size, size: 3 }, 'the log is not read anew')
  t.same(heir.logger.lines, [])
})

t.test('a last checkpoint that is not where it should be', async (t) => {
  const log = new MemoryLog()
  await log.append([workspaceOpened()])
  const sealer = start(t, log, { sealed: { size: 1, sequence: 1 } })
  await until(() => errorsOf(sealer).length > 0)
  t.match(errorsOf(sealer), [/frame 1 cannot be built on: it is not of size 1/])
})

t.test('what the log does not take is sealed later, and no more is read meanwhile', async (t) => {
  const log = new MemoryLog()
  const count = schedulerLimits.sealLeavesMax + 500
  for (let index = 0; index < count; index += 1) await log.append([workspaceOpened()])
  let refusals = 3
  const { log: watched, seen } = watch(log)
  const refusing: SealerParts['log'] = {
    ...watched,
    append: async (facts) => {
      if (refusals > 0) t.equal(seen.taken, schedulerLimits.sealLeavesMax)
      refusals -= 1
      if (refusals >= 0) throw new GatewayError('log_unavailable', 'Too many events wait for the event log.')
      return watched.append(facts)
    },
  }
  const sealer = start(t, refusing)
  await until(async () => (await checkpointsOf(log)).length > 0)
  t.match(sealer.logger.lines, [{ event: 'seal.checkpoint_not_stored' }], 'logged once')
  sealer.clock.advance(longMs)
  await until(async () => ((await checkpointsOf(log)).at(-1)?.size ?? 0) >= count)
  await verified(t, log)
})

t.test('with NATS away it stops within its bound, and when NATS is back it goes on', async (t) => {
  const nats = await NatsServer.create()
  t.teardown(() => nats.remove())
  const watched = [watch((await openLog(t, 'AWAY', nats)).log), watch((await openLog(t, 'AWAY', nats)).log)] as const
  const [stays, leaves] = watched.map(({ log }) => start(t, log)) as [Running, Running]
  const { log } = await openLog(t, 'AWAY', nats)
  const lastSize = async (): Promise<number> => (await checkpointsOf(log).catch(() => [])).at(-1)?.size ?? 0
  const { sequence } = await log.append([adjustment('a')])
  await until(() => watched.every(({ seen }) => seen.taken === sequence))
  await nats.stop('SIGKILL')
  for (const { clock } of [stays, leaves]) clock.advance(longMs)
  await until(() => watched.every(({ seen }) => seen.appends > 0)) // Into nothing.
  const stopMs = performance.now()
  await leaves.stop()
  const tookMs = Math.ceil(performance.now() - stopMs) // A timer may be early by a part of a millisecond.
  t.ok(
    tookMs >= schedulerLimits.schedulerStopMs && tookMs < 5 * schedulerLimits.schedulerStopMs,
    `stopped in ${tookMs} ms`,
  )

  await nats.start()
  await until(async () => (await lastSize()) >= sequence)
  const last = await lastSize()
  const { sequence: later } = await log.append([adjustment('b')])
  await until(() => watched[0].seen.taken >= later)
  await until(async () => {
    stays.clock.advance(longMs) // Its timer may not have been set yet.
    return (await lastSize()) > last
  })
  await verified(t, log)
  t.same(errorsOf(stays), [])
  t.ok((await turnMsOf(() => stays.stop())) < schedulerLimits.schedulerStopMs)
})

t.test('a sealer that starts while NATS is away stops within its bound too', async (t) => {
  const nats = await NatsServer.create()
  t.teardown(() => nats.remove())
  const { log } = await openLog(t, 'ABSENT', nats)
  await nats.stop('SIGKILL')
  const sealer = start(t, log, { sealed: { size: 1, sequence: 2 } })
  await pause(severalTicksMs)
  const stopMs = performance.now()
  await sealer.stop()
  t.ok(performance.now() - stopMs < 5 * schedulerLimits.schedulerStopMs)
})

class BusyLog extends MemoryLog {
  #unanswered = 1

  override async lastSequence(): Promise<number> {
    this.#unanswered -= 1
    if (this.#unanswered >= 0) throw new GatewayError('log_unavailable', 'The event log does not answer.')
    return super.lastSequence()
  }
}

t.test('a log that does not answer when sealing begins is sealed once it does', async (t) => {
  const log = new BusyLog()
  await log.append([workspaceOpened()])
  const sealer = start(t, log)
  await until(() => log.frames.length === 2)
  t.match(sealer.logger.lines, [{ event: 'seal.log_unavailable' }])
  t.same(errorsOf(sealer), [])
})
