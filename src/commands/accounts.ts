import { createHash } from 'node:crypto'
import { type AccountCommand, decideAccounts } from '../domain/accounts/accounts.ts'
import { walletOf } from '../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { availablePicos, balancePicos } from '../domain/wallet/wallet.ts'
import type { LedgerTail } from '../roles/ledger-tail.ts'
import type { EventLog, NewId } from '../roles/role.ts'
import { WalletWriter } from '../roles/wallet-writer.ts'
import { spentRecord } from './limits.ts'
import { CommandError, UsageError } from './report.ts'

/** What account commands work on: a ledger that has caught up, and the log they append to. */
export interface Books {
  readonly log: EventLog
  readonly tail: LedgerTail
}

const refusals = {
  workspace_unknown: 'no such workspace',
  workspace_differs: 'the workspace exists with another name or credit limit',
  key_unknown: 'no such key',
  key_name_taken: 'the workspace has a working key of this name; its secret was shown once and cannot be shown again',
} as const

/** Appends what the command decides; false when it had been carried out before. Throws CommandError when it is refused. */
const decideAndAppend = async ({ log, tail }: Books, command: AccountCommand): Promise<boolean> => {
  const decision = decideAccounts(command, tail.ledger.accounts)
  if ('refused' in decision) throw new CommandError(refusals[decision.refused])
  if (decision.facts.length === 0) return false
  const { sequence } = await log.append(decision.facts)
  await tail.reached(sequence)
  return true
}

const workspaceIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** True when the workspace is new, false when it was there already. */
export const openWorkspace = (
  books: Books,
  workspaceId: string,
  name: string,
  creditLimit: string,
): Promise<boolean> => {
  if (!workspaceIdPattern.test(workspaceId))
    throw new UsageError(
      'a workspace id has 1 to 63 lower-case letters, digits and hyphens, and starts with a letter or digit',
    )
  return decideAndAppend(books, {
    type: 'OpenWorkspace',
    workspaceId,
    name,
    creditLimitPicos: amountOf(creditLimit, 0n),
  })
}

const amountOf = (usd: string, leastPicos: bigint): bigint => {
  const picos = picosOf(usd)
  if (picos < leastPicos)
    throw new UsageError(`the amount must be ${leastPicos > 0n ? 'above zero' : 'zero or more'}: ${usd}`)
  return picos
}

const picosOf = (usd: string): bigint => {
  try {
    return parseUsd(usd)
  } catch (cause) {
    throw new UsageError(`not an amount in USD, such as 12.50, with at most 12 decimals: ${usd}`, { cause })
  }
}

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex')

const shownPrefixLength = 9

/** A new key's id and secret; the secret is nowhere else. */
export const issueKey = async (
  books: Books,
  workspaceId: string,
  name: string,
  newId: NewId,
  randomText: () => string,
): Promise<{ readonly keyId: string; readonly secret: string }> => {
  const keyId = `key_${newId()}`
  const secret = `sk-${randomText()}`
  const prefix = `${secret.slice(0, shownPrefixLength)}…`
  await decideAndAppend(books, { type: 'IssueKey', keyId, workspaceId, name, sha256: sha256Hex(secret), prefix })
  return { keyId, secret }
}

/** True when the key worked until now. */
export const revokeKey = (books: Books, keyId: string): Promise<boolean> =>
  decideAndAppend(books, { type: 'RevokeKey', keyId })

/** True when the money is new, false when the reference had been credited before with the same amount. */
export const creditWallet = async (
  { log, tail }: Books,
  workspaceId: string,
  amount: string,
  reference: string,
  note: string,
): Promise<boolean> => {
  if (!tail.ledger.accounts.workspaces.has(workspaceId)) throw new CommandError(refusals.workspace_unknown)
  const outcome = await new WalletWriter(log, tail).execute(workspaceId, {
    type: 'Credit',
    amountPicos: amountOf(amount, 1n),
    reference,
    note,
  })
  if ('facts' in outcome) return outcome.facts.length > 0
  const credited = outcome.refused.reason === 'reference_differs' ? formatUsd(outcome.refused.creditedPicos) : '0'
  throw new CommandError(`the reference ${reference} has credited ${credited} USD before, not ${amount}`)
}

export const workspaceRecord = ({ tail }: Books, workspaceId: string) => {
  const workspace = tail.ledger.accounts.workspaces.get(workspaceId)
  if (workspace === undefined) throw new CommandError(refusals.workspace_unknown)
  const wallet = walletOf(tail.ledger, workspaceId)
  return {
    workspace: workspaceId,
    name: workspace.name,
    credits: formatUsd(wallet.creditsPicos),
    charges: formatUsd(wallet.chargesPicos),
    adjustments: formatUsd(wallet.adjustmentsPicos),
    balance: formatUsd(balancePicos(wallet)),
    held: formatUsd(wallet.heldPicos),
    credit_limit: formatUsd(wallet.creditLimitPicos),
    available: formatUsd(availablePicos(wallet)),
  }
}

/** Spent: USD on the UTC day of now, in its month and ever. */
export const keyRecords = (books: Books, workspaceId: string | undefined, nowMs: number) => {
  const { tail } = books
  if (workspaceId !== undefined && !tail.ledger.accounts.workspaces.has(workspaceId))
    throw new CommandError(refusals.workspace_unknown)
  return [...tail.ledger.accounts.keys.values()]
    .filter((key) => workspaceId === undefined || key.workspaceId === workspaceId)
    .map(({ keyId, workspaceId, name, prefix, revoked }) => ({
      key: keyId,
      workspace: workspaceId,
      name,
      prefix,
      state: revoked ? 'revoked' : 'works',
      ...spentRecord(books, workspaceId, keyId, nowMs),
    }))
}
