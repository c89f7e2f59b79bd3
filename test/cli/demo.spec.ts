import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  changeWorkspace,
  openWorkspace,
  revokeKey,
  setWorkspaceStatus,
} from '../../src/administration/account-changes.ts'
import { openDemo } from '../../src/cli/demo.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { picosPerUsd } from '../../src/domain/money.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { runtime } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'

const begin = (t: Test) => {
  const log = new MemoryLog()
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  const folder = t.testdir({})
  const context = { log, tail }
  return { context, folder, accounts: tail.ledger.accounts, open: () => openDemo(context, folder, runtime) }
}

t.test('the demo workspace is opened once, and stays as it was changed', async (t) => {
  const { context, accounts, open } = begin(t)
  const secret = await open()
  t.match(secret, /^sk-/)
  await changeWorkspace(context, 'demo', { name: 'Mine', creditLimitPicos: 5n * picosPerUsd })
  t.equal(await open(), secret, 'the next start finds it, and its key')
  t.match(accounts.workspaces.get('demo'), { name: 'Mine', creditLimitPicos: 5_000_000_000_000n })
})

for (const type of ['SuspendWorkspace', 'CloseWorkspace'] as const)
  t.test(`a demo workspace after ${type} is left as it is`, async (t) => {
    const { context, accounts, open } = begin(t)
    await open()
    await setWorkspaceStatus(context, 'demo', type)
    t.equal(await open(), null)
    t.equal(accounts.keys.size, 1)
  })

t.test('a demo key that was revoked is not replaced', async (t) => {
  const { context, accounts, open } = begin(t)
  await open()
  for (const keyId of accounts.keys.keys()) await revokeKey(context, keyId)
  t.equal(await open(), null)
  t.equal(accounts.keys.size, 1)
})

t.test('where others have workspaces, no demo is opened, and none of a restored log gets a new key', async (t) => {
  const { context, accounts, open } = begin(t)
  await openWorkspace(context, { workspaceId: 'acme', name: 'Acme', creditLimitPicos: 0n })
  t.equal(await open(), null)
  t.notOk(accounts.workspaces.has('demo'))
  const restored = begin(t)
  await restored.open()
  await openWorkspace(restored.context, { workspaceId: 'acme', name: 'Acme', creditLimitPicos: 0n })
  await rm(join(restored.folder, 'demo-key'))
  t.equal(await restored.open(), null)
  t.equal(restored.accounts.keys.size, 1)
})

t.test('a start that ended before the key was kept is finished by the next', async (t) => {
  const { accounts, folder, open } = begin(t)
  await open()
  await rm(join(folder, 'demo-key'))
  t.match(await open(), /^sk-/)
  t.equal(accounts.keys.size, 2)
})
