import t from 'tap'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { until } from '../../support/clients.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { credited, holdPlaced, opened, taskPlaced, taskSubmitted, workspaceId } from '../projector/facts.ts'

const owner = 'edge-1'

t.test('of a process that has ended the allowances are released, and its video tasks go on', async (t) => {
  const log = new MemoryLog()
  const other = holdPlaced('allowance-2', '1')
  await log.postToWallet(workspaceId, [
    opened(),
    credited('10'),
    holdPlaced('allowance-1', '1'),
    { ...other, data: { ...other.data, owner: 'edge-2' } },
    taskPlaced('task-1'),
  ])
  await log.append([taskSubmitted('task-1')])
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  await tail.waitForSequence(log.frames.length)
  const clock = (): number => Date.parse('2026-03-01T00:00:00.000Z')
  let onEnded: (writer: string) => void = () => {}
  const running = await scheduler.start({
    ...{ log, tail, sealing: null, logger: silentLogger },
    ...{ clock, steadyClock: clock, requestDeadlineMs: sharedLimits.requestDeadlineMs },
    endedWriters: (listener) => {
      onEnded = listener
      return () => {}
    },
  })
  t.teardown(() => running.stop())
  const { holds } = tail.ledger.wallets.get(workspaceId)!
  t.ok([...holds.values()].filter((hold) => hold.owner === owner).length > 1, 'it placed both kinds')

  onEnded(owner)
  await until(() => !holds.has('allowance-1'))
  await tail.waitForSequence(log.frames.length)
  t.same([...holds.keys()], ['allowance-2', 'task-1'])
  t.match(tail.ledger.tasks.get('task-1'), { status: 'SUBMITTED' })
})
