import { readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { ArchiveSource } from '../../src/adapters/archive/archive-source.ts'
import { formatSegmentFile } from '../../src/adapters/archive/segment-writer.ts'
import { type ArchiveReport, type ArchiveTarget, archiveSealedFrames } from '../../src/audit/archive.ts'
import { auditLimits } from '../../src/audit/limits.ts'
import { readSeal, SealBuilder, signSeal } from '../../src/audit/seal.ts'
import { type Verification, verifyLog } from '../../src/audit/verify.ts'
import { encodeFrame } from '../../src/events/codec.ts'
import { wrapEvent } from '../../src/events/envelope.ts'
import type { FrameSource, RawFrame } from '../../src/log/raw-frames.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { propertyRuns } from '../support/property-runs.ts'
import { randomOf } from '../support/random.ts'
import { MemorySource, renumbered, type SealedLog, sealedLog, signer, verifier } from './sealed-log.ts'

const log = sealedLog({ frames: 200, random: randomOf(11) })
const sealedTo = log.seals.at(-1)!.seal.size

const archiveTo = async (
  folder: string,
  frames: readonly RawFrame[] | FrameSource,
  wrap: (target: ArchiveTarget) => ArchiveTarget = (target) => target,
): Promise<ArchiveReport> => {
  const target = await ArchiveFolder.open(folder, verifier.name)
  const source = 'read' in frames ? frames : new MemorySource(frames)
  try {
    return await archiveSealedFrames({ source, target: wrap(target), verifiers: [verifier] })
  } finally {
    await target.close()
  }
}

const framesOf = async (source: FrameSource, from = 1, to?: number): Promise<readonly RawFrame[]> => {
  const frames: RawFrame[] = []
  for await (const some of source.read(from, to ?? (await source.lastSequence()))) frames.push(...some)
  return frames
}

const framesIn = async (folder: string): Promise<readonly RawFrame[]> => framesOf(await ArchiveSource.open(folder))

const verified = async (folder: string): Promise<Verification> => {
  const source = await ArchiveSource.open(folder, { salvage: true })
  return verifyLog({
    source,
    verifiers: [verifier],
    known: source.checkpoints,
    ...(source.lastCheckpoint === undefined ? {} : { lastCheckpoint: source.lastCheckpoint }),
  })
}

const plain = (frames: readonly RawFrame[]) =>
  frames.map(({ data, ...frame }) => ({ ...frame, data: Buffer.from(data) }))

/** An archive that was made in several runs: each ends a segment. */
const archiveInRuns = async (t: Test, ends: readonly number[]): Promise<string> => {
  const folder = await temporaryFolder(t)
  for (const end of ends) await archiveTo(folder, log.frames.slice(0, end))
  return folder
}

const segmentsOf = async (folder: string): Promise<readonly string[]> =>
  (await ArchiveSource.open(folder)).manifest.segments.map(({ file }) => file)

t.test('what is sealed is archived as it was stored', async (t) => {
  const folder = await temporaryFolder(t)
  t.match(await archiveTo(folder, log.frames), { from: 0, to: sealedTo, lastSequence: log.frames.length, total: 0 })
  t.same(plain(await framesIn(folder)), plain(log.frames.slice(0, sealedTo)))
  t.match(await verified(folder), { total: 0, sealedTo, frames: sealedTo, unsealed: 0 })
  t.same((await readdir(folder)).sort(), ['lock.sqlite', 'manifest.json', 'segments', 'snapshots'])
  t.match(await archiveTo(folder, log.frames), { from: sealedTo, to: sealedTo, total: 0 }, 'again, it does nothing')
  const source = await ArchiveSource.open(folder)
  t.same(plain(await framesOf(source, 17, 23)), plain(log.frames.slice(16, 23)))
})

t.test('run again and again, it goes on', async (t) => {
  const ends = [5, 30, 31, 60, 100, 101, 150, log.frames.length]
  const folder = await archiveInRuns(t, ends)
  t.same(plain(await framesIn(folder)), plain(log.frames.slice(0, sealedTo)))
  t.match(await verified(folder), { total: 0, sealedTo })
  t.ok((await segmentsOf(folder)).length > 4)
  const source = await ArchiveSource.open(folder)
  t.same(plain(await framesOf(source, 20, 140)), plain(log.frames.slice(19, 140)), 'across segments')
})

t.test('nothing is archived of a log that nobody seals', async (t) => {
  const folder = await temporaryFolder(t)
  const isSeal = new Set(log.seals.map(({ sequence }) => sequence))
  const bare = renumbered(log.frames.filter(({ sequence }) => !isSeal.has(sequence)))
  t.match(await archiveTo(folder, bare), { from: 0, to: 0, total: 0 })
  t.same(await framesIn(folder), [])
  t.match(await archiveTo(folder, []), { to: 0, total: 0 })
})

t.test('broken off at any write, it stands as it stood, and goes on', async (t) => {
  const folder = await temporaryFolder(t)
  const random = randomOf(12)
  const { numRuns } = propertyRuns(10)
  for (let run = 0; run < numRuns; run += 1) {
    let left = Math.floor(random() * 120)
    const breaking = (target: ArchiveTarget): ArchiveTarget => ({
      get head() {
        return target.head
      },
      get bytes() {
        return target.bytes
      },
      write: async (frame) => {
        left -= 1
        if (left < 0) throw new Error('broken off')
        await target.write(frame)
      },
      finish: (checkpoint, tree) => target.finish(checkpoint, tree),
    })
    const end = Math.min(log.frames.length, 10 + Math.ceil((run * log.frames.length) / numRuns))
    await archiveTo(folder, log.frames.slice(0, end), breaking).catch((fault: Error) => {
      if (fault.message !== 'broken off') throw fault
    })
    t.match(await verified(folder), { total: 0 })
  }
  await archiveTo(folder, log.frames)
  t.same(plain(await framesIn(folder)), plain(log.frames.slice(0, sealedTo)))
})

t.test('files that an interrupted run left are removed', async (t) => {
  const folder = await archiveInRuns(t, [60])
  const { size } = (await ArchiveSource.open(folder)).manifest
  const orphan = join(folder, formatSegmentFile(size + 1, size + 40))
  await writeFile(orphan, 'half')
  await writeFile(join(folder, 'segments', '0000000000000051.draft'), 'half')
  await writeFile(join(folder, 'manifest.json.draft'), '{')
  await archiveTo(folder, log.frames)
  t.match(await verified(folder), { total: 0, sealedTo })
  const known = new Set(await segmentsOf(folder))
  t.same(
    (await readdir(join(folder, 'segments'))).filter((name) => !known.has(`segments/${name}`)),
    [],
  )
})

t.test('segments without a manifest are kept, and the run refused', async (t) => {
  const folder = await archiveInRuns(t, [60, log.frames.length])
  const segments = (): Promise<readonly string[]> => readdir(join(folder, 'segments'))
  const before = await segments()
  const manifest = join(folder, 'manifest.json')
  await rename(manifest, `${folder}.kept`)
  await t.rejects(archiveTo(folder, log.frames), {
    name: 'ArchiveFault',
    message: /holds 2 finished segments .*but manifest\.json.* is missing from .*restore it .*nothing was removed/,
  })
  t.same(await segments(), before)
  await rename(`${folder}.kept`, manifest)
  t.match(await archiveTo(folder, log.frames), { from: sealedTo, to: sealedTo, total: 0 }, 'put back, it goes on')
})

t.test('a first run leaves a manifest from its beginning, and removes nothing but what it left', async (t) => {
  const folder = await temporaryFolder(t)
  const target = await ArchiveFolder.open(folder, verifier.name)
  t.match(await ArchiveSource.open(folder), { manifest: { log: verifier.name, size: 0 } })
  await target.close()
  await archiveTo(folder, log.frames.slice(0, 60))
  const others = ['0000000000000001-0000000000000003.frames.gz', 'letters.txt']
  for (const name of others) await writeFile(join(folder, 'segments', name), 'dear')
  await archiveTo(folder, log.frames)
  const standing = await readdir(join(folder, 'segments'))
  t.ok(others.every((name) => standing.includes(name)))
  t.match(await verified(folder), { total: 0, sealedTo })
})

t.test('one process at a time; and no folder that holds something else', async (t) => {
  const folder = await temporaryFolder(t)
  const target = await ArchiveFolder.open(folder, verifier.name)
  await t.rejects(ArchiveFolder.open(folder, verifier.name), { name: 'ArchiveFault', message: /in use/ })
  await target.close()
  await t.rejects(ArchiveFolder.open(folder, 'another.log'), { message: /of the log example.com\/log, not of another/ })
  const other = await temporaryFolder(t)
  await writeFile(join(other, 'letters.txt'), 'dear')
  await t.rejects(ArchiveFolder.open(other, verifier.name), { message: /not empty: letters.txt/ })
  await t.rejects(ArchiveSource.open(other), { message: /holds no archive/ })
})

t.test('a log that does not go on as it was archived', async (t) => {
  const cut = log.seals[9]!.sequence
  const folder = await archiveInRuns(t, [cut])
  const size = log.seals[9]!.seal.size
  const before = await readFile(join(folder, 'manifest.json'), 'utf8')
  const other = sealedLog({ frames: 250, random: randomOf(13) })
  const cases: readonly (readonly [readonly RawFrame[], object])[] = [
    [
      other.frames,
      { kind: 'log-forked', sequence: size, text: /frame \d+ of the log is not the one that was archived/ },
    ],
    [log.frames.slice(0, size - 3), { kind: 'log-truncated', sequence: size - 2 }],
    [
      [...log.frames.slice(0, size), ...other.frames.slice(size)],
      { kind: 'log-forked', text: /continues another history than the archive's/ },
    ],
  ]
  for (const [frames, finding] of cases) {
    t.match(await archiveTo(folder, frames), { from: size, to: size, findings: [finding] })
    t.same(await readFile(join(folder, 'manifest.json'), 'utf8'), before)
  }
})

t.test('a frame that is not the one that was sealed stops it there', async (t) => {
  const folder = await temporaryFolder(t)
  const sequence = log.seals[6]!.seal.size - 1
  const frames = log.frames.map((each) => (each.sequence === sequence ? { ...each, subject: 'journal.x' } : each))
  const sealed = log.seals.filter(({ seal }) => seal.size < sequence).at(-1)!.seal.size
  t.match(await archiveTo(folder, frames), { to: sealed, findings: [{ kind: 'frame-changed', sequence }] })
  t.match(await verified(folder), { total: 0, sealedTo: sealed }, 'what comes before it is archived')
  const gap = log.frames.filter((each) => each.sequence !== sequence)
  t.match(await archiveTo(folder, gap), { to: sealed, findings: [{ kind: 'frame-missing', sequence }] })
})

t.test('more frames before a checkpoint than are kept waiting', async (t) => {
  const sealing = new SealBuilder()
  const frames: RawFrame[] = []
  const add = (data: Buffer): void => {
    const frame = { sequence: frames.length + 1, subject: 'journal.edge', id: 'w:1', storedMs: 5, data }
    frames.push(frame)
    sealing.take(frame)
  }
  const seal = (leavesMax?: number): void => {
    const data = signSeal(sealing.next(leavesMax), signer)
    const event = wrapEvent({ type: 'CheckpointSealed', data }, 'e', '/s', '2026-03-01T00:00:00.000Z')
    add(Buffer.from(encodeFrame({ writer: 's', counter: frames.length }, [JSON.stringify(event)])))
    sealing.advanceTo(readSeal(data))
  }
  const random = randomOf(14)
  const bytes = Math.floor(auditLimits.archiveUnsealedBytesMax / 10)
  for (let each = 0; each < 40; each += 1) add(Buffer.alloc(bytes, Math.floor(random() * 256)))
  for (let piece = 0; piece < 5; piece += 1) seal(9)
  seal()
  const folder = await temporaryFolder(t)
  const size = frames.length - 1
  t.match(await archiveTo(folder, new MemorySource(frames, 3)), { to: size, total: 0 })
  t.ok((await segmentsOf(folder)).length > 1, 'segments end at checkpoints')
  t.match(await verified(folder), { total: 0, sealedTo: size })
  t.same(plain(await framesIn(folder)), plain(frames.slice(0, size)))
})

t.test('a damaged file is named, and where it is damaged', async (t) => {
  const ends = [60, 120, log.frames.length]
  const damaged = async (damage: (files: readonly string[]) => Promise<void>) => {
    const folder = await archiveInRuns(t, ends)
    const { segments } = (await ArchiveSource.open(folder)).manifest
    await damage(segments.map(({ file }) => join(folder, file)))
    const found = await verified(folder)
    await t.rejects(
      framesIn(folder),
      { name: 'FramesFault', message: /segments\/.*damaged/ },
      'a restore takes nothing',
    )
    return { found, segments }
  }
  const random = randomOf(15)
  for (let run = 0; run < 12; run += 1) {
    const { found, segments } = await damaged(async ([, second]) => {
      const bytes = await readFile(second!)
      const place = Math.floor(random() * bytes.length)
      bytes[place] = bytes[place]! ^ (1 << (run % 8))
      await writeFile(second!, bytes)
    })
    const { file, first, last } = segments[1]!
    const told = found.findings.filter(({ kind }) => kind === 'segment-damaged')
    t.equal(told.length, 1)
    t.match(told[0], { text: new RegExp(`${file}, which holds frames ${first} to ${last}, is damaged`) })
    t.ok(found.findings.every(({ sequence }) => first <= sequence && sequence <= last))
  }
  for (const damage of [
    ([, second]: readonly string[]) => truncate(second!, 400),
    ([, second]: readonly string[]) => rm(second!),
    async ([first, second, third]: readonly string[]) => {
      await rename(second!, `${first}.other`)
      await rename(third!, second!)
      await rename(`${first}.other`, third!)
    },
  ]) {
    const { found, segments } = await damaged(damage)
    const [finding] = found.findings
    t.match(finding, { kind: 'segment-damaged' })
    t.ok(finding!.text.includes(segments[1]!.file))
    t.ok(segments[1]!.first <= finding!.sequence && finding!.sequence <= segments[1]!.last)
  }
})

interface Loose {
  format: string
  segments: { file: string; checkpoint: string }[]
}

const rewritten = async (t: Test, change: (manifest: Loose) => void): Promise<string> => {
  const folder = await archiveInRuns(t, [60, 120, log.frames.length])
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Loose
  change(manifest)
  await writeFile(path, JSON.stringify(manifest))
  return folder
}

t.test('a manifest that somebody has laid hands on', async (t) => {
  const refused = async (change: (manifest: Loose) => void, message: RegExp): Promise<void> => {
    const folder = await rewritten(t, change)
    await t.rejects(ArchiveSource.open(folder), { name: 'ArchiveFault', message })
  }
  await refused((manifest) => manifest.segments.splice(1, 1), /begins at sequence \d+, not at \d+/)
  await refused((manifest) => manifest.segments.pop(), /the segments end at sequence \d+, not at \d+/)
  await refused((manifest) => manifest.segments.reverse(), /begins at sequence/)
  await refused((manifest) => Object.assign(manifest, { format: 'other' }), /is not an archive's manifest: format/)
  await refused((manifest) => Object.assign(manifest.segments[0]!, { file: '../secrets' }), /segments\[0\].file/)
  const forged = await rewritten(t, ({ segments }) => {
    segments[0]!.checkpoint = segments[0]!.checkpoint.replace(/\n\d+\n/, '\n3\n')
  })
  t.match(await verified(forged), { total: 1, findings: [{ kind: 'checkpoint-forged', text: /manifest\.json/ }] })
})

const archiveOf = async (t: Test, { frames }: SealedLog): Promise<string> => {
  const folder = await temporaryFolder(t)
  await archiveTo(folder, frames)
  return folder
}

t.test('an archive of another history is found by a published checkpoint', async (t) => {
  const folder = await archiveOf(t, sealedLog({ frames: 260, random: randomOf(16) }))
  const source = await ArchiveSource.open(folder)
  const known = [{ note: log.seals.at(-1)!.seal.note, place: 'a newspaper' }]
  t.match(await verifyLog({ source, verifiers: [verifier], known }), {
    findings: [{ kind: 'log-forked', sequence: 1, toSequence: sealedTo }],
  })
})
