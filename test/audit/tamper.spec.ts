import t from 'tap'
import { replaySnapshots, verifySnapshots } from '../../src/audit/snapshots.ts'
import { verifyLog } from '../../src/audit/verify.ts'
import { randomOf } from '../support/random.ts'
import { MemorySnapshots } from '../support/snapshots.ts'
import { MemorySource, type SealedLog, sealedLog, verifier } from './sealed-log.ts'
import { headOfLog, publishedOf, stretchOf, type Tampering, tamperingKinds, tamperWith } from './tampering.ts'

/** `make tamper` sets both. */
const runs = Number(process.env['TAMPER_RUNS'] ?? 120)
const seed = Number(process.env['TAMPER_SEED'] ?? 1)
const runsPerLog = 25
const isLong = process.env['TAMPER_RUNS'] !== undefined

const newLog = (random: () => number): SealedLog =>
  sealedLog({ frames: 20 + Math.floor(random() * 120), random, sealers: 1 + Math.floor(random() * 3) })

/** With what is kept elsewhere: an auditor's checkpoint, or the sealer's state alone. */
const verified = (frames: SealedLog['frames'], log: SealedLog, knownBy: 'auditor' | 'sealer' = 'auditor') =>
  verifyLog({
    source: new MemorySource(frames),
    verifiers: [verifier],
    known: [knownBy === 'auditor' ? publishedOf(log) : headOfLog(log)],
  })

/**
 * A finding must begin at the sequence that was laid hands on. Only where no checkpoint is left that tells of single frames (of a rewritten
 * history, or where the checkpoint itself is gone) may it name the stretch between the checkpoints around it.
 */
const isLocated = (
  { kind, touched }: Tampering,
  log: SealedLog,
  { findings }: Awaited<ReturnType<typeof verifyLog>>,
): boolean =>
  findings.some(({ kind: found, sequence, toSequence }) =>
    touched.some((each) => {
      if (sequence === each) return true
      const isStretch = found === 'log-forked' || (found === 'frame-unlocated' && kind === 'delete-many')
      return isStretch && sequence === stretchOf(log, each).from && each <= toSequence
    }),
  )

/** What a single frame that was laid hands on may be found as. Of many, other frames beside it may be found too. */
const findingsMax = (kind: Tampering['kind']): number =>
  kind === 'swap'
    ? 2
    : kind === 'delete-many' || kind === 'checkpoints-removed' || kind.startsWith('fork')
      ? Number.POSITIVE_INFINITY
      : 1

t.test(
  `${runs} tamperings of seed ${seed}: each is found where it is, and nothing else`,
  { timeout: 3_600_000 },
  async (t) => {
    const random = randomOf(seed)
    const wrong: unknown[] = []
    const found = new Map<string, number>()
    let log = newLog(random)
    for (let run = 0; run < runs; run += 1) {
      if (run % runsPerLog === 0) {
        log = newLog(random)
        for (const knownBy of ['auditor', 'sealer'] as const) {
          const clean = await verified(log.frames, log, knownBy)
          if (clean.total > 0 || clean.sealedTo !== log.seals.at(-1)?.seal.size) wrong.push({ run, alarm: clean })
        }
      }
      const tampering = tamperWith(log, tamperingKinds[run % tamperingKinds.length]!, random)
      const knownBy = run % 2 === 0 ? 'auditor' : 'sealer'
      const result = await verified(tampering.frames, log, knownBy)
      const isRight = isLocated(tampering, log, result) && result.total <= findingsMax(tampering.kind)
      if (!isRight) wrong.push({ run, kind: tampering.kind, touched: tampering.touched, findings: result.findings })
      for (const kind of Object.keys(result.counts)) {
        const pair = `${tampering.kind}: ${kind}`
        found.set(pair, (found.get(pair) ?? 0) + 1)
      }
    }
    for (const [pair, count] of [...found].sort()) t.comment(`${pair} × ${count}`)
    t.same(wrong, [])
  },
)

const snapshotRuns = Math.ceil(runs / 4)

