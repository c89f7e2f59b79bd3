import assert from 'node:assert/strict'
import t from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { ArchiveSource } from '../../src/adapters/archive/archive-source.ts'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { openRawWriter } from '../../src/adapters/nats/raw-writer.ts'
import { archiveSealedFrames, assertContinues } from '../../src/audit/archive.ts'
import { verifierText } from '../../src/audit/note.ts'
import { restoreLog } from '../../src/audit/restore.ts'
import { type ReplayParts, type ReplayReport, rebuildReadModels } from '../../src/cli/replay.ts'
import type { FrameSource, RawFrame } from '../../src/log/raw-frames.ts'
import { ArchiveThenLog, followSource } from '../../src/log/source-log.ts'
import { openOn } from '../adapters/nats/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { forgeArchive } from '../audit/archive-forgery.ts'
import { MemorySource, type SealedLog, sealedLog, verifier } from '../audit/sealed-log.ts'
import { openProjected, type Projected } from '../roles/projector/projecting.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { startPostgres } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { propertyRuns } from '../support/property-runs.ts'
import { randomOf } from '../support/random.ts'

const postgres = await startPostgres(t)
const server = await NatsServer.create({ syncAlways: false })
t.teardown(() => server.remove())

const newProjected = (): Promise<Projected> => openProjected(t, postgres)

const archiveIn = async (folder: string, log: SealedLog): Promise<void> => {
  const target = await ArchiveFolder.open(folder, verifier.name)
  await archiveSealedFrames({ source: new MemorySource(log.frames, 100), target, verifiers: [verifier] })
  await target.close()
}

const archiveOf = async (log: SealedLog): Promise<ArchiveSource> => {
  const folder = await temporaryFolder(t)
  await archiveIn(folder, log)
  return ArchiveSource.open(folder)
}

/** A log on a real server with all of a log's frames. */
const liveLogOf = async ({ frames }: SealedLog, name: string) => {
  const opened = await openOn(server, { name, role: 'operator', durability: 'relaxed' })
  t.teardown(opened.close)
  const connection = await connectNats({ url: server.url, name: 'restore' })
  t.teardown(() => connection.close())
  await restoreLog({ archive: new MemorySource(frames, 100), log: opened.log, writer: openRawWriter(connection, name) })
  return opened.log
}

const digestsOf = ({ comparisons }: ReplayReport): Readonly<Record<string, string>> =>
  Object.fromEntries(comparisons.map(({ table, digest }) => [table, digest]))

/** Tables that a first replay has put in place, so that those that follow stand at the same frame. */
const standing = async (log: ReplayParts['log'], projected: Projected): Promise<void> => {
  await projected.query(`update checkpoint set sequence = ${await log.lastSequence()}`)
  await rebuildReadModels({ log, place: projected.place, swap: true })
}

/** By `make properties` more than the product's own batch holds. */
const { numRuns: times } = propertyRuns(1)
const cases = [
  { events: 200, batches: [1, 7, 20_000] },
  { events: 2_100 * times, batches: [Math.min(1_000 * times, 20_000)] },
]

for (const [index, { events, batches }] of (times > 1 ? cases : cases.slice(0, 1)).entries())
  t.test(`the digests of ${events} events, in batches of ${batches.join(', ')}`, async (t) => {
    const log = sealedLog({ frames: events / 10, random: randomOf(51 + index), eventsMax: 20, sealEveryMax: 10 })
    const live = await liveLogOf(log, `DIGESTS${index}`)
    const source = new ArchiveThenLog(await archiveOf(log), live)
    const projected = await newProjected()
    await standing(live, projected)
    const digests: Readonly<Record<string, string>>[] = []
    for (const batchEventsMax of batches)
      for (const each of [live, followSource(source)]) {
        const report = await rebuildReadModels({ log: each, place: projected.place, swap: false, batchEventsMax })
        t.ok(report.equal, `batches of ${batchEventsMax}`)
        digests.push(digestsOf(report))
      }
    for (const [table, digest] of Object.entries(digests[0]!)) t.comment(`${table} ${digest}`)
    for (const other of digests.slice(1)) assert.deepEqual(other, digests[0])
    t.equal(new Set(digests.map((each) => JSON.stringify(each))).size, 1, `${digests.length} replays`)
  })

