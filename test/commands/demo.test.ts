import t from 'tap'
import { changeWorkspace } from '../../src/commands/accounts.ts'
import { openDemo } from '../../src/commands/demo.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/roles/ledger-tail.ts'
import { runtime } from '../gateway.ts'
import { MemoryLog } from '../memory-log.ts'

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
