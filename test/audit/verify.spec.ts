import t from 'tap'
import type { IntegrityFinding } from '../../src/audit/findings.ts'
import { auditLimits } from '../../src/audit/limits.ts'
import { createSigner, deriveVerifier } from '../../src/audit/note.ts'
import { readSeal, SealBuilder, signSeal } from '../../src/audit/seal.ts'
import { decideVerdict, type Verification, type VerifyParts, verifyLog } from '../../src/audit/verify.ts'
import { encodeFrame } from '../../src/events/codec.ts'
import { wrapEvent } from '../../src/events/envelope.ts'
import type { FrameSource, RawFrame } from '../../src/log/raw-frames.ts'
import { decodeEvents } from '../../src/log/read-frame.ts'
import { schedulerLimits } from '../../src/roles/scheduler/limits.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { randomOf } from '../support/random.ts'
import { MemorySource, renumbered, sealedLog, signer, stranger, verifier } from './sealed-log.ts'
import { publishedOf } from './tampering.ts'

const log = sealedLog({ frames: 100, random: randomOf(1) })
const last = log.seals.at(-1)!.seal

const check = (frames: readonly RawFrame[], parts: Partial<VerifyParts> = {}): Promise<Verification> =>
  verifyLog({ source: new MemorySource(frames), verifiers: [verifier], ...parts })

const kindsIn = ({ findings }: Verification): readonly IntegrityFinding['kind'][] => findings.map(({ kind }) => kind)

/** A frame that holds the checkpoint of one of the log's, made anew with changes. */
const resealed = (seal: number, change: (data: Record<string, unknown>) => void): readonly RawFrame[] => {
  const { sequence } = log.seals[seal]!
  return log.frames.map((frame) => {
    if (frame.sequence !== sequence) return frame
    const [header, line] = Buffer.from(frame.data).toString().split('\n')
    const event = JSON.parse(line!) as { data: Record<string, unknown> }
    change(event.data)
    return { ...frame, data: Buffer.from(`${header}\n${JSON.stringify(event)}`) }
  })
}

t.test('an untouched log', async (t) => {
  const found = await check(log.frames)
  t.match(found, {
    frames: log.frames.length,
    sealedTo: last.size,
    root: last.root,
    unsealed: log.frames.length - last.size,
    checkpoints: log.seals.length,
    uncompared: 0,
    findings: [],
    total: 0,
  })
  t.match(await check([]), { frames: 0, sealedTo: 0, root: null, unsealed: 0, total: 0 })
})

t.test('the same log gives the same findings, however its frames come', async (t) => {
  const frames = log.frames.filter(({ sequence }) => sequence % 9 !== 4)
  const one = await verifyLog({ source: new MemorySource(renumbered(frames), 1), verifiers: [verifier] })
  const other = await verifyLog({ source: new MemorySource(renumbered(frames), 1_000), verifiers: [verifier] })
  t.same(one, other)
  t.ok(one.total > 0)
})

