import { readFile } from 'node:fs/promises'
import t from 'tap'
import { openPool } from '../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../src/adapters/postgres/database.ts'
import { openHeadTable } from '../../src/adapters/postgres/signed-head.ts'
import { GrowingTree, hashLeaf } from '../../src/audit/merkle.ts'
import { signedHeadOf } from '../../src/audit/signed-head.ts'
import { readSealedTo } from '../../src/cli/status.ts'
import { startPostgres } from '../support/postgres.ts'

const postgres = await startPostgres(t)

const poolOf = (url: string) => {
  const pool = openPool({ url, schema: 'ledger' }, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => pool.end())
  return pool
}

await poolOf(postgres.url).query('create database status')
const urlOf = (user: string): string =>
  `${postgres.url.replace('postgres@', `${user}@`).replace(/postgres$/, 'status')}`
await poolOf(urlOf('postgres')).query(await readFile(new URL('../../deploy/postgres.sql', import.meta.url), 'utf8'))

const sealedTo = async (user: string): Promise<number> => {
  const database = openDatabase(urlOf(user))
  try {
    return await readSealedTo(database)
  } finally {
    await database.close()
  }
}

t.test('how far the log is sealed is what was signed last, else what the tables have', async (t) => {
  const projector = openDatabase(urlOf('gateway_projector'))
  t.teardown(() => projector.close())
  await projector.projectionStore().load()
  t.equal(await sealedTo('gateway_operator'), 0, 'nothing is')
  await poolOf(urlOf('gateway_projector')).query(
    `insert into seals (size, sequence, from_size, root, peaks, note) values (2, 3, 0, '', '[]', '')`,
  )
  t.equal(await sealedTo('gateway_operator'), 2, 'by the tables, where there is no state of the sealing')
  const tree = new GrowingTree()
  for (const leaf of ['one', 'two', 'three']) tree.append(hashLeaf(Buffer.from(leaf)))
  await openHeadTable(poolOf(urlOf('gateway_scheduler')), 'ledger').advance(signedHeadOf('example.com/log', tree))
  t.equal(await sealedTo('gateway_operator'), 3)
  t.equal(await sealedTo('gateway_edge'), 2, 'by the tables, for a user who may not read that state')
})

t.test('another fault than a missing right is reported', async (t) => {
  const broken = poolOf(urlOf('gateway_scheduler'))
  await broken.query("update ledger_audit.signed_head set head = '{}'")
  await t.rejects(sealedTo('gateway_operator'), { name: 'SignedHeadFault' })
})
