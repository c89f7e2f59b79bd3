import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { parseSigningKey } from '../../src/audit/keys.ts'
import { ensureSigningKey, keepPublicKey, readPublicKey } from '../../src/embedded/credentials.ts'
import { temporaryFolder } from '../support/gateway.ts'

const source = fileURLToPath(new URL('../../src/embedded/credentials.ts', import.meta.url))

t.test('processes that start at once have one key', async (t) => {
  const folder = await temporaryFolder(t)
  const script = `import { ensureSigningKey } from ${JSON.stringify(source)}; console.log(ensureSigningKey(${JSON.stringify(folder)}))`
  const run = async (): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    return stdout.trim()
  }
  const keys = new Set(await Promise.all(Array.from({ length: 8 }, run)))
  t.equal(keys.size, 1)
  t.ok(keys.has(ensureSigningKey(folder)), 'and keep it')
  t.doesNotThrow(() => parseSigningKey('any', ensureSigningKey(folder)))
  t.same(await readdir(join(folder, 'audit')), ['signing-key'], 'no draft is left')
  t.equal((await stat(join(folder, 'audit', 'signing-key'))).mode & 0o777, 0o600)
  t.equal((await stat(join(folder, 'audit'))).mode & 0o777, 0o700)
})

t.test('the public key stands beside it, as it was last told', async (t) => {
  const folder = await temporaryFolder(t)
  t.equal(readPublicKey(folder), null)
  for (const text of ['one', 'one', 'two']) {
    keepPublicKey(folder, text)
    t.equal(readPublicKey(folder), text)
  }
})
