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

/** The key of a workspace with credit, where there is no other. Null where it was closed or suspended, or the key revoked. */
export const openDemo = async (
  context: CommandContext,
  dataFolder: string,
  runtime: Runtime,
): Promise<string | null> => {
  const { workspaces, keys, keysBySha256, keyIdsByWorkspace } = context.tail.ledger.accounts
  const { workspaceId } = demo
  const workspace = workspaces.get(workspaceId)
  if (workspace?.status !== undefined) return null
  const file = join(dataFolder, keyFile)
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  const sha256 = sha256Hex(kept)
  if (keysBySha256.has(sha256)) return kept
  const ownIds = [...(keyIdsByWorkspace.get(workspaceId) ?? [])]
  if (ownIds.some((id) => keys.get(id)?.sha256 === sha256)) return null // It was revoked.
  if (workspaces.size > (workspace === undefined ? 0 : 1)) return null
  if (workspace === undefined) await openWorkspace(context, { workspaceId, name: demo.name, creditLimitPicos: 0n })
  await creditWallet(context, workspaceId, {
    amountPicos: parseUsd(demo.creditUsd),
    reference: demo.creditReference,
    note: 'Credit to try the gateway with.',
  })
  const { secret } = await issueKey(context, { workspaceId, name: `${demo.keyName}-${runtime.newId()}` }, runtime)
  writeFileSync(file, `${secret}\n`, { mode: ownerOnly })
  return secret
}