t.test('what no checkpoint seals for over a minute is not proven', async (t) => {
  const [earlier, newest] = log.seals.slice(-2) as [(typeof log.seals)[0], (typeof log.seals)[0]]
  const overMs = sharedLimits.verifyUnsealedMs + 1
  const on = (frames: readonly RawFrame[], afterMs: number, parts: Partial<VerifyParts> = {}) =>
    check(frames, { readClock: async () => frames.at(-1)!.storedMs + afterMs, ...parts })
  const sealed = log.frames.slice(0, last.size)
  const complete = [...sealed, log.frames[newest.sequence - 1]!].map((frame, place) => ({
    ...frame,
    sequence: place + 1,
  }))
  const cut = log.frames.slice(0, newest.sequence - 1) // Its last checkpoint but one seals a part of it.
  const first = cut[earlier.seal.size]!
  const published = { known: [{ note: last.note, place: 'a file' }] }
  const cases: readonly (readonly [string, readonly RawFrame[], number, Partial<VerifyParts>, RegExp | null])[] = [
    ['a checkpoint needs none', complete, 24 * 3_600_000, {}, null],
    ['written just now', cut, 1_000, {}, null],
    [
      'the newest checkpoint is gone',
      cut,
      overMs,
      {},
      new RegExp(`seals frame ${first.sequence}; .*stored at .* s ago`),
    ],
    ['and they are folded', cut, overMs, { unsealedFramesMax: 2 }, new RegExp(`seals frame ${first.sequence};`)],
    ['a published one seals them', sealed, overMs, published, null],
    ['a clock set back', cut, -24 * 3_600_000, {}, /86\d{3} s ahead of the server's clock/],
    ['all are gone, just now', forged(5), 0, {}, /no checkpoint with the signature of a known key/],
    ['all are gone', forged(5), overMs, {}, /no checkpoint with the signature of a known key/],
  ]
  for (const [name, frames, afterMs, parts, reason] of cases) {
    const found = await on(frames, afterMs, parts)
    t.match(found, { total: 0, unproven: reason === null ? [] : [reason] }, name)
    t.equal(found.unproven.length, reason === null ? 0 : 1, name)
    t.equal(decideVerdict(found), reason === null ? 'proven' : 'not_proven', name)
  }
  t.match(
    await check(cut),
    { unproven: [`no checkpoint seals frame ${first.sequence}`] },
    'nothing waits in an archive',
  )
  const changed = cut.map((frame) => (frame.sequence === 3 ? { ...frame, subject: 'journal.proxy' } : frame))
  const found = await on(changed, overMs)
  t.match(found, { total: 1, unproven: [] })
  t.equal(decideVerdict(found), 'tampered', 'a contradiction outweighs what is missing')
})

t.test('another key', async (t) => {
  const strange = deriveVerifier(stranger)
  const found = await check(log.frames, { verifiers: [strange] })
  t.match(found, { sealedTo: 0, checkpoints: 0, counts: { 'checkpoint-forged': log.seals.length } })
  t.match(found.findings[0], { sequence: log.seals[0]?.sequence, text: /is not signed by example.com\/log/ })
  t.match(await check(log.frames, { verifiers: [strange, verifier] }), { total: 0, sealedTo: last.size })
  t.match(
    await check(log.frames, { verifiers: [deriveVerifier(createSigner('example.com/other', Buffer.alloc(32, 7)))] }),
    {
      sealedTo: 0,
      findings: [{ kind: 'checkpoint-forged' }],
    },
  )
})

t.test('a checkpoint that the next one seals, and that nobody signed so', async (t) => {
  // What a writer that is taken over can do: the log's own sealer seals the frame like any other.
  const forged = sealedLog({ frames: 60, random: randomOf(3), signer: stranger }).seals[0]!.seal
  const frame: RawFrame = {
    sequence: 0,
    subject: 'journal.edge',
    id: 'w:1',
    storedMs: 0,
    data: Buffer.from(
      encodeFrame({ writer: 'w', counter: 1 }, [
        JSON.stringify({
          specversion: '1.0',
          id: 'e',
          source: '/gateway/edge/w',
          type: 'CheckpointSealed',
          time: '2026-03-01T00:00:00.000Z',
          subject: 'log',
          dataschema: 'events/CheckpointSealed.v1.json',
          data: forged,
        }),
      ]),
    ),
  }
  const found = await check([...log.frames, { ...frame, sequence: log.frames.length + 1 }])
  t.match(found, { total: 1, findings: [{ kind: 'checkpoint-forged', sequence: log.frames.length + 1 }] })
  t.match(found.findings[0]?.text, new RegExp(`no checkpoint covers the frames from ${last.size + 1} on`))
})

for (const [what, change] of [
  ['size', (data) => Object.assign(data, { size: Number(data['size']) - 1 })],
  ['root', (data) => Object.assign(data, { root: Buffer.alloc(32, 1).toString('base64') })],
  ['leaves', (data) => Object.assign(data, { leaves: Buffer.alloc(32, 1).toString('base64') })],
  ['peaks', (data) => Object.assign(data, { peaks: [] })],
  ['note', (data) => Object.assign(data, { note: String(data['note']).replace('\n', '0\n') })],
  ['schema', (data) => Object.assign(data, { more: true })],
] as readonly (readonly [string, (data: Record<string, unknown>) => void])[])
  t.test(`a checkpoint with another ${what}`, async (t) => {
    const sequence = log.seals[2]!.sequence
    t.match(await check(resealed(2, change)), { total: 1, findings: [{ kind: 'frame-changed', sequence }] })
    const end = log.seals.at(-1)!.sequence
    const found = await check(resealed(log.seals.length - 1, change))
    t.match(found, { total: 1, findings: [{ sequence: end }], sealedTo: log.seals.at(-2)?.seal.size })
    t.ok(['checkpoint-forged', 'frame-unreadable'].includes(found.findings[0]!.kind))
  })

t.test('published checkpoints', async (t) => {
  const all = log.seals.map(({ seal }, place) => ({ note: seal.note, place: `file ${place}` }))
  t.match(await check(log.frames, { known: all }), { total: 0 })
  const end = log.seals[3]!.seal.size
  const cut = await check(log.frames.slice(0, end), { known: all })
  t.equal(cut.counts['log-truncated'], log.seals.length - 4)
  t.match(cut.findings[0], { sequence: end + 1, text: new RegExp(`ends at sequence ${end}, .* in file 4 `) })

  const bare = log.frames.slice(0, last.size)
  t.match(await check(bare, { known: [publishedOf(log)] }), { total: 0, sealedTo: last.size, unsealed: 0 })

  const forged = { note: publishedOf(log).note.replace(/\n\d+\n/, '\n7\n'), place: 'a file' }
  t.match(await check(log.frames, { known: [forged] }), {
    total: 1,
    findings: [{ kind: 'checkpoint-forged', text: /a file holds a checkpoint that is not trusted/ }],
  })
})

t.test('a whole other history under the same key', async (t) => {
  const other = sealedLog({ frames: 140, random: randomOf(2) })
  const found = await check(other.frames, { known: [publishedOf(log)] })
  t.match(found, { total: 1, findings: [{ kind: 'log-forked', sequence: 1, toSequence: last.size }] })
  const mixed = renumbered([...log.frames, ...other.frames])
  t.ok((await check(mixed)).counts['checkpoint-contradicted'])
})

t.test('frames that are missing, in stretches', async (t) => {
  const gone = ({ sequence }: RawFrame): boolean =>
    (sequence > 20 && sequence <= 30) || sequence === 50 || sequence <= 2
  const found = await check(log.frames.filter((frame) => !gone(frame)))
  t.match(
    found.findings.filter(({ kind }) => kind === 'frame-missing'),
    [
      { sequence: 1, toSequence: 2 },
      { sequence: 21, toSequence: 30 },
      { sequence: 50, toSequence: 50 },
    ],
  )
  t.same([...new Set(kindsIn(found))], ['frame-missing'], 'and are told of once')
})

t.test('several hands on one log are each found', async (t) => {
  const frames = [...log.frames]
  frames[9] = { ...frames[9]!, data: Buffer.from('nothing') }
  frames.splice(39, 1)
  frames.splice(59, 0, { ...frames[59]!, data: Buffer.from('something') })
  const { findings } = await check(renumbered(frames))
  t.match(findings, [
    { kind: 'frame-changed', sequence: 10 },
    { kind: 'frame-removed', sequence: 40 },
    { kind: 'frame-inserted', sequence: 60 },
  ])
})

t.test('only so many findings are kept, and all are counted', async (t) => {
  const many = sealedLog({ frames: 900, random: randomOf(5), eventsMax: 1 })
  const sealed = many.seals.at(-1)!.seal.size
  const isSeal = new Set(many.seals.map(({ sequence }) => sequence))
  const touched = many.frames.map((frame) =>
    isSeal.has(frame.sequence) ? frame : { ...frame, subject: `${frame.subject}.` },
  )
  const { findings, counts, total } = await check(touched)
  t.equal(findings.length, sharedLimits.verifyFindingsMax)
  t.equal(total, many.frames.filter(({ sequence }) => sequence <= sealed && !isSeal.has(sequence)).length)
  t.equal(counts['frame-changed'], total)
})

t.test('events are read only when that is asked for', async (t) => {
  const broken = sealedLog({ frames: 30, random: randomOf(6) })
  const checkEvents = ({ data }: RawFrame): unknown => decodeEvents(data)
  t.match(await check(broken.frames, { checkEvents }), { total: 0 })
  const end = broken.frames.length + 1
  const nonsense: RawFrame = { sequence: end, subject: 'journal.edge', id: '', storedMs: 0, data: Buffer.from('{}') }
  t.match(await check([...broken.frames, nonsense]), { total: 0 })
  t.match(await check([...broken.frames, nonsense], { checkEvents }), {
    findings: [{ kind: 'frame-unreadable', sequence: end }],
  })
})

t.test('what keeps a source from answering is no finding', async (t) => {
  const away: FrameSource = {
    lastSequence: async () => 3,
    async *read() {
      yield log.frames.slice(0, 1)
      throw new Error('the log is away')
    },
  }
  await t.rejects(verifyLog({ source: away, verifiers: [verifier] }), /the log is away/)
  const short: FrameSource = {
    lastSequence: async () => 3,
    async *read() {
      yield log.frames.slice(0, 1)
    },
  }
  await t.rejects(verifyLog({ source: short, verifiers: [verifier] }), /end at sequence 1, not at 3/)
})

/** A log as from before there were checkpoints: sealed piece after piece behind its end. */
const sealedLate = (
  count: number,
  leavesMax: number = schedulerLimits.sealLeavesMax,
): { readonly frames: readonly RawFrame[]; readonly notes: readonly string[] } => {
  const sealing = new SealBuilder()
  const frames = Array.from({ length: count }, (_, place): RawFrame => {
    const data = Buffer.from(`frame ${place + 1}`)
    return { sequence: place + 1, subject: 'journal.edge', id: `w:${place + 1}`, storedMs: 0, data }
  })
  for (const frame of frames) sealing.take(frame)
  const notes: string[] = []
  while (sealing.sealedSize < count) {
    const data = signSeal(sealing.next(leavesMax), signer)
    const event = wrapEvent({ type: 'CheckpointSealed', data }, 'e', '/gateway/scheduler/s', '2026-03-01T00:00:00.000Z')
    const id = { writer: 's', counter: notes.length + 1 }
    const bytes = Buffer.from(encodeFrame(id, [JSON.stringify(event)]))
    frames.push({ sequence: frames.length + 1, subject: 'journal.scheduler', id: '', storedMs: 0, data: bytes })
    sealing.advanceTo(readSeal(data))
    notes.push(data.note)
  }
  return { frames, notes }
}

/** `make tamper` takes the program's own bound. */
const keptMax = process.env['TAMPER_RUNS'] === undefined ? 25_000 : auditLimits.verifyUnsealedFramesMax

t.test('a log that was sealed late, with more frames before its first checkpoint than are kept', async (t) => {
  const count = keptMax + keptMax / 5
  const { frames, notes } = sealedLate(count)
  const known = notes.map((note) => ({ note, place: 'a file' }))
  const source = (changed: number, without = 0): FrameSource =>
    new MemorySource(
      frames
        .filter(({ sequence }) => sequence !== without)
        .map((frame) => (frame.sequence === changed ? { ...frame, subject: 'journal.proxy' } : frame)),
      1_000,
    )
  const verified = (changed: number, parts: Partial<VerifyParts> = {}): Promise<Verification> =>
    verifyLog({ source: source(changed), verifiers: [verifier], unsealedFramesMax: keptMax, ...parts })
  t.match(await verified(0), { total: 0, sealedTo: count })
  t.match(await verified(0, { known }), { total: 0, sealedTo: count })
  t.match(await verified((keptMax * 4) / 5), {
    total: 1,
    findings: [{ kind: 'frame-changed', sequence: (keptMax * 4) / 5 }],
  })
  const kept = keptMax / 2
  t.match(await verified(100), { findings: [{ kind: 'frame-unlocated', sequence: 1, toSequence: kept }] })

  const lost = await verified(0, { source: source(0, count + 3), known })
  t.match(
    lost,
    { total: 1, findings: [{ kind: 'frame-missing', sequence: count + 3 }] },
    'one checkpoint of them is lost',
  )
})

const forged = (count: number, from = 1): readonly RawFrame[] =>
  Array.from({ length: count }, (_, place) => {
    const data = Buffer.from(`forged ${from + place}`)
    return { sequence: from + place, subject: 'journal.edge', id: '', storedMs: 0, data }
  })

t.test('a log that was rewritten, with so many frames that those before them are folded', async (t) => {
  const { sequence, seal } = log.seals.at(-1)!
  const genuine = log.frames[sequence - 1]!
  const unsealedFramesMax = 40
  const older = { note: log.seals[2]!.seal.note, place: 'a file' }
  for (const padding of [0, 1, 41, 400]) {
    const frames = renumbered([...forged(seal.size + padding), genuine])
    const found = await check(frames, { unsealedFramesMax })
    t.match(found, { findings: [{ kind: 'frame-unlocated', sequence: 1 }] }, `${padding} frames more`)
    if (padding < unsealedFramesMax) continue
    t.match(found, { total: 1, findings: [{ toSequence: seal.size }] })
    const known = await check(frames, { unsealedFramesMax, known: [older] })
    t.strictSame([...kindsIn(known)].sort(), ['frame-unlocated', 'log-forked'], 'an older one was published')
    const missing = frames.filter(({ sequence: each }) => each !== 3)
    t.strictSame([...kindsIn(await check(missing, { unsealedFramesMax }))].sort(), ['frame-missing', 'frame-unlocated'])
  }
})

t.test('a later checkpoint that nothing leads to does not make good what was folded', async (t) => {
  const { sequence, seal } = log.seals[4]!
  const more = log.seals.findLast(({ seal: { from } }) => from > seal.size + 20)!
  const frames = [
    ...forged(more.seal.from - 5),
    log.frames[sequence - 1]!,
    ...forged(30),
    log.frames[more.sequence - 1]!,
  ]
  const found = await check(renumbered(frames), { unsealedFramesMax: 10 })
  t.match(found.findings[0], { kind: 'frame-unlocated', sequence: 1 })
})

t.test('a log that was sealed late, and ends before its checkpoints have come so far', async (t) => {
  const { frames, notes } = sealedLate(260, 20)
  const known = [1, 3].map((place) => ({ note: notes[place]!, place: 'a file' }))
  const changed = (sequence: number): readonly RawFrame[] =>
    frames.map((frame) => (frame.sequence === sequence ? { ...frame, subject: 'journal.proxy' } : frame))
  for (const sealed of [1, 4, 6, 13])
    for (const unsealedFramesMax of [100, 200, 259]) {
      const parts = { unsealedFramesMax }
      const name = `${sealed} checkpoints, ${unsealedFramesMax} frames are kept`
      const of = (all: readonly RawFrame[]): readonly RawFrame[] => all.slice(0, 260 + sealed)
      t.match(await check(of(frames), parts), { total: 0, sealedTo: sealed * 20 }, name)
      t.match(await check(of(frames), { ...parts, known: known.filter((_, place) => place * 2 < sealed - 1) }), {
        total: 0,
      })
      const found = await check(of(changed(5)), parts)
      t.match(found, { total: 1, findings: [{ kind: 'frame-unlocated', sequence: 1 }] }, name)
      if (sealed > 3) t.match(kindsIn(await check(of(changed(5)), { ...parts, known })), ['log-forked'], name)
      const unsealed = await check(of(changed(sealed * 20 + 1)), parts)
      if (sealed < 13) t.match(unsealed, { total: 0, sealedTo: sealed * 20 }, 'what nothing speaks for is no finding')
    }
  const lost = renumbered(
    changed(5)
      .slice(0, 264)
      .filter(({ sequence }) => sequence !== 262),
  )
  const found = await check(lost, { unsealedFramesMax: 200 })
  t.match(found.findings, [{ kind: 'frame-unlocated', sequence: 1, toSequence: 80 }], 'one checkpoint is lost')
  const later = renumbered(
    changed(50)
      .slice(0, 264)
      .filter(({ sequence }) => sequence !== 262),
  )
  const second = await check(later, { unsealedFramesMax: 200 })
  t.match(second.findings, [{ kind: 'frame-unlocated', sequence: 21, toSequence: 80 }], 'the first of them agrees')
})

t.test('a log whose key was changed, verified with the key before alone', async (t) => {
  const { frames, seals } = sealedLog({ frames: 60, random: randomOf(5), successor: { signer: stranger, after: 3 } })
  const [first, second] = [seals[2]!.seal.size, seals.at(-1)!.seal.size]
  const on = (some: readonly RawFrame[], parts: Partial<VerifyParts> = {}) => check(some, parts)
  const both = [verifier, deriveVerifier(stranger)]
  t.match(await on(frames, { verifiers: both }), { total: 0, unproven: [], unknownKey: null, sealedTo: second })

  const found = await on(frames)
  t.match(found, { total: 0, sealedTo: first, root: seals[2]!.seal.root, checkpoints: 3 })
  t.match(found.unproven, [/frames 1 to \d+; .* by example\.com\/log\+[0-9a-f]{8}, .*signing key was changed/])
  t.equal(decideVerdict(found), 'not_proven')
  const note = { note: seals.at(-1)!.seal.note, place: 'a file' }
  t.match(await on(frames.slice(0, seals[2]!.sequence), { known: [note] }), { counts: { 'log-truncated': 1 } })
  t.match(await on(frames.slice(0, second), { known: [note] }), { total: 0, unproven: [/signing key was changed/] })

  for (const sequence of [3, seals[2]!.sequence + 1, second - 1]) {
    const changed = frames.map((each) => (each.sequence === sequence ? { ...each, subject: 'other' } : each))
    t.match(await on(changed), { total: 1, findings: [{ kind: 'frame-changed', sequence }] })
    const removed = renumbered(frames.filter((each) => each.sequence !== sequence))
    t.match(await on(removed), { total: 1, findings: [{ kind: 'frame-removed', sequence }] })
  }
})

t.test('a checkpoint of another key that does not continue what was sealed is forged', async (t) => {
  const { frames, seals } = sealedLog({ frames: 60, random: randomOf(5), successor: { signer: stranger, after: 3 } })
  const other = sealedLog({ frames: 60, random: randomOf(6), signer: stranger })
  const cut = frames.slice(0, seals[2]!.sequence)
  const foreign = other.seals.find(({ seal }) => seal.size > cut.length)!
  const spliced = renumbered([...cut, other.frames[foreign.sequence - 1]!])
  t.match(await check(spliced), { total: 1, findings: [{ kind: 'checkpoint-forged', sequence: cut.length + 1 }] })
})
