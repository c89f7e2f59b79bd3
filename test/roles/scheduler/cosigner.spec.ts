import t, { type Test } from 'tap'
import type { WitnessReply } from '../../../src/audit/add-checkpoint.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { SignedHeads } from '../../../src/audit/signed-heads.ts'
import { verifyLog } from '../../../src/audit/verify.ts'
import type { LastSeal } from '../../../src/domain/ledger/ledger.ts'
import type { CheckpointCosigned } from '../../../src/events/types.ts'
import { Cosigner, type CosignerParts } from '../../../src/roles/scheduler/cosigner.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { type SealerParts, startSealer } from '../../../src/roles/scheduler/sealer.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { checkpointsOf, MemoryHeadStore } from '../../support/sealing.ts'
import { LocalWitness } from '../../support/witnesses.ts'
import { credited, opened } from '../projector/facts.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const verifiers = [deriveVerifier(signer)]
const longMs = schedulerLimits.sealEveryMs + schedulerLimits.sealStandbyMs
const never = new Promise<never>(() => {})

interface Options {
  readonly witnesses: readonly LocalWitness[]
  readonly log?: SealerParts['log'] & CosignerParts['log']
  readonly store?: MemoryHeadStore
  readonly sealed?: LastSeal | null
  readonly everyMs?: number
  readonly clock?: () => number
}

/** A sealer and a cosigner, as the scheduler runs them. Unless a clock is given, all is due at once. */
const start = (t: Test, log: MemoryLog, { witnesses, sealed = null, ...options }: Options) => {
  const logger = recordingLogger()
  const heads = new SignedHeads({ stores: [options.store ?? new MemoryHeadStore()], logger })
  let nowMs = 0
  const fast = (): number => {
    nowMs += longMs
    return nowMs
  }
  const { clock = fast, everyMs = 1 } = options
  const known = { log: options.log ?? log, clock, logger }
  const cosigner = new Cosigner({ ...known, verifiers, witnesses, everyMs, onAhead: (fault) => sealer.fail(fault) })
  const sealer = startSealer({ ...known, signer, previous: [], sealed, firstSeal: true, heads, observer: cosigner })
  const stop = async () => {
    await sealer.stop()
    await cosigner.stop()
  }
  t.teardown(stop)
  return { stop, logger, sealer, cosigner }
}

const cosignedIn = (log: MemoryLog): readonly CheckpointCosigned[] =>
  log.events.flatMap((event) => (event.type === 'CheckpointCosigned' ? [event.data] : []))

const untilCosigned = (log: MemoryLog, size: number, by = 1): Promise<void> =>
  until(() => cosignedIn(log).filter((each) => each.size >= size).length >= by)

/** All is read as if it were an hour later. */
const verify = (log: MemoryLog, witnesses: readonly LocalWitness[], quorum = witnesses.length) =>
  verifyLog({
    source: log,
    verifiers,
    witnesses: { keys: witnesses.map(({ key }) => key), quorum },
    readClock: async () => 2e15,
  })

const checkProven = async (t: Test, log: MemoryLog, witnesses: readonly LocalWitness[], message = 'proven') => {
  const { findings, unproven, cosignedTo } = await verify(log, witnesses)
  t.same({ findings, unproven }, { findings: [], unproven: [] }, message)
  return cosignedTo
}

t.test('checkpoints are cosigned by every witness and recorded, and a log at rest stays at rest', async (t) => {
  const log = new MemoryLog({ checksSchemas: true })
  const witnesses = [new LocalWitness(verifiers[0]!), new LocalWitness(verifiers[0]!, 'witness.test/w2')]
  const { stop, logger } = start(t, log, { witnesses })
  for (const word of ['one', 'two', 'three']) {
    const { sequence } = await log.append([opened(word)])
    await untilCosigned(log, sequence, 2)
  }
  const atRest = log.frames.length
  await stop()
  t.equal(log.frames.length, atRest, 'the cosignatures of a checkpoint need no further checkpoint')
  t.equal(await checkProven(t, log, witnesses), (await checkpointsOf(log)).at(-1)!.size)
  t.same(
    witnesses[0]!.sent,
    cosignedIn(log)
      .filter(({ witness }) => witness.endsWith('w1'))
      .map((_, place, all) => all[place - 1]?.size ?? 0),
  )
  t.same(logger.lines, [])
})

