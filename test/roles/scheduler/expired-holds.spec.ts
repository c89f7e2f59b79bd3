import t from 'tap'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { expiredHolds } from '../../../src/roles/scheduler/deadline-index.ts'
import { MemoryLog } from '../../support/memory-log.ts'

const startMs = Date.parse('2026-05-01T00:00:00Z')

const placed = (holdId: string, afterMs: number, workspaceId = 'acme'): Fact => ({
  type: 'HoldPlaced',
  data: {
    holdId,
    workspaceId,
    purpose: 'allowance',
    amount: '1',
    deadline: new Date(startMs + afterMs).toISOString(),
    owner: 'edge',
  },
})
const released = (holdId: string, workspaceId = 'acme'): Fact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId, reason: 'returned' },
})

t.test('each hold is overdue from its deadline on until it has ended', async (t) => {
  const log = new MemoryLog()
  await log.append([placed('early', 100), placed('other', 200, 'other')])
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  await tail.waitForSequence(1)
  const overdue = expiredHolds(tail)
  const at = (afterMs: number): readonly string[] => overdue.at(startMs + afterMs).map(({ holdId }) => holdId)
  const tell = async (...facts: Fact[]): Promise<void> => tail.waitForSequence((await log.append(facts)).sequence)
  t.same(at(0), [])
  t.same(at(100), ['early'])
  t.same(at(150), ['early'], 'it goes on to be')
  await tell(released('early'))
  t.same(at(150), [])
  await tell(placed('late', 50), placed('later', 300))
  t.same(at(150), ['late'], 'one whose deadline is over before it is known')
  t.same(at(250), ['late', 'other'])
  await tell(released('late'), released('other', 'other'))
  t.same(at(299), [])
  t.same(at(1_000), ['later'])
  overdue.stop()
})
