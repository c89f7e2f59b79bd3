import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openHeadFile } from '../../src/adapters/audit-files.ts'
import { GrowingTree, hashLeaf } from '../../src/audit/merkle.ts'
import { signedHeadOf } from '../../src/audit/signed-head.ts'

const head = (size: number, word = 'leaf') => {
  const tree = new GrowingTree()
  for (let leaf = 0; leaf < size; leaf += 1) tree.append(hashLeaf(Buffer.from(`${word} ${leaf}`)))
  return signedHeadOf('example.com/log', tree)
}

t.test('the largest head stays, and only its owner reads it', async (t) => {
  const path = join(t.testdir(), 'made', 'audit.state')
  const store = openHeadFile(path)
  t.equal(await store.read(), null)
  await store.advance(head(3))
  t.same(await openHeadFile(path).advance(head(2)), head(3))
  t.same(await store.advance(head(7)), head(7))
  t.same(await openHeadFile(path).read(), head(7))
  t.equal(statSync(path).mode & 0o777, 0o600)
  await t.rejects(store.advance(head(7, 'another')), {
    name: 'SignedHeadFault',
    message: /audit\.state are states .* size 7 and have different roots/,
  })
  await store.replace(head(2))
  t.same(await store.read(), head(2))
})

t.test('what is no head is refused by the name of the file', async (t) => {
  const path = join(t.testdir(), 'audit.state')
  const store = openHeadFile(path)
  await store.advance(head(3))
  const good = JSON.parse(readFileSync(path, 'utf8')) as object
  for (const bad of [
    '',
    'null',
    '[]',
    '{"size":',
    { ...good, size: 4 },
    { ...good, size: -1 },
    { ...good, peaks: ['x'] },
    { ...good, root: 1 },
  ]) {
    writeFileSync(path, typeof bad === 'string' ? bad : JSON.stringify(bad))
    await t.rejects(store.read(), { name: 'SignedHeadFault', message: new RegExp(path) }, JSON.stringify(bad))
    await t.rejects(store.advance(head(9)), { name: 'SignedHeadFault' }, 'and not written over')
  }
})

t.test('a file that cannot be written is a fault', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'audit.state'))
  await t.rejects(openHeadFile(join(folder, 'audit.state')).advance(head(1)), { code: 'EISDIR' })
})
