import t from 'tap'
import { verifyLog } from '../../src/audit/verify.ts'
import { replaySnapshots } from '../../src/audit/verify-snapshots.ts'
import { randomOf } from '../support/random.ts'
import { CaseTable, EvidenceLog } from './evidence-tampering.ts'
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
    const table = new CaseTable()
    let log = newLog(random)
    for (let run = 0; run < runs; run += 1) {
      if (run % runsPerLog === 0) {
        log = newLog(random)
        for (const knownBy of ['auditor', 'sealer'] as const) {
          const clean = await verified(log.frames, log, knownBy)
          const isQuiet = clean.total === 0 && clean.sealedTo === log.seals.at(-1)?.seal.size
          table.add(`untouched, known by the ${knownBy}`, isQuiet ? 'no alarm' : 'FALSE ALARM')
          if (!isQuiet) wrong.push({ run, alarm: clean })
        }
      }
      const tampering = tamperWith(log, tamperingKinds[run % tamperingKinds.length]!, random)
      const knownBy = run % 2 === 0 ? 'auditor' : 'sealer'
      const result = await verified(tampering.frames, log, knownBy)
      const isRight = isLocated(tampering, log, result) && result.total <= findingsMax(tampering.kind)
      table.add(tampering.kind, isRight ? 'located' : 'MISSED')
      if (!isRight) wrong.push({ run, kind: tampering.kind, touched: tampering.touched, findings: result.findings })
    }
    table.print(t)
    t.same(wrong, [])
  },
)

const evidenceRuns = Math.ceil(runs / 4)

t.test(`${evidenceRuns} tamperings with what is kept beside a log: each is found, by its kind`, async (t) => {
  const random = randomOf(seed)
  const wrong: unknown[] = []
  const table = new CaseTable()
  let evidence = await EvidenceLog.create(t, random)
  for (let run = 0; run < evidenceRuns; run += 1) {
    if (run > 0 && run % runsPerLog === 0) evidence = await EvidenceLog.create(t, random)
    const cases = Object.entries(evidence.cases)
    const [kind, tamper] = cases[run % cases.length]!
    const { outcome, details } = await tamper()
    table.add(kind, outcome)
    if (outcome === 'MISSED' || outcome === 'FALSE ALARM') wrong.push({ run, kind, details })
  }
  table.print(t)
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
