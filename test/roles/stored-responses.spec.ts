import t, { type Test } from 'tap'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { StoredResponses, type StoredResponsesParts } from '../../src/roles/stored-responses.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { failed, routed, used } from './projector/facts.ts'

const nowhere: StoredResponsesParts['findStored'] = () => Promise.resolve(undefined)
const away: StoredResponsesParts['findStored'] = () => Promise.reject(new Error('the database is away'))

const following = (t: Test, log: MemoryLog, parts: Partial<StoredResponsesParts> = {}) => {
  const tail = new LedgerTail(initialLedger(), log)
  const owners = new StoredResponses({ tail, log, findStored: nowhere, ...parts })
  t.teardown(async () => {
    await owners.stop()
    await tail.stop()
  })
  return { tail, owners }
}

const answered = (number: number, workspaceId = 'acme') => [
  routed(`request-${number}`, { workspaceId }),
  used(`request-${number}`, { workspaceId, storedResponseId: `resp-${number}` }),
]

t.test('what this process has seen is known without the tables', async (t) => {
  const log = new MemoryLog()
  const { tail, owners } = following(t, log, { findStored: away })
  await log.append([
    ...answered(1),
    used('request-2', { storedResponseId: 'resp-2' }),
    routed('request-3'),
    failed('request-3'),
  ])
  await tail.waitForSequence(1)
  t.same(await owners.find('resp-1'), { workspaceId: 'acme', provider: 'openai' })
  await t.rejects(owners.find('resp-2'), { code: 'read_models_unavailable' }, 'it was never routed')
  await t.rejects(owners.find('resp-9'), { code: 'read_models_unavailable' })
})

t.test('the first that has an id keeps it', async (t) => {
  const log = new MemoryLog()
  const { tail, owners } = following(t, log)
  await log.append([
    ...answered(1),
    routed('r', { workspaceId: 'other' }),
    used('r', { workspaceId: 'other', storedResponseId: 'resp-1' }),
  ])
  await tail.waitForSequence(1)
  t.match(await owners.find('resp-1'), { workspaceId: 'acme' })
})

t.test('memory is bounded; the tables know the rest', async (t) => {
  const log = new MemoryLog()
  const stored = { workspaceId: 'acme', provider: 'xai' }
  const asked: string[] = []
  const findStored = async (id: string) => {
    asked.push(id)
    return id === 'resp-1' ? stored : undefined
  }
  const { tail, owners } = following(t, log, { recentMax: 2, findStored })
  await log.append([1, 2, 3].flatMap((number) => answered(number)))
  await tail.waitForSequence(1)
  t.same(await owners.find('resp-1'), stored)
  t.match(await owners.find('resp-2'), { provider: 'openai' })
  t.equal(await owners.find('resp-9'), undefined)
  t.same(asked, ['resp-1', 'resp-9'])
})

t.test('what another process stored a moment ago is awaited', async (t) => {
  const log = new MemoryLog()
  const { owners } = following(t, log, {
    findStored: async () => {
      await log.append(answered(1))
      return undefined
    },
  })
  t.match(await owners.find('resp-1'), { workspaceId: 'acme' })
})

t.test('a log that cannot be asked', async (t) => {
  const log = new MemoryLog()
  const lastSequence = () => Promise.reject(new Error('no server'))
  const { owners } = following(t, log, { log: { lastSequence } })
  await t.rejects(owners.find('resp-1'), { code: 'read_models_unavailable' })
})
