import t from 'tap'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { until } from '../../support/clients.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { creditedUntil, holdPlaced, opened, workspaceId } from '../projector/facts.ts'

const owner = 'edge-1'

t.test('while the clock is not trusted nothing is ended by its deadline', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet(workspaceId, [
    opened(),
    creditedUntil('gift', '2026-06-01T00:00:00.000Z'),
    holdPlaced('allowance-1', '1'),
  ])
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  await tail.waitForSequence(log.frames.length)
  const clock = (): number => Date.parse('2027-01-01T00:00:00.000Z')
  let isClockTrusted = false
  let onEnded: (writer: string) => void = () => {}
  const running = await scheduler.start({
    ...{ log, tail, sealing: null, logger: silentLogger },
    ...{ clock, steadyClock: clock, isClockTrusted: () => isClockTrusted },
    requestDeadlineMs: sharedLimits.requestDeadlineMs,
    endedWriters: (listener) => {
      onEnded = listener
      return () => {}
    },
  })
  t.teardown(() => running.stop())
  const { holds } = tail.ledger.wallets.get(workspaceId)!
  const typesAfter = (): readonly string[] =>
    log.frames.slice(1).flatMap(({ events }) => events.map(({ type }) => type))

  onEnded(owner)
  await until(() => !holds.has('allowance-1'))
  t.same(typesAfter(), ['HoldReleased'], 'of a process that has ended, which needs no clock')
  isClockTrusted = true
  await until(() => typesAfter().includes('CreditExpired'))
})
