/**
 * `make witness`: our client against litewitness, a witness that others wrote; our witness and litewitness on the same
 * random requests; and the notes of both opened by the Go libraries of logs. Exits with 1 where one differs.
 *
 * WITNESS_REQUESTS (2000), WITNESS_SEED (1).
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCosignedFolder } from '../../src/adapters/audit-files.ts'
import { openWitnessClient } from '../../src/adapters/witness/client.ts'
import { createWitnessListener } from '../../src/adapters/witness/listener.ts'
import { formatAddCheckpoint, readAddReply, type WitnessClient } from '../../src/audit/add-checkpoint.ts'
import { witnessKeyOf, witnessKeyText } from '../../src/audit/cosignature.ts'
import { createSigner, deriveVerifier, signCheckpoint, verifierText } from '../../src/audit/note.ts'
import { Witness } from '../../src/audit/witness.ts'
import { silentLogger } from '../support/log-lines.ts'
import { randomOf } from '../support/random.ts'
import { growthOf } from '../support/witnesses.ts'
import { installWitness } from './install.ts'
import { startLitewitness } from './litewitness.ts'

const requests = Number(process.env['WITNESS_REQUESTS'] ?? 2_000)
const seed = Number(process.env['WITNESS_SEED'] ?? 1)
const random = randomOf(seed)
const below = (count: number): number => Math.floor(random() * count)

const log = createSigner('log.test/ledger', Buffer.alloc(32, 7))
const stranger = createSigner('log.test/ledger', Buffer.alloc(32, 8))
const unknown = createSigner('log.test/unknown', Buffer.alloc(32, 9))
const verifier = deriveVerifier(log)

const startOwn = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'witness-'))
  const signer = createSigner('witness.test/own', Buffer.alloc(32, 3))
  const logs = [{ origin: log.name, verifier }]
  const witness = new Witness({
    logs,
    signer,
    store: openCosignedFolder(folder),
    clock: Date.now,
    logger: silentLogger,
  })
  const listener = createWitnessListener(witness, silentLogger)
  const url = await listener.listen('127.0.0.1', 0)
  const key = witnessKeyOf(signer.name, deriveVerifier(signer).publicKey)
  const stop = async () => {
    await listener.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, key, stop }
}

const kinds = [
  'next',
  'same',
  'conflict',
  'another history',
  'wrong proof',
  'short proof',
  'old above',
  'stranger',
  'unknown',
  'malformed',
] as const
type Kind = (typeof kinds)[number]

/** A request of the kind, on a log that was cosigned up to `size`, and the size that is cosigned after it. */
const requestOf = (kind: Kind, size: number): { readonly body: string; readonly to: number } => {
  const to = kind === 'same' ? size : size + 1 + below(50)
  const { proof, tree } = growthOf(size, to)
  const noteBy = (signer: typeof log, root = tree.root): string =>
    signCheckpoint({ origin: signer.name, size: to, root }, signer)
  const good = { oldSize: size, proof, note: noteBy(log) }
  const place = below(proof.length)
  switch (kind) {
    case 'next':
    case 'same':
      return { body: formatAddCheckpoint(good), to }
    case 'conflict':
      return { body: formatAddCheckpoint({ ...good, oldSize: below(size) }), to }
    case 'another history':
      return { body: formatAddCheckpoint({ ...good, note: noteBy(log, growthOf(0, to, 'another').tree.root) }), to }
    case 'wrong proof':
      return { body: formatAddCheckpoint({ ...good, proof: proof.with(place, Buffer.alloc(32, 1)) }), to }
    case 'short proof':
      return { body: formatAddCheckpoint({ ...good, proof: proof.toSpliced(place, 1) }), to }
    case 'old above':
      return { body: formatAddCheckpoint({ ...good, oldSize: to + 1 }), to }
    case 'stranger':
      return { body: formatAddCheckpoint({ ...good, note: noteBy(stranger) }), to }
    case 'unknown':
      return { body: formatAddCheckpoint({ ...good, note: noteBy(unknown) }), to }
    case 'malformed':
      return { body: formatAddCheckpoint(good).replace('old ', ['new ', 'old x', '', 'old -'][below(4)]!), to }
  }
}

const { litewitness, openNote } = installWitness()
const own = await startOwn()
const other = await startLitewitness(litewitness, [verifier])
const failures: string[] = []
const counts = new Map<string, number>()
const clients: readonly WitnessClient[] = [openWitnessClient(own), openWitnessClient(other)]
let size = 0
let notes = 0
for (let request = 0; request < requests; request += 1) {
  const kind = size === 0 ? 'next' : kinds[below(kinds.length)]!
  const { body, to } = requestOf(kind, size)
  const note = body.slice(body.indexOf('\n\n') + 2)
  const replies = await Promise.all(clients.map((client) => client.add(body)))
  const [ours, theirs] = replies.map(({ status, type, body: text }) =>
    status === 409 ? `409 ${type} ${text.trim()}` : String(status),
  )
  const pair = `${kind}: ${ours!.slice(0, 3)}`
  counts.set(pair, (counts.get(pair) ?? 0) + 1)
  if (ours !== theirs) failures.push(`request ${request}, ${kind}: ours ${ours}, litewitness ${theirs}`)
  if (ours !== '200' || theirs !== '200') continue
  size = to
  for (const [place, reply] of replies.entries()) {
    const { key } = clients[place]!
    const outcome = readAddReply(reply, note, key)
    if (outcome.type !== 'cosigned') {
      failures.push(`request ${request}: our client does not read the cosignature of ${key.name}`)
      continue
    }
    if (notes >= 200) continue
    notes += 1
    const input = `${note}${outcome.lines}`
    const found = execFileSync(openNote, [verifierText(verifier), witnessKeyText(key)], {
      input,
      encoding: 'utf8',
    }).trim()
    if (found !== `${log.name} ${to} 2`)
      failures.push(`request ${request}: the library reads ${found} from the note of ${key.name}`)
  }
}
other.stop()
await own.stop()
for (const [pair, count] of [...counts].sort()) console.log(`${pair} × ${count}`)
console.log(`${requests} requests of seed ${seed}, ${notes} notes opened by the library; cosigned up to size ${size}`)
for (const failure of failures.slice(0, 20)) console.error(failure)
if (failures.length > 0) process.exitCode = 1
