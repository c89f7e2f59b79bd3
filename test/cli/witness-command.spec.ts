import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openWitnessClient } from '../../src/adapters/witness/client.ts'
import { readAddReply } from '../../src/audit/add-checkpoint.ts'
import { parseWitnessKey } from '../../src/audit/cosignature.ts'
import { createSigner, deriveVerifier, verifierText } from '../../src/audit/note.ts'
import { runWords } from '../support/program.ts'
import { addRequest, startWitness } from '../support/witnesses.ts'

const log = createSigner('example.com/log', Buffer.alloc(32, 7))
const logKey = verifierText(deriveVerifier(log))

const start = async (t: Test, folder: string) => {
  const { child, url, publicKey } = await startWitness(t, folder, '--log', logKey)
  const key = parseWitnessKey(publicKey)
  const client = openWitnessClient({ url, key })
  const cosign = async (from: number, to: number) => {
    const body = addRequest(from, to, log)
    return readAddReply(await client.add(body), body.slice(body.indexOf('\n\n') + 2), key)
  }
  return { child, cosign, publicKey }
}

t.test('a witness that is killed knows what it has cosigned, and has the same key', async (t) => {
  const folder = t.testdir()
  const first = await start(t, folder)
  t.match(await first.cosign(0, 7), { type: 'cosigned' })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const second = await start(t, folder)
  t.equal(second.publicKey, first.publicKey)
  t.same(await second.cosign(0, 9), { type: 'conflict', size: 7 })
  t.match(await second.cosign(7, 9), { type: 'cosigned' })
  t.equal(statSync(join(folder, 'witness/signing-key')).mode & 0o777, 0o600)
  const other = ['witness', '--name', 'w', '--log', logKey, '--port', '0', '--data', folder]
  t.match(await runWords(folder, other), { code: 1, err: /in use by another witness/ })
  second.child.kill('SIGTERM')
  t.same(await once(second.child, 'exit'), [0, null])
})

t.test('a witness without a log, or with what is no key, does not start', async (t) => {
  const folder = t.testdir()
  const words = ['witness', '--name', 'w', '--data', folder]
  t.match(await runWords(folder, words), { code: 2, err: /name the public key of at least one with --log/ })
  t.match(await runWords(folder, [...words, '--log', 'x']), { code: 2, err: /not a public key of a log/ })
})
