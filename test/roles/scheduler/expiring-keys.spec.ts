import t, { type Test } from 'tap'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { expiringKeys } from '../../../src/roles/scheduler/deadline-index.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { until } from '../../support/clients.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { keyExpirySet, keyIssued, keyRevoked, opened, workspaceId } from '../projector/facts.ts'

const expiry = '2026-04-01T00:00:00.000Z'
const expiryMs = Date.parse(expiry)

const openTail = async (t: Test, log: MemoryLog): Promise<LedgerTail> => {
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  await tail.waitForSequence(await log.lastSequence())
  return tail
}

t.test('working keys past their expiry', async (t) => {
  const log = new MemoryLog()
  const { type, data } = keyIssued('key-3')
  await log.postToWallet(workspaceId, [
    opened(),
    keyIssued('key-1'),
    keyIssued('key-2'),
    { type, data: { ...data, expiresAt: expiry } },
    keyExpirySet('key-1', workspaceId, expiry),
  ])
  const tail = await openTail(t, log)
  const expiring = expiringKeys(tail)
  const idsAt = (nowMs: number) => expiring.at(nowMs).map(({ keyId }) => keyId)
  const hears = async (...facts: Parameters<MemoryLog['postToWallet']>[1]): Promise<void> =>
    tail.waitForSequence((await log.postToWallet(workspaceId, facts)).sequence)

  t.same(idsAt(expiryMs - 1), [])
  t.same(idsAt(expiryMs).sort(), ['key-1', 'key-3'])
  await hears(keyRevoked('key-1'), keyExpirySet('key-3', workspaceId, '2026-05-01T00:00:00.000Z'))
  t.same(idsAt(expiryMs), [], 'one ended, one was put off')
  await hears(keyExpirySet('key-2', workspaceId, expiry))
  t.same(idsAt(expiryMs), ['key-2'], 'one that comes sooner is heard of')
  expiring.stop()
})

t.test('two schedulers revoke a key once, and not before its time', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet(workspaceId, [opened(), keyIssued('key-1'), keyExpirySet('key-1', workspaceId, expiry)])
  let nowMs = expiryMs - 1
  for (let count = 0; count < 2; count += 1) {
    const tail = await openTail(t, log)
    const clock = (): number => nowMs
    const parts = { clock, steadyClock: clock, requestDeadlineMs: sharedLimits.requestDeadlineMs, logger: silentLogger }
    const running = await scheduler.start({ log, tail, sealing: null, ...parts })
    t.teardown(() => running.stop())
  }
  const tail = await openTail(t, log)
  const revocations = () => log.frames.flatMap(({ events }) => events).filter(({ type }) => type === 'KeyRevoked')
  await new Promise((resolve) => setTimeout(resolve, 600)) // Two ticks, in which nothing must happen.
  t.same(revocations(), [])
  nowMs = expiryMs
  await until(() => tail.ledger.accounts.keysBySha256.size === 0)
  t.match(revocations(), [{ data: { keyId: 'key-1', workspaceId, reason: 'expired' } }])
  await new Promise((resolve) => setTimeout(resolve, 600)) // The other has its ticks.
  t.equal(revocations().length, 1)
  t.equal(log.frames.at(-1)?.walletSubject, workspaceId)
})
