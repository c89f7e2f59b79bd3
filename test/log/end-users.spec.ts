import { createHmac } from 'node:crypto'
import t from 'tap'
import { logUnavailable } from '../../src/errors/gateway-error.ts'
import { EndUserIds } from '../../src/log/end-users.ts'
import { logLimits } from '../../src/log/limits.ts'
import { MemoryEndUserKeys } from '../support/memory-end-users.ts'

const open = (store = new MemoryEndUserKeys(), now = { ms: 0 }) => {
  let made = 0
  const randomText = (): string => {
    made += 1
    return `key ${made}`
  }
  return { store, now, ids: new EndUserIds({ store, clock: () => now.ms, randomText }) }
}

t.test('an id is an HMAC of the name under the key of the workspace', async (t) => {
  const { ids, store } = open()
  const id = await ids.resolveId('acme', 'alice')
  t.equal(id, createHmac('sha256', 'key 1').update('alice').digest('hex'))
  t.equal(await ids.resolveId('acme', 'alice'), id)
  t.not(await ids.resolveId('acme', 'bob'), id)
  t.not(await ids.resolveId('other', 'alice'), id)
  t.same([...store.keys.keys()], ['acme', 'other'])
})

t.test('to look one up makes no key', async (t) => {
  const { ids, store } = open()
  t.equal(await ids.findId('acme', 'alice'), null)
  t.equal(store.keys.size, 0)
  const id = await ids.resolveId('acme', 'alice')
  t.equal(await ids.findId('acme', 'alice'), id)
})

t.test('of two processes the first makes the key', async (t) => {
  const { ids, store } = open()
  const { ids: others } = open(store)
  const [one, other] = await Promise.all([ids.resolveId('acme', 'alice'), others.resolveId('acme', 'alice')])
  t.equal(one, other)
})

t.test('an erased key is used no longer than its bound', async (t) => {
  const { ids, store, now } = open()
  const id = await ids.resolveId('acme', 'alice')
  t.equal(await store.erase('acme'), true)
  now.ms = logLimits.endUserKeyMs - 1
  t.equal(await ids.resolveId('acme', 'alice'), id)
  now.ms = logLimits.endUserKeyMs
  t.equal(await ids.findId('acme', 'alice'), null)
  t.not(await ids.resolveId('acme', 'alice'), id)
})

t.test('a store that is away is asked again', async (t) => {
  class Away extends MemoryEndUserKeys {
    isAway = true
    override async find(workspaceId: string): Promise<string | null> {
      if (this.isAway) throw logUnavailable()
      return super.find(workspaceId)
    }
  }
  const store = new Away()
  const { ids } = open(store)
  await t.rejects(ids.resolveId('acme', 'alice'), { code: 'log_unavailable' })
  store.isAway = false
  t.match(await ids.resolveId('acme', 'alice'), /^[0-9a-f]{64}$/)
})
