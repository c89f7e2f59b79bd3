import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { openHeadFile } from '../../src/adapters/audit-files.ts'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { openRawWriter } from '../../src/adapters/nats/raw-writer.ts'
import { archiveSealedFrames } from '../../src/audit/archive.ts'
import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import { deriveVerifier, verifierText } from '../../src/audit/note.ts'
import { restoreLog } from '../../src/audit/restore.ts'
import { signedHeadOf } from '../../src/audit/signed-head.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { openOn } from '../adapters/nats/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { MemorySource, renumbered, sealedLog, stranger, verifier } from '../audit/sealed-log.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { runProgram } from '../support/program.ts'
import { randomOf } from '../support/random.ts'

const log = sealedLog({ frames: 150, random: randomOf(71) })
const last = log.seals.at(-1)!.seal
const key = verifierText(verifier)

const archiveIn = async (folder: string, frames: readonly RawFrame[], verifiers = [verifier]): Promise<string> => {
  const target = await ArchiveFolder.open(join(folder, 'archive'), verifier.name)
  await archiveSealedFrames({ source: new MemorySource(frames), target, verifiers })
  await target.close()
  return join(folder, 'archive')
}

/** A folder with an archive, and a published checkpoint. */
const place = async (t: Test, frames: readonly RawFrame[] = log.frames, verifiers = [verifier]) => {
  const folder = await temporaryFolder(t)
  const published = join(folder, 'published.note')
  await writeFile(published, last.note)
  const archived = await archiveIn(folder, frames, verifiers)
  const run = (...words: readonly string[]) => runProgram(folder, folder, ...words)
  const verifying = (...words: readonly string[]) => run('verify', '--archive', archived, '--public-key', key, ...words)
  return { folder, archived, published, run, verifying }
}

const sealSequences = new Set(log.seals.map(({ sequence }) => sequence))
const withoutSeals = renumbered(log.frames.filter(({ sequence }) => !sealSequences.has(sequence)))

interface LogAudit {
  readonly public_key?: string
  readonly sealing?: boolean
  /** The last checkpoint, which the state of the sealing has. Absent: there is no state. */
  readonly sealedBefore?: { readonly size: number }
}

/** Logs on a server, and `verify` on each of them. */
const openLogs = async (t: Test) => {
  const server = await NatsServer.create({ syncAlways: false })
  t.teardown(() => server.remove())
  const folder = await temporaryFolder(t)
  const nats = { url: server.url, monitoring_url: server.monitoringUrl }
  return async (
    name: string,
    frames: readonly RawFrame[],
    { sealedBefore, ...audit }: LogAudit = { public_key: key },
  ) => {
    const opened = await openOn(server, { name, role: 'operator', durability: 'relaxed' })
    const connection = await connectNats({ url: server.url, name: 'fill' })
    const writer = openRawWriter(connection, name)
    if (frames.length > 0) await restoreLog({ archive: new MemorySource(frames, 100), log: opened.log, writer })
    await connection.close()
    await opened.close()
    const file = join(folder, `${name}.yaml`)
    const state = join(folder, `${name}.state`)
    const { size } = sealedBefore ?? { size: 0 }
    const tree = new GrowingTree()
    for (const frame of frames.slice(0, size)) tree.append(hashFrame(frame))
    if (sealedBefore !== undefined) await openHeadFile(state).replace(signedHeadOf(verifier.name, tree))
    const database_url = 'postgres://nobody@127.0.0.1:1/none' // Nothing is read from it.
    await writeFile(
      file,
      JSON.stringify({ log: { name, durability: 'relaxed' }, database_url, nats, audit: { ...audit, state } }),
    )
    return (...words: readonly string[]) => runProgram(folder, folder, 'verify', '--config', file, ...words)
  }
}

t.test('a log without checkpoints is not proven, and exit code 4', async (t) => {
  const logOf = await openLogs(t)
  const sealed = await logOf('SEALED', log.frames, { public_key: key, sealedBefore: last })
  t.match(await sealed(), { code: 0, out: /nothing that is sealed was changed/ })
  t.match(JSON.parse((await sealed('--json')).out), { verdict: 'proven', reasons: [], findings: 0 })

  const removed = await logOf('REMOVED', withoutSeals)
  const found = await removed()
  t.match(found, { code: 4, out: /none of them is sealed\nnot proven: no checkpoint/ })
  t.notMatch(found.out, /nothing that is sealed was changed/)
  const { code, out } = await removed('--json')
  t.equal(code, 4)
  const reasons = [/no checkpoint/]
  t.match(JSON.parse(out), { verdict: 'not_proven', reasons, findings: 0, sealed_to: 0, frames: withoutSeals.length })
  t.match(await (await logOf('EMPTY', []))(), { code: 4, out: /not proven: no checkpoint/ })

  const keyless = await logOf('KEYLESS', withoutSeals, { sealing: false })
  t.match(await keyless(), { code: 2, err: /no public key: .*without one nothing is proven/ })
  t.match(await keyless('--public-key', key), { code: 4, out: /not proven: no checkpoint/ })
  t.match(await removed('--help'), { code: 0, out: /0 .*proven[\s\S]*1 [\s\S]*2 [\s\S]*4 .*not proven/ })
})

