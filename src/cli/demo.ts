import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandContext, creditWallet, issueKey, openWorkspace, sha256Hex } from './accounts.ts'
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
export const openDemo = async (
  books: CommandContext,
  dataFolder: string,
  { newId, randomText }: Runtime,
): Promise<string> => {
  const isOpen = books.tail.ledger.accounts.workspaces.has(demo.workspaceId) // The workspace may have been changed since.
  if (!isOpen) await openWorkspace(books, demo.workspaceId, demo.name, '0')
  await creditWallet(books, demo.workspaceId, demo.creditUsd, demo.creditReference, 'Credit to try the gateway with.')
  const file = join(dataFolder, keyFile)
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (books.tail.ledger.accounts.keysBySha256.has(sha256Hex(kept))) return kept
  const { secret } = await issueKey(books, demo.workspaceId, `${demo.keyName}-${newId()}`, newId, randomText)
  writeFileSync(file, `${secret}\n`, { mode: ownerOnly })
  return secret
}
