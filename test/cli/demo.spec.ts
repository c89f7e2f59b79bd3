import t from 'tap'
import { changeWorkspace } from '../../src/administration/account-changes.ts'
import { openDemo } from '../../src/cli/demo.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { picosPerUsd } from '../../src/domain/money.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { runtime } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'

t.test('the demo workspace is opened once, and stays as it was changed', async (t) => {
  const log = new MemoryLog()
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  const context = { log, tail }
  const folder = t.testdir({})
  const secret = await openDemo(context, folder, runtime)
  await changeWorkspace(context, 'demo', { name: 'Mine', creditLimitPicos: 5n * picosPerUsd })
  t.equal(await openDemo(context, folder, runtime), secret, 'the next start finds it, and its key')
  t.match(tail.ledger.accounts.workspaces.get('demo'), { name: 'Mine', creditLimitPicos: 5_000_000_000_000n })
})
