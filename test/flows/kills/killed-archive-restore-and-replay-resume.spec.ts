import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { cp, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { ArchiveSource } from '../../../src/adapters/archive/archive-source.ts'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import type { OpenLog } from '../../../src/adapters/nats/log.ts'
import { openRawWriter } from '../../../src/adapters/nats/raw-writer.ts'
import { verifierText } from '../../../src/audit/note.ts'
import { restoreLog } from '../../../src/audit/restore.ts'
import { verifyLog } from '../../../src/audit/verify.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { openOn } from '../../adapters/nats/open.ts'
import { NatsServer } from '../../adapters/nats/server.ts'
import { MemorySource, sealedLog, verifier } from '../../audit/sealed-log.ts'
import { openProjected } from '../../roles/projector/projecting.ts'
import { temporaryFolder } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { type Ended, mainFile, programEnvironment, runProgram } from '../../support/program.ts'
import { randomOf } from '../../support/random.ts'

const isLong = process.env['CHAOS_ROUNDS'] !== undefined
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 1)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000)
const random = randomOf(seed)
t.comment(`CHAOS_SEED=${seed}`)

const pollMs = 5
const lingerMsMax = 400

const server = await NatsServer.create({ syncAlways: false })
t.teardown(() => server.remove())
const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
const folder = await temporaryFolder(t)
const archived = join(folder, 'archive')

const written = sealedLog({ frames: isLong ? 2_000 : 600, random: randomOf(91), eventsMax: 50, sealEveryMax: 60 })
const last = written.seals.at(-1)!.seal
const known = [{ note: last.note, place: 'the last checkpoint' }]

/** A log on the server, and the words that lead a command to it. */
const logNamed = async (name: string) => {
  const { log, close } = await openOn(server, { name, role: 'operator', durability: 'relaxed' })
  t.teardown(close)
  const file = join(folder, `${name}.yaml`)
  const config = {
    log: { name, durability: 'relaxed' },
    database_url: projected.place.url,
    nats: { url: server.url, monitoring_url: server.monitoringUrl },
    audit: { public_key: verifierText(verifier) },
  }
  await writeFile(file, JSON.stringify(config))
  return { log, config: ['--config', file] as const }
}

const fill = async (log: OpenLog, name: string): Promise<void> => {
  const connection = await connectNats({ url: server.url, name: 'fill' })
  await restoreLog({ archive: new MemorySource(written.frames, 100), log, writer: openRawWriter(connection, name) })
  await connection.close()
}

