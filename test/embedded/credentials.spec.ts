import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ensureCredentials, readCallbackSecret } from '../../src/embedded/credentials.ts'

t.test('credentials are made once', async (t) => {
  const folder = t.testdir()
  t.equal(readCallbackSecret(folder), null)
  const credentials = ensureCredentials(folder)
  t.same(ensureCredentials(folder), credentials)
  t.equal(new Set(Object.values(credentials)).size, 3)
  t.equal(readCallbackSecret(folder), credentials.callbackSecret)
  t.equal(statSync(join(folder, 'credentials.json')).mode & 0o777, 0o600)
})

t.test('what an older gateway did not need is made, and the rest stays', async (t) => {
  const older = { databasePassword: 'a', natsPassword: 'b' }
  const folder = t.testdir()
  const file = join(folder, 'credentials.json')
  writeFileSync(file, JSON.stringify(older))
  t.equal(readCallbackSecret(folder), null)
  const credentials = ensureCredentials(folder)
  t.match(credentials, { ...older, callbackSecret: /^[0-9a-f]{48}$/ })
  t.same(JSON.parse(readFileSync(file, 'utf8')), credentials)
  t.same(ensureCredentials(folder), credentials)
})