t.test(`${snapshotRuns} tamperings with snapshots: each is found at its sequence, by its kind`, async (t) => {
  const random = randomOf(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const wrong: unknown[] = []
  const found = new Map<string, number>()
  for (let run = 0; run < snapshotRuns; run += 1) {
    const { frames, snapshots } = sealedLog({ frames: 30, random, snapshots: true })
    const clean = await verifyLog({ source: new MemorySource(frames), verifiers: [verifier] })
    const store = new MemorySnapshots()
    const stored = snapshots.slice(-3)
    for (const { head, bytes } of stored) store.put(head, bytes)
    const alarms = [
      ...(await verifySnapshots(store, clean.snapshots)),
      ...(await replaySnapshots(new MemorySource(frames), clean.snapshots)),
    ]
    if (clean.total > 0 || alarms.length > 0) wrong.push({ run, clean, alarms })
    const place = below(stored.length)
    const { head, bytes } = stored[place]!
    const other = stored[(place + 1) % stored.length]!
    const kind = run % 2 === 0 ? 'snapshot-changed' : 'snapshot-swapped'
    const changed = Buffer.from(bytes)
    const at = below(bytes.length)
    changed[at] = changed[at]! ^ (1 + below(255))
    store.put(head, kind === 'snapshot-changed' ? changed : other.bytes)
    const findings = await verifySnapshots(store, clean.snapshots)
    const isRight = findings.length === 1 && findings[0]?.kind === kind && findings[0].sequence === head.sequence
    if (!isRight) wrong.push({ run, kind, findings })
    found.set(kind, (found.get(kind) ?? 0) + 1)
  }
  for (const [kind, count] of found) t.comment(`${kind} × ${count}`)
  t.same(wrong, [])
})

t.test('a snapshot that was confirmed and is not the fold of the log is found by replaying it', async (t) => {
  const { frames, snapshots } = sealedLog({ frames: 30, random: randomOf(seed), snapshots: true })
  const [first, ...others] = snapshots.map(({ head }) => head)
  const forged = { ...first!, sha256: others[0]!.sha256 }
  t.match(await replaySnapshots(new MemorySource(frames), [forged, ...others]), [
    { kind: 'snapshot-changed', sequence: first!.sequence },
  ])
})

t.test('no false alarm on any beginning of a log', async (t) => {
  const alarms: unknown[] = []
  for (const sealers of [1, 2, 4]) {
    const { frames } = sealedLog({ frames: isLong ? 120 : 60, random: randomOf(seed + sealers), sealers })
    for (let end = 0; end <= frames.length; end += 1) {
      const result = await verifyLog({ source: new MemorySource(frames.slice(0, end)), verifiers: [verifier] })
      if (result.total > 0 || result.frames !== end) alarms.push({ sealers, end, result })
    }
  }
  t.same(alarms, [])
})

t.test('every byte of a sealed frame counts', async (t) => {
  const log = sealedLog({ frames: 6, random: randomOf(seed), eventsMax: 1, sealEveryMax: 3 })
  const sealedTo = log.seals.at(-1)!.seal.size
  const missed: string[] = []
  for (const frame of log.frames.slice(0, sealedTo))
    for (let place = 0; place < frame.data.length; place += isLong ? 1 : 7) {
      const data = Buffer.from(frame.data)
      data[place] = data[place]! ^ 1
      const frames = log.frames.map((each) => (each === frame ? { ...frame, data } : each))
      const { findings } = await verified(frames, log)
      if (findings.length !== 1 || findings[0]?.sequence !== frame.sequence) missed.push(`${frame.sequence}:${place}`)
    }
  t.same(missed, [])
})

t.test('nothing is overlooked where hardly a frame is kept until its checkpoint comes', async (t) => {
  const random = randomOf(seed)
  const wrong: unknown[] = []
  for (let run = 0; run < (isLong ? 200 : 60); run += 1) {
    const log = newLog(random)
    const unsealedFramesMax = 1 + Math.floor(random() * 30)
    const check = (frames: SealedLog['frames']) =>
      verifyLog({
        source: new MemorySource(frames),
        verifiers: [verifier],
        known: [publishedOf(log)],
        unsealedFramesMax,
      })
    const clean = await check(log.frames)
    const tampering = tamperWith(log, tamperingKinds[run % tamperingKinds.length]!, random)
    if (clean.total > 0) wrong.push({ run, unsealedFramesMax, alarm: clean })
    if ((await check(tampering.frames)).total === 0) wrong.push({ run, unsealedFramesMax, ...tampering, frames: [] })
  }
  t.same(wrong, [])
})