/** Runs a command, and kills it some time after it is seen at work; false when it ended before. */
const killed = async (words: readonly string[], isAtWork: () => boolean | Promise<boolean>): Promise<boolean> => {
  const child = spawn(process.execPath, [mainFile, ...words, '--data', folder], {
    env: programEnvironment(),
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  while (child.exitCode === null && !(await isAtWork())) await delay(pollMs)
  await Promise.race([exited, delay(random() * lingerMsMax)])
  child.kill('SIGKILL')
  await exited
  return child.signalCode === 'SIGKILL'
}

const source = await logNamed('GATEWAY')
await fill(source.log, 'GATEWAY')

const run = (...words: readonly string[]): Promise<Ended> => runProgram(folder, folder, ...words)

t.test('an archive', async (t) => {
  const segments = join(archived, 'segments')
  const isAtWork = (): boolean => existsSync(segments) && readdirSync(segments).some((name) => name.endsWith('.draft'))
  let kills = 0
  for (let round = 0; round < rounds; round += 1) {
    if (await killed(['archive', archived, ...source.config], isAtWork)) kills += 1
    if (!existsSync(join(archived, 'manifest.json'))) continue
    const standing = await ArchiveSource.open(archived)
    const { checkpoints, lastCheckpoint } = standing
    const parts = { source: standing, verifiers: [verifier], known: checkpoints }
    t.match(await verifyLog(lastCheckpoint === undefined ? parts : { ...parts, lastCheckpoint }), { total: 0 })
  }
  t.comment(`${kills} of ${rounds} were killed`)
  t.match(await run('archive', archived, ...source.config), { code: 0 })
  t.match(await run('verify', '--archive', archived, ...source.config, '--json'), {
    code: 0,
    out: new RegExp(`"sealed_to":${last.size},"root":"${last.root.replaceAll('+', '\\+')}"`),
  })
})

t.test('an archive that lacks a segment, or holds a part of one, is not taken for whole', async (t) => {
  const copy = join(folder, 'copy')
  await cp(archived, copy, { recursive: true })
  const [first] = (await ArchiveSource.open(copy)).manifest.segments.map(({ file }) => join(copy, file))
  const words = ['archive', copy, ...source.config]
  await truncate(first!, 100)
  const cut =
    /segment-damaged: .*0000000000000001-.*holds frames 1 to \d+, is damaged: it has 100 bytes, the manifest lists/
  t.match(await run(...words), {
    code: 1,
    out: cut,
    err: /`gateway verify --archive .*copy` checks the contents too/,
  })
  await rm(first!)
  const gone = await run(...words, '--json')
  t.match(gone, { code: 1, out: /"finding":"segment-damaged","sequence":1,.*ENOENT/ })
  t.match(gone.out, /"findings":1\}/)
})

t.test('a restore', async (t) => {
  const { log, config } = await logNamed('RESTORED')
  let kills = 0
  for (let round = 0; round < rounds; round += 1) {
    const from = await log.lastSequence()
    const isAtWork = async (): Promise<boolean> => (await log.lastSequence()) > from
    if (await killed(['restore', archived, ...config], isAtWork)) kills += 1
  }
  t.comment(`${kills} of ${rounds} were killed; ${await log.lastSequence()} of ${last.size} frames stood`)
  t.match(await run('restore', archived, ...config), {
    code: 0,
    out: /the log is the archive's, to the last of its/,
    err: /sealing continues only with the key that signed the archive: configure the old `audit.signing_key`/,
  })
  t.match(await verifyLog({ source: log, verifiers: [verifier], known }), {
    total: 0,
    frames: last.size,
    sealedTo: last.size,
  })
  t.match(await run('restore', archived, ...source.config), { code: 1, err: /more than the archive's/ })
})

t.test('a replay of an archive that reaches further than the log', async (t) => {
  const { config } = await logNamed('EMPTY')
  for (const words of [[], ['--swap']])
    t.match(await run('replay', '--archive', archived, ...words, ...config), {
      code: 1,
      out: '',
      err: new RegExp(`nothing was rebuilt: the log ends at 0, the archive at ${last.size}; restore it first`),
    })
})

t.test('a refill of read models that are behind', async (t) => {
  const schemas = () => projected.values("select nspname from pg_namespace where nspname like 'ledger%' order by 1")
  await projected.query(`update checkpoint set sequence = ${await source.log.lastSequence()}`)
  await rebuildReadModels({ log: source.log, place: projected.place, swap: true })
  const before = await projected.texts()
  await projected.query("update read_models set version = 0 where name in ('requests', 'usage', 'wallets')")
  const words = ['serve', '--role', 'projector', ...source.config]
  let kills = 0
  for (let round = 0; round < rounds; round += 1) {
    const isAtWork = async (): Promise<boolean> => (await schemas()).includes('ledger_rebuild')
    if (await killed(words, isAtWork)) kills += 1
  }
  t.comment(`${kills} of ${rounds} were killed`)
  await killed(words, async () => (await projected.store.versions()).get('wallets') === 1)
  t.same(await projected.texts(), before)
  t.match(await run('status', ...source.config), { code: 0, out: /read_models_behind .*\n.* none / })
})

t.test('a replay', async (t) => {
  const schemas = () => projected.values("select nspname from pg_namespace where nspname like 'ledger%' order by 1")
  await projected.query(`update checkpoint set sequence = ${await source.log.lastSequence()}`)
  await rebuildReadModels({ log: source.log, place: projected.place, swap: true })
  const before = await projected.texts()
  const words = ['replay', '--archive', archived, '--swap', ...source.config]
  let kills = 0
  for (let round = 0; round < rounds; round += 1) {
    const isAtWork = async (): Promise<boolean> => (await schemas()).includes('ledger_rebuild')
    if (await killed(words, isAtWork)) kills += 1
  }
  t.comment(`${kills} of ${rounds} were killed`)
  t.match(await run(...words), { code: 0, err: /the rebuilt tables equal the live ones/ })
  t.same(await schemas(), ['ledger', 'ledger_audit'])
  t.same(await projected.texts(), before)
  await projected.query("update requests set status = 'x'")
  const { code, err } = await run('replay', '--tables', 'requests', ...source.config)
  t.equal(code, 1)
  t.match(err, /^requests has the columns \(request_id,.*\)\nrequests\n {2}live: +\(/m)
  t.equal(err.match(/has the columns/g)?.length, 1, 'they are named once')
})
