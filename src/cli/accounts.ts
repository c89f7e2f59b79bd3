import * as changes from '../administration/account-changes.ts'
import { type AdminContext as AnyBooks, accountRefusal } from '../administration/admin-context.ts'
import { findLimitKey } from '../domain/accounts/accounts.ts'
import { walletInLedger } from '../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { expiredPicosAt } from '../domain/wallet/grants.ts'
import { availablePicos, balancePicos, type Wallet } from '../domain/wallet/wallet.ts'
import type { EventLog } from '../log/event-log.ts'
import type { NewId } from '../runtime/clock.ts'
import { spentRecord } from './limits.ts'
import { UsageError } from './report.ts'

export { revokeKey, rotateKey, setKeyExpiry, sha256Hex } from '../administration/account-changes.ts'

export interface CommandContext extends AnyBooks {
  readonly log: EventLog
}

const workspaceIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** False where the workspace existed. */
export const openWorkspace = (
  books: CommandContext,
  workspaceId: string,
  name: string,
  creditLimit: string,
): Promise<boolean> => {
  if (!workspaceIdPattern.test(workspaceId))
    throw new UsageError(
      'a workspace id has 1 to 63 lower-case letters, digits and hyphens, and starts with a letter or digit',
    )
  return changes.executeOpenWorkspace(books, { workspaceId, name, creditLimitPicos: amountOf(creditLimit, 0n) })
}

/** True when something changed; undefined members stay. */
export const changeWorkspace = (
  books: CommandContext,
  workspaceId: string,
  { name, creditLimit }: { readonly name?: string | undefined; readonly creditLimit?: string | undefined },
): Promise<boolean> =>
  changes.executeChangeWorkspace(books, workspaceId, {
    name,
    creditLimitPicos: creditLimit === undefined ? undefined : amountOf(creditLimit, 0n),
  })

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

export const amountText = (usd: string): string => formatUsd(amountOf(usd, 0n))

/** The secret is stored nowhere else. */
export const issueKey = (
  books: CommandContext,
  workspaceId: string,
  name: string,
  newId: NewId,
  randomText: () => string,
  expiresAtMs: number | null = null,
): Promise<changes.IssuedKey> =>
  changes.executeIssueKey(books, { workspaceId, name, expiresAtMs }, { newId, randomText })

/** What is left at `expiresAt` lapses. False when the reference was credited before with the same amount. */
export const creditWallet = (
  books: CommandContext,
  workspaceId: string,
  amount: string,
  reference: string,
  note: string,
  expiresAt?: Date,
): Promise<boolean> =>
  changes.executeCredit(books, workspaceId, {
    amountPicos: amountOf(amount, 1n),
    reference,
    note,
    expiresAt: expiresAt?.toISOString(),
  })

const lapsesFrom = ({ grants: [first] }: Wallet): string =>
  first === undefined ? '' : new Date(first.expiresAtMs).toISOString()

export const workspaceRecord = ({ tail }: CommandContext, workspaceId: string) => {
  const workspace = tail.ledger.accounts.workspaces.get(workspaceId)
  if (workspace === undefined) throw accountRefusal('workspace_unknown')
  const wallet = walletInLedger(tail.ledger, workspaceId)
  return {
    workspace: workspaceId,
    name: workspace.name,
    credits: formatUsd(wallet.creditsPicos),
    charges: formatUsd(wallet.chargesPicos),
    fees: formatUsd(wallet.feesPicos),
    adjustments: formatUsd(wallet.adjustmentsPicos),
    lapsed: formatUsd(wallet.lapsedPicos),
    balance: formatUsd(balancePicos(wallet)),
    held: formatUsd(wallet.heldPicos),
    credit_limit: formatUsd(wallet.creditLimitPicos),
    available: formatUsd(availablePicos(wallet)),
    lapsing: formatUsd(expiredPicosAt(wallet.grants, Number.POSITIVE_INFINITY)),
    lapses_from: lapsesFrom(wallet),
  }
}

/** Keys that replaced each other share limits and spending: the figures are in the row of the last one. */
const spendersOf = ({ tail }: CommandContext): ReadonlyMap<string, string> => {
  const { accounts } = tail.ledger
  const replaced = new Set([...accounts.keys.values()].map(({ replaces }) => replaces))
  const last = [...accounts.keys.keys()].filter((keyId) => !replaced.has(keyId))
  return new Map(last.map((keyId) => [findLimitKey(accounts, keyId), keyId]))
}

const nothingSpent = { spent_day: null, spent_month: null, spent_total: null }

/** USD spent on the UTC day of now, in its month and ever; of rotated keys in the row that `spent_with` names. */
export const keyRecords = (books: CommandContext, workspaceId: string | undefined, nowMs: number) => {
  const { tail } = books
  if (workspaceId !== undefined && !tail.ledger.accounts.workspaces.has(workspaceId))
    throw accountRefusal('workspace_unknown')
  const spenders = spendersOf(books)
  const spenderOf = (keyId: string): string => spenders.get(findLimitKey(tail.ledger.accounts, keyId)) ?? keyId
  return [...tail.ledger.accounts.keys.values()]
    .filter((key) => workspaceId === undefined || key.workspaceId === workspaceId)
    .map(({ keyId, workspaceId, name, prefix, revoked, expiresAtMs }) => ({
      key: keyId,
      workspace: workspaceId,
      name,
      prefix,
      state: revoked ? 'revoked' : 'works',
      expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
      ...(spenderOf(keyId) === keyId
        ? { ...spentRecord(books, workspaceId, keyId, nowMs), spent_with: null }
        : { ...nothingSpent, spent_with: spenderOf(keyId) }),
    }))
}