t.test('the tables that are chosen are compared, and swapped, and no others', async (t) => {
  const log = sealedLog({ frames: 80, random: randomOf(61) })
  const source = followSource(new MemorySource(log.frames))
  const projected = await newProjected()
  await standing(source, projected)
  const before = await projected.texts()
  await projected.query("update requests set status = 'x'; delete from usage_entries; delete from open_requests")
  const tables = ['usage_entries', 'requests']
  const found = await rebuildReadModels({ log: source, place: projected.place, swap: true, tables })
  t.same(
    found.comparisons.map(({ table, differences }) => [table, differences > 0]),
    [
      ['requests', true],
      ['usage_entries', true],
    ],
  )
  const after = await projected.texts()
  t.same(
    after,
    before.filter((text) => !text.startsWith('open_requests ')),
    'what was not chosen stays as it was',
  )
  const indexes = await projected.values("select indexname from pg_indexes where schemaname = 'ledger' order by 1")
  t.ok(indexes.includes('requests_by_workspace'))
  t.match(await rebuildReadModels({ log: source, place: projected.place, swap: true }), { equal: false, swapped: true })
  t.same(await projected.texts(), before)
  await t.rejects(rebuildReadModels({ log: source, place: projected.place, swap: false, tables: ['wallet'] }), {
    name: 'UnknownTables',
    message: /no read model is called wallet; there are .*wallets/,
  })
})

const renamed = (frames: readonly RawFrame[], sequence: number): FrameSource =>
  new MemorySource(frames.map((each) => (each.sequence === sequence ? { ...each, subject: 'journal.other' } : each)))

t.test('a log that does not go on where the archive ends is refused', async (t) => {
  const { frames } = sealedLog({ frames: 60, random: randomOf(62) })
  const part = new MemorySource(frames.slice(0, 40))
  await assertContinues(part, new MemorySource(frames))
  await assertContinues(part, new MemorySource([]))
  await assertContinues(new MemorySource([]), new MemorySource(frames))
  await t.rejects(assertContinues(part, renamed(frames, 40)), {
    name: 'FramesFault',
    message: /its frame 40 is another/,
  })
  const whole = new ArchiveThenLog(part, new MemorySource(frames))
  t.equal(await whole.lastSequence(), frames.length)
  for (const [from, to] of [
    [1, 40],
    [1, 60],
    [39, 42],
    [41, 60],
    [50, 50],
  ] as const) {
    const read: number[] = []
    for await (const some of whole.read(from, to)) read.push(...some.map(({ sequence }) => sequence))
    t.same(
      read,
      Array.from({ length: to - from + 1 }, (_, place) => from + place),
    )
  }
})

t.test('a frame that cannot be believed ends the replay', async (t) => {
  const { frames } = sealedLog({ frames: 30, random: randomOf(63) })
  const projected = await newProjected()
  await projected.query(`update checkpoint set sequence = ${frames.length}`)
  const nobody = followSource(new MemorySource(frames), new Map())
  await t.rejects(rebuildReadModels({ log: nobody, place: projected.place, swap: false }), {
    message: /the frame at sequence \d+ cannot be read: journal\.\w+ holds a \w+, which no writer may put there/,
  })
})

t.test('nothing is made from an archive that nobody can check, or that was forged', async (t) => {
  const [folder, archived] = [await temporaryFolder(t), await temporaryFolder(t)]
  const log = sealedLog({ frames: 30, random: randomOf(64) })
  await archiveIn(archived, log)
  const replays = ['replay', '--archive', archived, '--swap']
  const restores = ['restore', archived]
  const run = (...words: readonly string[]) => runProgram(folder, folder, ...words)
  for (const command of [replays, restores])
    t.match(await run(...command), { code: 2, out: '', err: /no public key: name the log’s with --public-key/ })
  await forgeArchive(archived, log.frames, (text) => text.replaceAll('"amount":"', '"amount":"9'))
  for (const [command, refusal] of [
    [replays, /nothing was rebuilt: the archive is not what was sealed/],
    [restores, /nothing was restored: the archive is not what was sealed/],
  ] as const)
    t.match(await run(...command, '--public-key', verifierText(verifier)), {
      code: 1,
      out: /^frame-changed: frame/,
      err: refusal,
    })
})
