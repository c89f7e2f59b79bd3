import t from 'tap'
import { changeWorkspace } from '../../src/cli/accounts.ts'
import { openDemo } from '../../src/cli/demo.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { runtime } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'

t.test('the demo workspace is opened once, and stays as it was changed', async (t) => {
  const log = new MemoryLog()
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  const books = { log, tail }
  const folder = t.testdir({})
  const secret = await openDemo(books, folder, runtime)
  await changeWorkspace(books, 'demo', { name: 'Mine', creditLimit: '5' })
  t.equal(await openDemo(books, folder, runtime), secret, 'the next start finds it, and its key')
  t.match(tail.ledger.accounts.workspaces.get('demo'), { name: 'Mine', creditLimitPicos: 5_000_000_000_000n })
})