t.test(
  'a witness that is away does not delay the sealing, and gets the newest checkpoint when it is back',
  async (t) => {
    const log = new MemoryLog()
    const [there, away] = [new LocalWitness(verifiers[0]!), new LocalWitness(verifiers[0]!, 'witness.test/w2')]
    away.beforeCall = async () => {
      throw new Error('connection refused')
    }
    const { logger } = start(t, log, { witnesses: [there, away] })
    for (const word of ['one', 'two', 'three']) {
      const { sequence } = await log.append([opened(word)])
      await untilCosigned(log, sequence)
    }
    await until(() => logger.lines.some(({ event }) => event === 'witness.unavailable'))
    t.match((await verify(log, [there, away])).unproven, [
      /older than 5 minutes and needs the cosignatures of 2 of 2 witnesses: it has that of witness.test\/w1/,
    ])
    t.same((await verify(log, [there, away], 1)).unproven, [])
    away.beforeCall = async () => {}
    await until(() => logger.lines.some(({ event }) => event === 'witness.available'))
    t.same(away.sent, [0], 'only one checkpoint')
    await checkProven(t, log, [there, away])
  },
)

t.test('a process that does not know what a witness has cosigned asks it, and reads the log from there', async (t) => {
  const log = new MemoryLog()
  const store = new MemoryHeadStore()
  const witness = new LocalWitness(verifiers[0]!)
  const first = start(t, log, { witnesses: [witness], store })
  for (const word of ['one', 'two', 'three']) await untilCosigned(log, (await log.append([opened(word)])).sequence)
  await first.stop()
  const size = cosignedIn(log).at(-1)!.size
  await start(t, log, { witnesses: [], store, sealed: (await checkpointsOf(log)).at(-1)! }).stop()
  for (const word of ['four', 'five']) {
    await log.append([opened(word)])
    await start(t, log, { witnesses: [], store, sealed: (await checkpointsOf(log)).at(-1)! }).stop()
  }
  witness.sent.length = 0
  const second = start(t, log, { witnesses: [witness], store, sealed: (await checkpointsOf(log)).at(-1)! })
  const { sequence } = await log.append([opened('six')])
  await untilCosigned(log, sequence)
  t.same(witness.sent.slice(0, 2), [0, size])
  await untilCosigned(log, (await log.append([opened('seven')])).sequence)
  await second.stop()
  t.same(
    witness.sent.filter((old) => old === 0),
    [0],
    'it is asked once',
  )
  await checkProven(t, log, [witness])

  const forgetful = new LocalWitness(verifiers[0]!, witness.key.name)
  const sealed = (await checkpointsOf(log)).at(-1)!
  const third = start(t, log, { witnesses: [forgetful], store, sealed })
  await untilCosigned(log, (await log.append([opened('eight')])).sequence)
  forgetful.store.notes.clear()
  await untilCosigned(log, (await log.append([opened('nine')])).sequence)
  await third.stop()
  t.ok(forgetful.sent.at(-2)! > 0)
  t.equal(forgetful.sent.at(-1), 0, 'one that lost its state begins anew')
  await checkProven(t, log, [forgetful])
})

t.test('no checkpoint is sent before its time, and a stop sends the last', async (t) => {
  const log = new MemoryLog()
  const witness = new LocalWitness(verifiers[0]!)
  let nowMs = 0
  const everyMs = 60_000
  const { stop } = start(t, log, { witnesses: [witness], everyMs, clock: () => nowMs })
  const seal = async (word: string) => {
    nowMs += longMs
    const { sequence } = await log.append([opened(word)])
    await until(async () => (await checkpointsOf(log)).some(({ size }) => size >= sequence))
    return sequence
  }
  await untilCosigned(log, await seal('one'))
  for (const word of ['two', 'three', 'four']) await seal(word)
  t.equal(cosignedIn(log).length, 1)
  nowMs += everyMs
  await until(() => cosignedIn(log).length === 2)
  const last = await seal('five')
  await stop()
  t.same([cosignedIn(log).length, cosignedIn(log).at(-1)!.size >= last], [3, true])
})

t.test('a stop sends the last checkpoint also where it came while another one was being sent', async (t) => {
  const log = new MemoryLog()
  const witness = new LocalWitness(verifiers[0]!)
  const answered = Promise.withResolvers<void>()
  witness.beforeReply = () => answered.promise
  const { cosigner } = start(t, log, { witnesses: [witness], everyMs: 60_000 })
  await log.append([opened('one')])
  await until(() => witness.sent.length === 1)
  const { sequence } = await log.append([opened('two')])
  await until(async () => (await checkpointsOf(log)).some(({ size }) => size >= sequence))
  const stopped = cosigner.stop()
  answered.resolve()
  await stopped
  t.ok(cosignedIn(log).at(-1)!.size >= sequence)
})

