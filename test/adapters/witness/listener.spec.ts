import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { openCosignedFolder } from '../../../src/adapters/audit-files.ts'
import { openWitnessClient } from '../../../src/adapters/witness/client.ts'
import { witnessLimits } from '../../../src/adapters/witness/limits.ts'
import { createWitnessListener } from '../../../src/adapters/witness/listener.ts'
import { readAddReply } from '../../../src/audit/add-checkpoint.ts'
import { witnessKeyOf } from '../../../src/audit/cosignature.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { Witness } from '../../../src/audit/witness.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { addRequest } from '../../support/witnesses.ts'

const log = createSigner('example.com/log', Buffer.alloc(32, 7))
const signer = createSigner('witness.example/w1', Buffer.alloc(32, 9))
const key = witnessKeyOf(signer.name, deriveVerifier(signer).publicKey)

const start = async (folder: string) => {
  const logs = [{ origin: log.name, verifier: deriveVerifier(log) }]
  const parts = { logs, signer, store: openCosignedFolder(folder), clock: Date.now, logger: silentLogger }
  const listener = createWitnessListener(new Witness(parts), silentLogger)
  t.teardown(() => listener.stop())
  const url = await listener.listen('127.0.0.1', 0)
  return { url, client: openWitnessClient({ url, key }), stop: () => listener.stop() }
}

const noteOf = (request: string): string => request.slice(request.indexOf('\n\n') + 2)

t.test('client and server agree on every answer, also after a restart', async (t) => {
  const folder = t.testdir()
  const { client, stop } = await start(folder)
  t.match(await client.readLast(log.name), { status: 404 })
  const first = addRequest(0, 5, log)
  const outcome = readAddReply(await client.add(first), noteOf(first), key)
  t.match(outcome, { type: 'cosigned', lines: /^— witness\.example\/w1 \S+\n$/ })
  t.match(await client.readLast(log.name), {
    status: 200,
    body: `${noteOf(first)}${'lines' in outcome && outcome.lines}`,
  })
  await stop()

  const { client: again } = await start(folder)
  const late = addRequest(0, 9, log)
  t.same(readAddReply(await again.add(late), noteOf(late), key), { type: 'conflict', size: 5 })
  const other = addRequest(5, 9, log, { proof: [] })
  t.match(readAddReply(await again.add(other), noteOf(other), key), { type: 'refused', reason: /another history/ })
  const unknown = addRequest(5, 9, createSigner('example.com/other', Buffer.alloc(32, 1)))
  t.match(readAddReply(await again.add(unknown), noteOf(unknown), key), { type: 'refused', reason: /not know the log/ })
  const stranger = witnessKeyOf('witness.example/w2', key.publicKey)
  const next = addRequest(5, 9, log)
  t.match(readAddReply(await again.add(next), noteOf(next), stranger), { reason: /without a signature by its key/ })
})

t.test('what is no request of a log, too large, or too slow is refused', async (t) => {
  const { url } = await start(t.testdir())
  const statusOf = async (path: string, init?: RequestInit) => (await fetch(`${url}${path}`, init)).status
  t.equal(await statusOf('/healthz'), 200)
  t.equal(await statusOf('/'), 404)
  t.equal(await statusOf('/add-checkpoint'), 404)
  t.equal(await statusOf(`/${'a'.repeat(64)}/checkpoint`), 404)
  t.equal(await statusOf('/../x/checkpoint'), 404)
  t.equal(await statusOf('/add-checkpoint', { method: 'POST', body: 'x' }), 400)
  const large = 'x'.repeat(witnessLimits.witnessBodyBytesMax + 1)
  t.equal(await statusOf('/add-checkpoint', { method: 'POST', body: large }), 413)
  const slow = connect(Number(new URL(url).port), '127.0.0.1')
  slow.write('POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nold')
  t.match(await text(slow), /^HTTP\/1\.1 408|^$/)
  t.equal(await statusOf('/healthz'), 200)
})
