import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { openRawWriter } from '../../src/adapters/nats/raw-writer.ts'
import { openSnapshots } from '../../src/adapters/nats/snapshots/open.ts'
import { deriveVerifier, verifierText } from '../../src/audit/note.ts'
import { restoreLog } from '../../src/audit/restore.ts'
import type { SnapshotHead } from '../../src/audit/seal.ts'
import { openOn } from '../adapters/nats/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { MemorySource, sealedLog, stranger, verifier } from '../audit/sealed-log.ts'
import { workspaceId } from '../roles/projector/facts.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { runProgram } from '../support/program.ts'
import { randomOf } from '../support/random.ts'

const { frames, snapshots } = sealedLog({ frames: 60, random: randomOf(5), snapshots: true })
const newest = snapshots.at(-1)!

async function* bytesOf(head: SnapshotHead, bytes: Buffer): AsyncGenerator<Uint8Array, SnapshotHead> {
  yield bytes
  return head
}

t.test('a balance is proved from a snapshot on the server, and a changed snapshot is reported', async (t) => {
  const server = await NatsServer.create({ syncAlways: false })
  t.teardown(() => server.remove())
  const opened = await openOn(server, { role: 'operator', durability: 'relaxed' })
  const connection = await connectNats({ url: server.url, name: 'fill' })
  t.teardown(() => connection.close())
  await restoreLog({
    archive: new MemorySource(frames, 100),
    log: opened.log,
    writer: openRawWriter(connection, 'GATEWAY'),
  })
  await opened.close()
  const store = await openSnapshots({
    connection,
    name: 'GATEWAY',
    role: 'scheduler',
    replicas: 1,
    create: true,
    ...runtime,
  })

  const folder = await temporaryFolder(t)
  const config = join(folder, 'gateway.yaml')
  const proof = join(folder, 'balance.json')
  const nats = { url: server.url, monitoring_url: server.monitoringUrl }
  const database_url = 'postgres://nobody@127.0.0.1:1/none' // Nothing is read from it.
  const audit = { public_key: verifierText(verifier) }
  await writeFile(config, JSON.stringify({ log: { durability: 'relaxed' }, database_url, nats, audit }))
  const run = (...words: readonly string[]) => runProgram(folder, folder, ...words)
  const prove = (id: string) => run('prove', '--balance', id, '--out', proof, '--config', config)

  t.match(await prove(workspaceId), { code: 1, err: /no checkpoint confirms a snapshot yet/ })
  await store.write(newest.head.sequence, bytesOf(newest.head, newest.bytes))
  t.match(await prove(workspaceId), { code: 0, out: /proves the balance of acme at frame \d+: [-0-9.]+ USD/ })
  t.match(await prove('nobody'), { code: 1, err: /has no workspace nobody/ })
  t.match(await run('verify', '--proof', proof, '--public-key', verifierText(verifier)), {
    code: 0,
    out: /the wallet of acme after frame \d+[\s\S]*balance: [\s\S]*proved by a checkpoint/,
  })
  const other = verifierText(deriveVerifier(stranger))
  t.match(await run('verify', '--proof', proof, '--public-key', other), { code: 1, err: /not a valid proof/ })
  const text = await readFile(proof, 'utf8')
  await writeFile(proof, text.replace('"record": "[\\"wallet', '"record": "[\\"wallex'))
  t.match(await run('verify', '--proof', proof, '--public-key', verifierText(verifier)), {
    code: 1,
    err: /not a valid/,
  })

  t.match(await run('verify', '--events', '--config', config), { out: /nothing that is sealed was changed|not proven/ })
  const changed = Buffer.from(newest.bytes.toString().replace('"creditsPicos":"', '"creditsPicos":"9'))
  t.notOk(changed.equals(newest.bytes))
  await store.write(newest.head.sequence, bytesOf(newest.head, changed))
  t.match(await run('verify', '--config', config), { code: 1, out: /the snapshot of sequence \d+ is not the one/ })
  t.match(await prove(workspaceId), { code: 1, err: /not in the snapshot that the checkpoint confirms/ })
})
