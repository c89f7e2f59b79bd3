import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { openRawWriter } from '../../src/adapters/nats/raw-writer.ts'
import { openSnapshots } from '../../src/adapters/nats/snapshots/open.ts'
import { verifierText } from '../../src/audit/note.ts'
import { restoreLog } from '../../src/audit/restore.ts'
import type { SnapshotHead } from '../../src/audit/seal.ts'
import { restoreLedger } from '../../src/audit/snapshots.ts'
import { openOn } from '../adapters/nats/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { MemorySource, type StoredSnapshot, sealedLog, verifier } from '../audit/sealed-log.ts'
import { workspaceId } from '../roles/projector/facts.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runProgram } from '../support/program.ts'
import { randomOf } from '../support/random.ts'

const { frames, snapshots } = sealedLog({ frames: 60, random: randomOf(6), snapshots: true })
const newest = snapshots.at(-2)! // The last checkpoint is in a frame that none seals.

async function* bytesOf({ head, bytes }: StoredSnapshot): AsyncGenerator<Uint8Array, SnapshotHead> {
  yield bytes
  return head
}

/** A NATS server, and commands on its log. */
const place = async (t: Test) => {
  const server = await NatsServer.create({ syncAlways: false })
  t.teardown(() => server.remove())
  const folder = await temporaryFolder(t)
  const config = join(folder, 'gateway.yaml')
  const nats = { url: server.url, monitoring_url: server.monitoringUrl }
  const database_url = 'postgres://nobody@127.0.0.1:1/none' // Nothing is read from it.
  const audit = { public_key: verifierText(verifier) }
  await writeFile(config, JSON.stringify({ log: { durability: 'relaxed' }, database_url, nats, audit }))
  const run = (...words: readonly string[]): Promise<Ended> => runProgram(folder, folder, ...words, '--config', config)
  const open = async (create: boolean) => {
    const { log, close } = await openOn(server, { role: 'operator', durability: 'relaxed' })
    t.teardown(close)
    const connection = await connectNats({ url: server.url, name: 'test' })
    t.teardown(() => connection.close())
    const options = { connection, name: 'GATEWAY', role: 'scheduler', replicas: 1, create }
    return { log, connection, store: await openSnapshots({ ...options, ...runtime }) }
  }
  return { run, open, folder }
}

t.test('a snapshot is archived, verified, proves a balance and is put back; a damaged one is not', async (t) => {
  const [from, to] = [await place(t), await place(t)]
  const archive = join(from.folder, 'archive')
  const source = await from.open(true)
  const writer = openRawWriter(source.connection, 'GATEWAY')
  await restoreLog({ archive: new MemorySource(frames, 100), log: source.log, writer })
  t.match(await from.run('archive', archive), { code: 0, out: /no snapshot is archived yet/ })
  await source.store.write(newest.head.sequence, bytesOf(newest))
  t.match(await from.run('archive', archive), {
    code: 0,
    out: new RegExp(`the snapshot of sequence ${newest.head.sequence} is archived`),
  })

  const verified = await from.run('verify', '--archive', archive, '--events')
  t.match(verified, { code: 0, out: /nothing that is sealed was changed/ })
  const proof = join(from.folder, 'balance.json')
  t.match(await from.run('prove', '--balance', workspaceId, '--archive', archive, '--out', proof), {
    code: 0,
    out: /proves the balance of acme at frame \d+/,
  })

  t.match(await to.run('restore', archive), {
    code: 0,
    out: new RegExp(`sequence ${newest.head.sequence} was put back: the first start begins at frame`),
  })
  const restored = await to.open(false)
  const ledger = await restoreLedger({
    ...restored,
    verifiers: [verifier],
    onRefused: (head, fault) => t.fail(`${head.sequence} is refused: ${fault}`),
  })
  t.equal(ledger?.sequence, newest.head.sequence)
  t.match(await to.run('restore', archive, '--json'), { code: 0, out: /"restored":0,.*"snapshot":\d+/ })

  const manifest = join(archive, 'manifest.json')
  const whole = await readFile(manifest, 'utf8')
  const { snapshot, ...others } = JSON.parse(whole)
  await writeFile(manifest, JSON.stringify(others))
  const taken = new RegExp(`the snapshot of sequence ${snapshot.sequence}, .* is not in the archive`)
  t.match(await from.run('verify', '--archive', archive), { code: 4, out: taken })
  t.match(await to.run('restore', archive), { code: 0, err: taken, out: /no snapshot was put back/ })
  await writeFile(manifest, whole)
  await truncate(join(archive, snapshot.file), 60)
  const changed = /snapshot-changed: the snapshot of sequence \d+ is not the one that a checkpoint confirms/
  t.match(await from.run('verify', '--archive', archive), { code: 1, out: changed })
  t.match(await to.run('restore', archive), { code: 1, out: changed, err: /nothing was restored/ })
  t.match(await to.run('replay', '--archive', archive), { code: 1, out: changed, err: /nothing was rebuilt/ })
  t.match(await from.run('archive', archive), { code: 1, out: /holds the snapshot of sequence \d+, is damaged/ })
  t.match(await from.run('verify', '--archive', archive), { code: 0 }, 'it was archived anew')
})