t.test('a log of which nothing says how far it has to reach is not proven', async (t) => {
  const logOf = await openLogs(t)
  const { folder } = await place(t)
  const published = join(folder, 'published.note')
  const cut = log.frames.slice(0, log.seals[5]!.sequence)
  const verify = await logOf('STATELESS', cut)
  t.match(await verify(), { code: 4, out: /not proven: what was signed last is not known here/ })
  t.match(await verify('--checkpoint', published), { code: 1, out: /log-truncated/ })
  const whole = await logOf('WHOLE', log.frames)
  t.match(await whole('--checkpoint', published), { code: 0 })
})

t.test('confirmed snapshots without their stream are not proven', async (t) => {
  const logOf = await openLogs(t)
  const { frames, seals } = sealedLog({ frames: 40, random: randomOf(73), snapshots: true })
  const sealedBefore = seals.at(-1)!.seal
  const found = await (await logOf('SNAPSHOTS', frames, { public_key: key, sealedBefore }))()
  t.match(found, { code: 4, out: /not proven: snapshots that checkpoints confirm cannot be read: .*stream not found/ })
  t.notMatch(found.out, /nothing that is sealed was changed/)
})

t.test('an archive without a frame is not proven', async (t) => {
  const { verifying } = await place(t, withoutSeals)
  t.match(await verifying(), { code: 4, out: /not proven: no checkpoint/ })
})

t.test('a clean archive', async (t) => {
  const { verifying, published, archived, folder, run } = await place(t)
  t.match(await verifying('--checkpoint', published, '--checkpoint', join(archived, 'manifest.json'), '--events'), {
    code: 0,
    out: /frames 1 to \d+ are sealed\nnothing that is sealed was changed/,
  })
  const { code, out } = await verifying('--json')
  t.equal(code, 0)
  t.match(JSON.parse(out), { frames: last.size, sealed_to: last.size, root: last.root, findings: 0 })
  const keyFile = join(folder, 'key.txt')
  await writeFile(keyFile, `${key}\n`)
  t.match(await run('verify', '--archive', archived, '--public-key', keyFile), { code: 0 })
})

