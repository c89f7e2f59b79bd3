import { readFile } from 'node:fs/promises'
import t from 'tap'
import { openPool, type SchemaLocation } from '../../../src/adapters/postgres/connection.ts'
import { openHeadTable } from '../../../src/adapters/postgres/signed-head.ts'
import { GrowingTree, hashLeaf } from '../../../src/audit/merkle.ts'
import { type SignedHeadStore, signedHeadOf } from '../../../src/audit/signed-head.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const treeOf = (size: number, word = 'leaf'): GrowingTree => {
  const tree = new GrowingTree()
  for (let leaf = 0; leaf < size; leaf += 1) tree.append(hashLeaf(Buffer.from(`${word} ${leaf}`)))
  return tree
}
const head = (size: number, word?: string) => signedHeadOf('example.com/log', treeOf(size, word))

const openOn = (place: SchemaLocation): SignedHeadStore => {
  const pool = openPool(place, { connectionsMax: 2, statementMs: 0 })
  t.teardown(() => pool.end())
  return openHeadTable(pool, place.schema)
}

t.test('the largest head stays, of whichever process it is', async (t) => {
  const { url } = await postgres.newDatabase()
  const [one, other] = [openOn({ url, schema: 'ledger' }), openOn({ url, schema: 'ledger' })]
  t.equal(await one.read(), null, 'nothing was signed yet')
  await Promise.all([one.advance(head(3)), other.advance(head(3))])
  t.same(await other.advance(head(7)), head(7))
  t.same(await one.advance(head(5)), head(7), 'a smaller one changes nothing, and learns of the larger')
  t.same(await one.advance(head(7, 'another')), head(7), 'and neither does another one of the size')
  t.same(await one.read(), head(7))
  await one.replace(head(2))
  t.same(await other.read(), head(2), 'it goes back where that is said')
})

t.test('it is beside the schema that a rebuild replaces', async (t) => {
  const { url } = await postgres.newDatabase()
  const store = openOn({ url, schema: 'ledger' })
  await store.advance(head(3))
  const pool = openPool({ url, schema: 'ledger' }, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => pool.end())
  await pool.query('drop schema ledger cascade')
  t.same(await store.read(), head(3))
  await pool.query("update ledger_audit.signed_head set head = '{}'")
  await t.rejects(store.read(), { name: 'SignedHeadFault', message: /table ledger_audit\.signed_head/ })
})

t.test('the roles of a deployment: operator and scheduler write it, no other role reads it', async (t) => {
  const admin = openPool({ url: postgres.url, schema: 'ledger' }, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => admin.end())
  await admin.query('create database sealed')
  const urlOf = (user: string): string =>
    `${postgres.url.replace('postgres@', `${user}@`).replace(/postgres$/, 'sealed')}`
  const owner = openPool({ url: urlOf('postgres'), schema: 'ledger' }, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => owner.end())
  await owner.query(await readFile(new URL('../../../deploy/postgres.sql', import.meta.url), 'utf8'))
  const [operator, scheduler, edge] = ['operator', 'scheduler', 'edge'].map((role) =>
    openOn({ url: urlOf(`gateway_${role}`), schema: 'ledger' }),
  )
  await operator!.advance(head(0))
  await scheduler!.advance(head(4))
  t.same(await operator!.read(), head(4))
  await t.rejects(edge!.read(), { code: '42501' })
})
