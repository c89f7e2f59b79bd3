import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { creditWallet, issueKey, openWorkspace, sha256Hex } from '../administration/account-changes.ts'
import { parseUsd } from '../domain/money.ts'
import type { CommandContext } from './command-context.ts'
import type { Runtime } from './runtime.ts'

const demo = {
  workspaceId: 'demo',
  name: 'Demo',
  creditUsd: '100',
  creditReference: 'demo-credit',
  keyName: 'demo',
} as const
const keyFile = 'demo-key'
const ownerOnly = 0o600

/** A workspace with credit and a key. The key's secret stays in the data folder, so that every start can print it. */
export const openDemo = async (context: CommandContext, dataFolder: string, runtime: Runtime): Promise<string> => {
  const { workspaceId } = demo
  const isOpen = context.tail.ledger.accounts.workspaces.has(workspaceId) // The workspace may have been changed since.
  if (!isOpen) await openWorkspace(context, { workspaceId, name: demo.name, creditLimitPicos: 0n })
  await creditWallet(context, workspaceId, {
    amountPicos: parseUsd(demo.creditUsd),
    reference: demo.creditReference,
    note: 'Credit to try the gateway with.',
  })
  const file = join(dataFolder, keyFile)
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (context.tail.ledger.accounts.keysBySha256.has(sha256Hex(kept))) return kept
  const { secret } = await issueKey(context, { workspaceId, name: `${demo.keyName}-${runtime.newId()}` }, runtime)
  writeFileSync(file, `${secret}\n`, { mode: ownerOnly })
  return secret
}
