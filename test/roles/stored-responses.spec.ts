import t, { type Test } from 'tap'
import { initialLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import {
  StoredResponses,
  type StoredResponsesParts,
  type StoredResponseTables,
} from '../../src/roles/stored-responses.ts'
import { recordingLogger, silentLogger } from '../support/log-lines.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { failed, routed, used } from './projector/facts.ts'
import { ledgerOf } from './projector/projecting.ts'

type FindStored = StoredResponseTables['findStored']

const nowhere: FindStored = () => Promise.resolve(undefined)
const away: FindStored = () => Promise.reject(new Error('the database is away'))

/** Tables that have every frame. */
const tablesOf = (findStored: FindStored): StoredResponseTables => ({
  findStored,
  checkpoint: async () => Number.POSITIVE_INFINITY,
})

interface Options extends Partial<StoredResponsesParts> {
  readonly findStored?: FindStored
  readonly ledger?: Ledger
}

const following = (t: Test, log: MemoryLog, { findStored = nowhere, ledger, ...parts }: Options = {}) => {
  const tail = new LedgerTail(ledger ?? initialLedger(), log)
  const stored = tablesOf(findStored)
  const owners = new StoredResponses({ tail, log, frames: log, logger: silentLogger, stored, ...parts })
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
  t.match(await owners.find('resp-1', 'acme'), { workspaceId: 'acme', provider: 'openai' })
  await t.rejects(owners.find('resp-2', 'acme'), { code: 'read_models_unavailable' }, 'it was never routed')
  await t.rejects(owners.find('resp-9', 'acme'), { code: 'read_models_unavailable' })
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
  t.match(await owners.find('resp-1', 'acme'), { workspaceId: 'acme' })
})

t.test('memory is bounded; the tables know the rest', async (t) => {
  const log = new MemoryLog()
  const asked: string[] = []
  const findStored = async (id: string) => {
    asked.push(id)
    return id === 'resp-1' ? { requestId: 'request-1', sequences: [1, 1] } : undefined
  }
  const { tail, owners } = following(t, log, { recentMax: 2, findStored })
  await log.append([1, 2, 3].flatMap((number) => answered(number)))
  await tail.waitForSequence(1)
  t.match(await owners.find('resp-1', 'acme'), { workspaceId: 'acme', provider: 'openai' })
  t.match(await owners.find('resp-2', 'acme'), { provider: 'openai' })
  t.equal(await owners.find('resp-9', 'acme'), undefined)
  t.same(asked, ['resp-1', 'resp-9', 'resp-9'])
})

t.test('what another process stored a moment ago is awaited', async (t) => {
  const log = new MemoryLog()
  const { owners } = following(t, log, {
    findStored: async () => {
      await log.append(answered(1))
      return undefined
    },
  })
  t.match(await owners.find('resp-1', 'acme'), { workspaceId: 'acme' })
})

t.test('a log that cannot be asked', async (t) => {
  const log = new MemoryLog()
  const lastSequence = () => Promise.reject(new Error('no server'))
  const { owners } = following(t, log, { log: { lastSequence } })
  await t.rejects(owners.find('resp-1', 'acme'), { code: 'read_models_unavailable' })
})

t.test('a row that names other frames than its own yields nobody', async (t) => {
  const log = new MemoryLog()
  await log.append(answered(1))
  await log.append([routed('request-2', { workspaceId: 'other' })])
  await log.append([used('request-2', { workspaceId: 'other', storedResponseId: 'resp-2' })])
  await log.append([used('request-2', { workspaceId: 'other', storedResponseId: 'resp-3' })])
  await log.append([used('request-3', { storedResponseId: 'resp-4' }), failed('request-4')])
  const tail = new LedgerTail(ledgerOf(log), log)
  t.teardown(() => tail.stop())
  for (const [responseId, requestId, sequences] of [
    ['resp-2', 'request-1', [1, 1]],
    ['resp-2', 'request-2', [2, 2]],
    ['resp-2', 'request-2', [3, 3]],
    ['resp-1', 'request-2', [2, 3]],
    ['resp-3', 'request-2', [2, 4]],
    ['resp-4', 'request-3', [5, 5]],
    ['resp-1', 'request-1', [0, 1]],
    ['resp-1', 'request-1', [1, 1_000_000]],
    ['resp-1', 'request-1', []],
  ] as const) {
    const logger = recordingLogger()
    const findStored = async () => ({ requestId, sequences })
    const owners = new StoredResponses({ tail, log, frames: log, logger, stored: tablesOf(findStored) })
    await t.rejects(
      owners.find(responseId, 'acme'),
      { code: 'read_models_unavailable' },
      `${requestId} at ${sequences}`,
    )
    t.match(logger.lines, [{ event: 'projection.row_mismatch', fields: { id: responseId } }])
  }
  const findStored = async () => ({ requestId: 'request-2', sequences: [2, 3] })
  const owners = new StoredResponses({ tail, log, frames: log, logger: silentLogger, stored: tablesOf(findStored) })
  t.match(await owners.find('resp-2', 'acme'), { workspaceId: 'other' }, 'its own frames are believed')
})

t.test('a response is not there only once the tables have what memory has not', async (t) => {
  const log = new MemoryLog()
  await log.append(answered(1))
  let at = 0
  const stored: StoredResponseTables = {
    findStored: async (id) => (at >= 1 && id === 'resp-1' ? { requestId: 'request-1', sequences: [1] } : undefined),
    checkpoint: async () => at,
  }
  const { owners } = following(t, log, { ledger: ledgerOf(log), stored })
  const finding = owners.find('resp-1', 'acme')
  at = 1
  t.match(await finding, { workspaceId: 'acme' }, 'the tables were behind what the ledger started from')
  t.equal(await owners.find('resp-9', 'acme'), undefined)
  at = 0
  await t.rejects(
    owners.find('resp-9', 'acme'),
    { code: 'read_models_unavailable' },
    'and as long as they are, it is unknown',
  )
})
