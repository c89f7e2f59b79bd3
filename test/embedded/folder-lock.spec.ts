import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockFolder } from '../../src/embedded/folder-lock.ts'

const modesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]))

const held = { 'lock.sqlite': 0o600, 'lock.sqlite-journal': 0o600 }

t.test('the files of a lock are their owner’s alone: another user could lock what it can read', async (t) => {
  const folder = t.testdir({})
  const lock = lockFolder(folder)
  t.same(modesIn(folder), held)
  t.throws(() => lockFolder(folder), /is in use by another process/)
  t.same(modesIn(folder), held)
  lock.release()
})

t.test('so are those that an older gateway left', async (t) => {
  const folder = t.testdir({})
  lockFolder(folder).release()
  writeFileSync(join(folder, 'lock.sqlite-journal'), '')
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
  const lock = lockFolder(folder)
  t.same(modesIn(folder), held)
  lock.release()
})
