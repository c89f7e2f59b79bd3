import t from 'tap'
import { parseUsd } from '../../src/domain/money.ts'
import { listKeys, listWorkspaces } from '../../src/read-models/accounts.ts'
import { listPrices } from '../../src/read-models/prices.ts'
import { findWallet } from '../../src/read-models/wallet.ts'
import { MemoryLog } from '../memory-log.ts'
import { startPostgres } from '../postgres.ts'
import {
  adjusted,
  credited,
  holdPlaced,
  keyIssued,
  keyRevoked,
  opened,
  pricePublished,
  routed,
  used,
} from '../roles/projector/facts.ts'
import { Projected, project } from '../roles/projector/projecting.ts'

const postgres = await startPostgres(t)
const days = ['2026-03-01T12:00:00.000Z', '2026-03-02T12:00:00.000Z', '2026-03-03T12:00:00.000Z']

const log = new MemoryLog({ timeOf: (sequence) => days[(sequence - 1) % 3]! })
await log.append([
  opened('acme', '5'),
  opened('beta', '0'),
  keyIssued('key-1'),
  keyIssued('key-2'),
  keyRevoked('key-1'),
])
await log.append([pricePublished('v1'), pricePublished('v2', '2026-06-01T00:00:00+02:00', 'openai/nul\u0000 \ud83d')])
await log.postToWallet('acme', [credited('nul\u0000 \ud83d', '100'), holdPlaced('hold-1', '2')])
await log.append([routed('request-1', { allowanceId: 'hold-1', reserved: '1' }), used('request-1', { total: '0.5' })])
await log.append([routed('request-2'), used('request-2', { total: '0.25', surface: 'messages' })])
await log.postToWallet('acme', [adjusted('adjustment-1', '0.25')])
const projected = new Projected((await postgres.newDatabase()).url)
t.teardown(() => projected.close())
await project(log, projected.store, 500)
const { db } = projected.database

t.test('a wallet, in picos', async (t) => {
  t.same(await findWallet(db, 'acme'), {
    workspaceId: 'acme',
    creditsPicos: parseUsd('100'),
    chargedPicos: parseUsd('0.75'),
    adjustmentsPicos: parseUsd('0.25'),
    balancePicos: parseUsd('99.5'),
    heldPicos: parseUsd('1.5'),
    creditLimitPicos: parseUsd('5'),
    availablePicos: parseUsd('103'),
  })
  t.equal(await findWallet(db, 'nobody'), undefined)
  t.match(await projected.database.billing().findBilling('beta'), { sequence: 6, value: { balancePicos: 0n } })
})

t.test('accounts and prices, to the letter', async (t) => {
  t.match(await listWorkspaces(db), [
    { workspaceId: 'acme', creditLimitPicos: parseUsd('5') },
    { workspaceId: 'beta', name: 'The beta company' },
  ])
  t.match(await listKeys(db, 'acme'), [
    { keyId: 'key-1', revoked: true },
    { keyId: 'key-2', revoked: false },
  ])
  t.same(await listKeys(db, 'beta'), [])
  t.match(await listPrices(db), [
    { model: 'openai/gpt-4o-mini', version: 'v1' },
    { model: 'openai/nul\u0000 \ud83d', effectiveFrom: '2026-06-01T00:00:00+02:00' },
  ])
})