t.test('an answer that is no cosignature is reported with its reason, and sealing goes on', async (t) => {
  const other = new LocalWitness(verifiers[0]!, 'witness.test/w2')
  const ok = { status: 200, type: 'text/plain', body: '' }
  const cases: readonly (readonly [WitnessReply | ((body: string) => Promise<WitnessReply>), RegExp])[] = [
    [{ ...ok, status: 400 }, /malformed/],
    [{ ...ok, status: 403 }, /does not know the key/],
    [{ ...ok, status: 404 }, /does not know the log/],
    [{ ...ok, status: 422 }, /another history/],
    [{ ...ok, status: 500 }, /it failed/],
    [{ ...ok, status: 409, body: '3\n' }, /comes as text\/plain, not text\/x\.tlog\.size/],
    [{ status: 409, type: 'text/x.tlog.size', body: 'many\n' }, /not a decimal number/],
    [ok, /without a signature by its key/],
    [(body) => other.add(body), /without a signature by its key/],
  ]
  for (const [reply, reason] of cases) {
    const log = new MemoryLog()
    const witness = new LocalWitness(verifiers[0]!)
    witness.add = async (body) => (typeof reply === 'function' ? reply(body) : reply)
    const { stop, logger } = start(t, log, { witnesses: [witness] })
    await log.append([opened('one')])
    await until(() => logger.lines.some(({ event }) => event === 'witness.refused'))
    t.match(logger.lines[0], { level: 'error', fields: { witness: 'witness.test/w1', reason } })
    await log.append([opened('two')])
    await stop()
    t.ok((await checkpointsOf(log)).length >= 2)
    t.same(cosignedIn(log), [])
  }
})

t.test(
  'nothing less than a witness has cosigned is signed, and a history that it contradicts is reported',
  async (t) => {
    const witness = new LocalWitness(verifiers[0]!)
    const log = new MemoryLog()
    const { stop } = start(t, log, { witnesses: [witness] })
    for (const word of ['one', 'two', 'three']) await untilCosigned(log, (await log.append([opened(word)])).sequence)
    await stop()

    const cut = new MemoryLog()
    await cut.append([opened('one')])
    const shorter = start(t, cut, { witnesses: [witness] })
    await until(() => shorter.logger.lines.some(({ event }) => event === 'seal.stopped'))
    const message = /the witness witness.test\/w1 has cosigned \d+ frames, and the log ends at frame \d+/
    t.match(shorter.sealer.checks().ready, { ok: false, reason: message })
    const signed = (await checkpointsOf(cut)).length
    await cut.append([opened('two')])
    await shorter.stop()
    t.equal((await checkpointsOf(cut)).length, signed)

    const rewritten = new MemoryLog()
    for (let frame = 0; frame < 30; frame += 1) await rewritten.append([opened(`another-${frame}`)])
    const longer = start(t, rewritten, { witnesses: [witness] })
    await until(() => longer.logger.lines.some(({ event }) => event === 'witness.refused'))
    t.match(longer.logger.lines[0], { fields: { status: 422, reason: /another history/ } })
    t.same(cosignedIn(rewritten), [])
    await longer.stop()
    t.match((await verify(rewritten, [witness])).unproven, [/needs the cosignatures of 1 of 1 witnesses: it has none/])
  },
)

t.test(
  'killed between any two steps, the next process goes on: each checkpoint is cosigned, none contradicted',
  async (t) => {
    const steps = [
      'before it is sent',
      'before the witness stores it',
      'before the witness answers',
      'before it is recorded',
      'before the record is acknowledged',
    ] as const
    for (const step of steps) {
      const log = new MemoryLog()
      const store = new MemoryHeadStore()
      const witness = new LocalWitness(verifiers[0]!)
      const before = start(t, log, { witnesses: [witness], store })
      await untilCosigned(log, (await log.append([opened('one')])).sequence)
      await before.stop()

      const reached = Promise.withResolvers<void>()
      const hangAt = (at: (typeof steps)[number]) => async () => {
        if (at !== step) return
        reached.resolve()
        await never
      }
      const dying = new LocalWitness(verifiers[0]!, witness.key.name, witness.store)
      dying.beforeCall = hangAt('before it is sent')
      dying.beforeReply = hangAt('before the witness answers')
      witness.store.beforeWrite = hangAt('before the witness stores it')
      const killed: NonNullable<Options['log']> = {
        writer: 'killed',
        lastSequence: () => log.lastSequence(),
        read: (from, to) => log.read(from, to),
        followRaw: (from, onFrame) => log.followRaw(from, onFrame),
        append: async (facts) => {
          const isCosigned = facts.some(({ type }) => type === 'CheckpointCosigned')
          if (isCosigned) await hangAt('before it is recorded')()
          const appended = await log.append(facts)
          if (isCosigned) await hangAt('before the record is acknowledged')()
          return appended
        },
      }
      const sealedOf = async (): Promise<LastSeal> => (await checkpointsOf(log)).at(-1)!
      start(t, log, { witnesses: [dying], store, sealed: await sealedOf(), log: killed })
      await log.append([credited('two')])
      await reached.promise
      witness.store.beforeWrite = async () => {}
      const { stop, logger } = start(t, log, { witnesses: [witness], store, sealed: await sealedOf() })
      const { sequence } = await log.append([credited('three')])
      await untilCosigned(log, sequence)
      await stop()
      t.same(logger.lines, [], step)
      await checkProven(t, log, [witness], step)
    }
  },
)
