import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { verifierText } from '../../../src/audit/note.ts'
import type { SnapshotHead } from '../../../src/audit/seal.ts'
import { readCheckpoints } from '../../../src/audit/verified-checkpoints.ts'
import { findLogVerifier } from '../../../src/cli/audit-keys.ts'
import { type Gateway, startGateway } from '../../../src/cli/gateway.ts'
import { openPlatform, requireTables } from '../../../src/cli/platform.ts'
import type { Config } from '../../../src/config/config.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { configOf, openOperator, runtime, temporaryFolder } from '../../support/gateway.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { runProgram } from '../../support/program.ts'
import { framesOf } from '../../support/sealing.ts'

const [origin, laterOrigin] = ['gateway.test/ledger', 'gateway.test/ledger-2']

const tooLate: SnapshotHead = { sequence: 999_999, format: 1, sha256: 'a'.repeat(64) }

// biome-ignore lint/correctness/useYield: a snapshot without pieces
async function* noPieces(): AsyncGenerator<Uint8Array, SnapshotHead> {
  return tooLate
}

t.test('a log that was rolled back is found, not sealed, and continued only on purpose', async (t) => {
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sealed = { sealing: true, origin, signer: null, verifier: null, previous: [] }
  const config = configOf(dataFolder, sandbox.url, { config: { audit: sealed } })
  const [store, backup] = [join(dataFolder, 'nats'), join(dataFolder, 'backup')]
  const logger = recordingLogger()
  const start = (by: Config = config) => startGateway(by, { ...runtime, logger }, (fault) => t.fail(fault.message))
  const answer = async ({ url, demoKey }: Gateway) =>
    t.equal((await chat(url, demoKey!, chatBody('openai/plain', false))).status, 200)
  const configure = (audit: object) =>
    writeFile(join(dataFolder, 'gateway.yaml'), JSON.stringify({ log: config.log, audit }))
  const run = (...words: readonly string[]) => runProgram(dataFolder, dataFolder, ...words)
  const isSealed = async (by: Config = config): Promise<number> => {
    const operator = await openOperator(by)
    const { log } = operator.platform
    await until(
      async () => (await requireTables(operator.platform).database.checkpoint()) === (await log.lastSequence()),
    )
    const frames = await framesOf(log)
    await operator.stop()
    return frames.length
  }
  await configure({ origin })

  const first = await start()
  await answer(first)
  const kept = await isSealed()
  await first.stop()
  await cp(store, backup, { recursive: true })
  const second = await start()
  for (let request = 0; request < 3; request += 1) await answer(second)
  await isSealed()
  await second.stop()
  t.same(
    logger.lines.filter(({ level }) => level === 'error'),
    [],
  )
  t.match(await run('verify'), { code: 0, out: /nothing that is sealed was changed/ })

  await rm(store, { recursive: true })
  await cp(backup, store, { recursive: true })
  t.match(JSON.parse((await run('verify', '--json')).out.trim().split('\n').at(-1)!), { verdict: 'tampered' })
  t.match(await run('verify'), { code: 1, out: /audit\.state speaks for frames up to \d+/ })
  const platform = await openPlatform(config, runtime, { role: 'operator', embedded: 'any', onFatal: () => {} })
  const client = new pg.Client({ connectionString: requireTables(platform).place.url })
  await client.connect()
  await client.query('drop schema ledger cascade')
  await client.end()
  await platform.snapshots.write(tooLate.sequence, noPieces())
  await platform.stop()

  const third = await start()
  await until(() => logger.lines.some(({ event }) => event === 'seal.stopped'))
  const stopped = logger.lines.find(({ event }) => event === 'seal.stopped')
  t.match(stopped, {
    fields: { fault: { message: /the log was rolled back: it ends at frame \d+, and \d+ frames were signed/ } },
  })
  await answer(third)
  await third.stop()

  const back = ['audit', 'rollback', '--to', String(kept)]
  t.match(await run(...back, '--reason', 'a disk was lost'), { code: 1, err: /configure another `audit\.origin`/ })
  const publicKey = verifierText(findLogVerifier(config)!)
  await configure({ origin: laterOrigin, previous_public_keys: [publicKey] })
  t.match(await run(...back), { code: 2, err: /--reason/ })
  t.match(await run(...back, '--reason', ' '), { code: 2, err: /a reason has 1 to 500 characters/ })
  t.match(await run('audit', 'rollback', '--to', '-1', '--reason', 'x'), {
    code: 2,
    err: /a size is a number of frames/,
  })
  t.match(await run('audit', 'rollback', '--to', '999999', '--reason', 'x'), { code: 1, err: /the log ends at frame/ })
  t.match(await run(...back, '--reason', 'a disk was lost'), { code: 0, out: new RegExp(`${kept} .*${laterOrigin}`) })
  const operator = await openOperator(config)
  t.notOk((await operator.platform.snapshots.list()).some(({ sequence }) => sequence > kept))
  await operator.stop()
  t.notMatch((await run('verify')).out, /is not stored/, 'snapshots of the longer history are not missed')
  t.match(await run(...back, '--reason', 'once more'), { code: 1, err: /configure another `audit\.origin`/ })

  const before = logger.lines.length
  const audit = { ...sealed, origin: laterOrigin, previous: [findLogVerifier(config)!] }
  const later = { ...config, audit }
  const fourth = await start(later)
  await answer(fourth)
  await isSealed(later)
  await fourth.stop()
  t.same(
    logger.lines.slice(before).filter(({ level }) => level === 'error'),
    [],
  )
  t.match(await run('verify'), {
    code: 0,
    out: new RegExp(`rolled back by operator:.* ${kept} were kept: a disk was lost`),
  })
  const archive = join(dataFolder, 'archive')
  t.match(await run('archive', archive), { code: 0, out: /frames 1 to \d+ were archived/ })
  t.match(await run('verify', '--archive', archive), { code: 0, out: /nothing that is sealed was changed/ })
  t.match(await run('backup', join(dataFolder, 'whole')), { code: 0, out: /frames 1 to \d+ were archived/ })

  const fifth = await start(later)
  await answer(fifth)
  await isSealed(later)
  await fifth.stop()
  const source = await openOperator(later)
  const { note } = (await framesOf(source.platform.log)).flatMap(readCheckpoints).at(-1)!
  await source.stop()
  const restored = await temporaryFolder(t)
  const runRestored = (...words: readonly string[]) => runProgram(restored, restored, ...words)
  await cp(join(dataFolder, 'gateway.yaml'), join(restored, 'gateway.yaml'))
  const { code, out } = await runRestored('restore', join(dataFolder, 'whole'), '--json')
  t.equal(code, 0)
  const { frames } = JSON.parse(out.trim().split('\n').at(-1)!)
  const previous = [verifierText(findLogVerifier(later)!), publicKey]
  const audited = { origin: `${laterOrigin}-b`, previous_public_keys: previous }
  await writeFile(join(restored, 'gateway.yaml'), JSON.stringify({ log: config.log, audit: audited }))
  await writeFile(join(restored, 'note.txt'), note)
  await writeFile(join(restored, 'none.txt'), 'no note\n')
  const again = ['audit', 'rollback', '--to', String(frames), '--reason', 'what came after the backup was lost']
  t.match(await runRestored(...again), { code: 1, err: /name a later checkpoint with `--checkpoint`/ })
  t.match(await runRestored(...again, '--checkpoint', 'none.txt'), { code: 2 })
  t.match(await runRestored(...again, '--checkpoint', 'note.txt'), {
    code: 0,
    out: new RegExp(`${frames} .*${laterOrigin}-b`),
  })
  t.match(await runRestored(...again, '--checkpoint', 'note.txt'), {
    code: 1,
    err: /configure another `audit\.origin`/,
  })
  t.notMatch(await runRestored('verify'), { code: 1 }, 'it contradicts nothing that is known')
})