t.test('each finding has its word, and exit code 1', async (t) => {
  const { verifying, run, archived } = await place(t)
  const strange = verifierText(deriveVerifier(stranger))
  t.match(await run('verify', '--archive', archived, '--public-key', strange), {
    code: 1,
    out: /checkpoint-forged: .*is not signed by example.com\/log/,
  })

  const manifest = join(archived, 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replace(last.note.split('\n')[2]!, Buffer.alloc(32, 1).toString('base64')))
  t.match(await verifying(), { code: 1, out: /checkpoint-forged: .*manifest\.json/ })
  await writeFile(manifest, text)

  const segment = join(archived, JSON.parse(text).segments[0].file)
  const bytes = await readFile(segment)
  bytes[bytes.length >> 1] = bytes[bytes.length >> 1]! ^ 4
  await writeFile(segment, bytes)
  const damaged = await verifying('--json')
  t.equal(damaged.code, 1)
  t.match(JSON.parse(damaged.out.split('\n')[0]!), { finding: /segment-damaged|frame-changed/ })
  t.match(damaged.out, /"finding":"segment-damaged".*0000000000000001-\d+\.frames\.gz/)
  await writeFile(manifest, '{}')
  t.match(await verifying(), { code: 1, err: /is not an archive's manifest/ })
})

t.test('a log that was cut, and one that was rewritten, behind a published checkpoint', async (t) => {
  const cut = await place(t, log.frames.slice(0, log.seals[5]!.sequence))
  t.match(await cut.verifying(), { code: 0 }, 'by itself it shows nothing')
  t.match(await cut.verifying('--checkpoint', cut.published), {
    code: 1,
    out: /log-truncated: the log ends at sequence \d+, and the checkpoint in .*published\.note speaks for frames up to/,
  })
  const other = sealedLog({ frames: 220, random: randomOf(72), signer: stranger })
  const forged = await place(t, other.frames, [deriveVerifier(stranger)])
  const verified = await forged.verifying('--checkpoint', forged.published)
  t.match(verified, { code: 1, out: /checkpoint-forged: frame \d+ holds a checkpoint that is not trusted/ })
  t.match(
    verified.out,
    /log-forked: the log is not the one that was published: the checkpoint of size \d+ in .*published/,
  )
})

t.test('an archive whose key was changed is not proven by the key before alone, and not restored', async (t) => {
  const successor = { signer: stranger, after: 3 }
  const changed = sealedLog({ frames: 150, random: randomOf(73), successor })
  const { verifying, run, archived } = await place(t, changed.frames, [verifier, deriveVerifier(stranger)])
  const reason = /by example\.com\/log\+[0-9a-f]{8}, a key that is not known here: the signing key was changed/
  t.match(await verifying(), { code: 4, out: reason })
  t.match(await verifying('--public-key', verifierText(deriveVerifier(stranger))), { code: 0 })
  t.match(await run('replay', '--archive', archived, '--public-key', key), { code: 1, err: reason })
})

t.test('a proof is made, and checked without anything else', async (t) => {
  const { folder, run, archived } = await place(t)
  const proof = join(folder, 'charge.json')
  const used = log.frames.find(({ data }) => Buffer.from(data).includes('UsageRecorded'))!
  const requestId = /"type":"UsageRecorded".*?"requestId":"([^"]+)"/.exec(Buffer.from(used.data).toString())![1]!
  const from = ['--archive', archived, '--public-key', key]
  t.match(await run('prove', requestId, '--out', proof, ...from), { code: 0, out: /proves UsageRecorded/ })
  const alone = await temporaryFolder(t)
  const checked = await runProgram(alone, alone, 'verify', '--proof', proof, '--public-key', key)
  t.match(checked, { code: 0, out: new RegExp(`requestId: ${requestId}`) })
  t.match(checked.out, /input: 100 × 0.0000025 = 0.00025 USD[\s\S]*proved by a checkpoint over \d+ frames/)
  t.match(await runProgram(alone, alone, 'verify', '--proof', proof, '--public-key', key, '--json'), {
    code: 0,
    out: /"proved":true/,
  })
  const { sequence } = JSON.parse(await readFile(proof, 'utf8'))
  t.match(await run('prove', String(sequence), '--json', ...from), {
    code: 0,
    out: new RegExp(`"proof":"${sequence}.proof.json"`),
  })
  t.match(await run('verify', '--proof', `${sequence}.proof.json`, '--public-key', key), { code: 0 })
  t.match(await run('prove', 'nobody', ...from), { code: 1, err: /nothing in the log is called nobody/ })
  t.match(await run('prove', '1', '--index', '999', ...from), { code: 1, err: /the frame has no event 999/ })

  const text = await readFile(proof, 'utf8')
  await writeFile(proof, text.replace('"total": "0.00055"', '"total": "0.00044"'))
  t.match(await run('verify', '--proof', proof, '--public-key', key), { code: 1, err: /is not a valid proof/ })
  await writeFile(proof, text)
  const strange = verifierText(deriveVerifier(stranger))
  t.match(await run('verify', '--proof', proof, '--public-key', strange), { code: 1, err: /is not signed by/ })
  await writeFile(proof, '{}')
  t.match(await run('verify', '--proof', proof, '--public-key', key), { code: 1, err: /not a proof/ })
})

t.test('used wrongly', async (t) => {
  const { run, archived, published } = await place(t, log.frames.slice(0, 40))
  for (const [words, err] of [
    [['verify', '--nonsense'], /unknown option/],
    [['verify', '--archive', archived], /no public key/],
    [['verify', '--archive', archived, '--public-key', 'nonsense'], /--public-key nonsense: not a public key/],
    [['verify', '--archive', archived, '--public-key', key, '--checkpoint', 'none.note'], /none.note cannot be read/],
    [['verify', '--proof', 'none.json', '--public-key', key], /none.json cannot be read/],
    [['verify', '--proof', published, '--archive', archived, '--public-key', key], /checked by itself/],
    [['verify', '--quorum', '1', '--archive', archived, '--public-key', key], /named with --witness/],
    [['verify', '--witness', key.replace('+A', '+B'), '--archive', archived, '--public-key', key], /--witness/],
    [['verify', '--proof', published, '--witness', key, '--public-key', key], /checked by itself/],
    [['prove'], /missing required argument/],
    [['prove', '1', '--index', 'x', '--archive', archived, '--public-key', key], /whole number/],
    [['archive'], /missing required argument/],
    [['archive', archived], /no public key/],
    [['restore'], /missing required argument/],
    [['replay', '--tables', ','], /--tables takes names/],
  ] as const)
    t.match(await run(...words), { code: 2, err }, words.join(' '))
})
