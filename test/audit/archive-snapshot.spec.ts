import { copyFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { ArchiveSource } from '../../src/adapters/archive/archive-source.ts'
import type { Manifest } from '../../src/adapters/archive/manifest.ts'
import { archiveSealedFrames } from '../../src/audit/archive.ts'
import { archiveSnapshot } from '../../src/audit/archive-snapshot.ts'
import type { IntegrityFinding } from '../../src/audit/findings.ts'
import { passVerified, restoreLedger, type SnapshotStore } from '../../src/audit/snapshots.ts'
import { verifyLog } from '../../src/audit/verify.ts'
import { type SnapshotCheck, verifyArchivedSnapshot } from '../../src/audit/verify-snapshots.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { randomOf } from '../support/random.ts'
import { MemorySnapshots } from '../support/snapshots.ts'
import { MemorySource, type StoredSnapshot, sealedLog, verifier } from './sealed-log.ts'

const log = sealedLog({ frames: 120, random: randomOf(31), snapshots: true })
/** The last checkpoint is in a frame that none seals. */
const newest = log.snapshots.at(-2)!

const storeOf = (snapshots: readonly StoredSnapshot[]): MemorySnapshots => {
  const store = new MemorySnapshots()
  for (const { head, bytes } of snapshots) store.put(head, bytes)
  return store
}

const archive = async (
  folder: string,
  store: Pick<SnapshotStore, 'list' | 'read'>,
  frames: readonly RawFrame[] = log.frames,
): Promise<readonly IntegrityFinding[]> => {
  const target = await ArchiveFolder.open(folder, verifier.name)
  const source = new MemorySource(frames, 50)
  try {
    const verifiers = [verifier]
    t.match(await archiveSealedFrames({ source, target, verifiers }), { total: 0 })
    return await archiveSnapshot({ log: source, store, target, size: target.head.size, verifiers })
  } finally {
    await target.close()
  }
}

const check = async (folder: string): Promise<SnapshotCheck> => {
  const source = await ArchiveSource.open(folder)
  const { total, snapshots } = await verifyLog({ source, verifiers: [verifier], known: source.checkpoints })
  t.equal(total, 0)
  return verifyArchivedSnapshot({ store: source.snapshots, log: source, verifiers: [verifier] }, snapshots)
}

const verify = async (folder: string): Promise<readonly IntegrityFinding[]> => (await check(folder)).findings

const archived = async (t: Test): Promise<string> => {
  const folder = await temporaryFolder(t)
  t.same(await archive(folder, storeOf(log.snapshots)), [])
  return folder
}

const sequenceIn = async (folder: string): Promise<number | undefined> =>
  (await ArchiveSource.open(folder)).manifest.snapshot?.sequence

const fileIn = async (folder: string): Promise<string> =>
  join(folder, (await ArchiveSource.open(folder)).manifest.snapshot!.file)

const rewrite = async (folder: string, change: (manifest: Manifest) => object): Promise<void> => {
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest
  await writeFile(path, JSON.stringify({ ...manifest, ...change(manifest) }))
}

t.test('the newest that the archived frames confirm is archived, and put back byte for byte', async (t) => {
  const folder = await archived(t)
  const source = await ArchiveSource.open(folder)
  t.same(await verify(folder), [])
  const [head] = await source.snapshots.list()
  t.same(head, newest.head)
  const store = new MemorySnapshots()
  await store.write(head!.sequence, passVerified(source.snapshots.read(head!), head!))
  t.ok(store.bytes(head!).equals(newest.bytes))
  const frames = log.frames.slice(0, await source.lastSequence())
  const onRefused = (): void => void t.fail('the restored snapshot is refused')
  const ledger = await restoreLedger({ store, log: new MemorySource(frames), verifiers: [verifier], onRefused })
  t.equal(ledger?.sequence, newest.head.sequence, 'a start on the restored log begins there')
})

t.test('an archive that goes on takes the newer one, and keeps no other file', async (t) => {
  const folder = await temporaryFolder(t)
  const cut = log.seals[4]!.sequence
  await archive(folder, storeOf(log.snapshots), log.frames.slice(0, cut))
  t.equal(await sequenceIn(folder), log.snapshots[3]!.head.sequence)
  t.same(await verify(folder), [])
  await writeFile(join(folder, 'snapshots', 'interrupted.draft'), 'half')
  await archive(folder, storeOf(log.snapshots))
  t.equal(await sequenceIn(folder), newest.head.sequence)
  t.equal((await readdir(join(folder, 'snapshots'))).length, 1)
  await archive(folder, storeOf(log.snapshots.slice(0, 2)))
  t.equal(await sequenceIn(folder), newest.head.sequence, 'an older one takes no place of a newer one')
})

t.test('an archive without the last one that its frames confirm is not proven, and that is no finding', async (t) => {
  const folder = await archived(t)
  const missing = [new RegExp(`snapshot of sequence ${newest.head.sequence}, .* is not in the archive`)]
  t.same(await check(folder), { findings: [], unproven: [] })
  await rewrite(folder, () => ({ snapshot: undefined }))
  t.match(await check(folder), { findings: [], unproven: missing })
  await archive(folder, storeOf(log.snapshots.slice(0, -2)))
  t.match(await check(folder), { findings: [], unproven: missing }, 'an older one does not replace it')
  await archive(folder, storeOf(log.snapshots))
  t.same(await check(folder), { findings: [], unproven: [] }, 'the next run archives it')
})

t.test('one that no checkpoint among the frames confirms is not archived', async (t) => {
  const folder = await temporaryFolder(t)
  const { head, bytes } = log.snapshots.at(-1)!
  t.same(await archive(folder, storeOf([log.snapshots.at(-1)!])), [])
  t.equal(await sequenceIn(folder), undefined)
  t.same(await archive(folder, storeOf([{ head: { ...head, sequence: head.sequence - 1 }, bytes }])), [])
  t.equal(await sequenceIn(folder), undefined)
})

t.test('a stored snapshot that was changed is found, and the one before it is archived', async (t) => {
  const folder = await temporaryFolder(t)
  const changed = Buffer.from(newest.bytes)
  changed[40]! ^= 1
  const [before] = log.snapshots.slice(-3)
  const findings = await archive(folder, storeOf([before!, { head: newest.head, bytes: changed }]))
  t.match(findings, [{ kind: 'snapshot-changed', sequence: newest.head.sequence }])
  t.equal(await sequenceIn(folder), before!.head.sequence)
  t.same(await verify(folder), [])
})

t.test('a store that fails half way leaves the archive as it was', async (t) => {
  const folder = await archived(t)
  await rewrite(folder, () => ({ snapshot: undefined }))
  const store = storeOf([newest])
  const breaking: Pick<SnapshotStore, 'list' | 'read'> = {
    list: () => store.list(),
    read: async function* (head) {
      for await (const piece of store.read(head)) yield piece.subarray(0, 100)
      throw new Error('broken off')
    },
  }
  t.match(await archive(folder, breaking), [{ text: /broken off/ }])
  t.same(await readdir(join(folder, 'snapshots')), [])
  t.same(await verify(folder), [])
})

t.test('one that was changed, swapped or removed is found, and archived anew', async (t) => {
  const { sequence } = newest.head
  const found = async (kind: IntegrityFinding['kind'], damage: (file: string, folder: string) => Promise<void>) => {
    const folder = await archived(t)
    await damage(await fileIn(folder), folder)
    t.match(await verify(folder), [{ kind, sequence }])
    return folder
  }
  const random = randomOf(32)
  for (let run = 0; run < 20; run += 1)
    await found('snapshot-changed', async (file) => {
      const bytes = await readFile(file)
      const place = 10 + Math.floor(random() * (bytes.length - 10)) // The header of a gzip file has bytes that say nothing.
      bytes[place]! ^= 1 << (run % 8)
      await writeFile(file, bytes)
    })
  await found('snapshot-changed', (file) => truncate(file, 100))
  const gone = await found('snapshot-missing', (file) => rm(file))
  await archive(gone, storeOf(log.snapshots))
  t.same(await verify(gone), [])
  await found('snapshot-swapped', async (file) => {
    const other = await temporaryFolder(t)
    await archive(other, storeOf(log.snapshots.slice(0, -3)))
    await copyFile(await fileIn(other), file)
  })
})

t.test('a manifest that names another snapshot is found', async (t) => {
  const other = log.snapshots.at(-4)!.head
  for (const change of [{ sha256: other.sha256 }, { sequence: other.sequence }, { format: 7 }]) {
    const folder = await archived(t)
    await rewrite(folder, ({ snapshot }) => ({ snapshot: { ...snapshot, ...change } }))
    t.match(await verify(folder), [{ kind: 'snapshot-changed', text: /is not confirmed by the archive/ }])
  }
  const folder = await archived(t)
  const refused = async (change: object, message: RegExp): Promise<void> => {
    await rewrite(folder, ({ snapshot }) => ({ snapshot: { ...snapshot, ...change } }))
    await t.rejects(ArchiveSource.open(folder), { name: 'ArchiveFault', message })
  }
  await refused({ file: '../manifest.json' }, /snapshot\.file/)
  await refused({ file: newest.head.sequence, sequence: 1e9 }, /snapshot/)
})

t.test('an archive of a release without snapshots is read as before', async (t) => {
  const folder = await archived(t)
  await rewrite(folder, () => ({ snapshot: undefined }))
  await rm(join(folder, 'snapshots'), { recursive: true })
  t.same(await verify(folder), [])
  t.same(await (await ArchiveSource.open(folder)).snapshots.list(), [])
  await archive(folder, storeOf(log.snapshots))
  t.equal(await sequenceIn(folder), newest.head.sequence, 'and is continued with one')
})
