import { hash } from 'node:crypto'
import type { Key, Workspace } from '../domain/accounts/accounts.ts'
import type { AccountCommand, FreshKey } from '../domain/accounts/decide.ts'
import { formatUsd } from '../domain/money.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { NewId } from '../runtime/clock.ts'
import {
  type AdminContext,
  accountRefusal,
  executeAccountCommand,
  requireOpenWorkspace,
  requireWorkspace,
  walletHandlerOf,
} from './admin-context.ts'

export interface KeySource {
  readonly newId: NewId
  readonly randomText: () => string
}

/** The secret is stored nowhere else. */
interface IssuedKey {
  readonly keyId: string
  readonly secret: string
}

export const sha256Hex = (text: string): string => hash('sha256', text)

const shownPrefixLength = 9

const makeKey = ({ newId, randomText }: KeySource): { readonly fresh: FreshKey; readonly issued: IssuedKey } => {
  const keyId = `key_${newId()}`
  const secret = `sk-${randomText()}`
  const prefix = `${secret.slice(0, shownPrefixLength)}…`
  return { fresh: { keyId, sha256: sha256Hex(secret), prefix }, issued: { keyId, secret } }
}

/** Throws `not_found`. */
export const requireKey = ({ tail }: Pick<AdminContext, 'tail'>, keyId: string): Key => {
  const key = tail.ledger.accounts.keys.get(keyId)
  if (key === undefined) throw accountRefusal('key_unknown')
  return key
}

/** True when the workspace is new, false when it existed already. Throws `conflict` where that one differs. */
export const openWorkspace = async (
  context: AdminContext,
  workspace: Pick<Workspace, 'workspaceId' | 'name' | 'creditLimitPicos'> & { readonly account?: string | undefined },
): Promise<boolean> => {
  const { facts } = await executeAccountCommand(context, workspace.workspaceId, { type: 'OpenWorkspace', ...workspace })
  return facts.length > 0
}

/** True when something changed; undefined leaves a value unchanged. Throws `not_found`. */
export const changeWorkspace = async (
  context: AdminContext,
  workspaceId: string,
  change: Pick<Extract<AccountCommand, { type: 'ChangeWorkspace' }>, 'name' | 'creditLimitPicos' | 'account'>,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const { facts } = await executeAccountCommand(context, workspaceId, {
    type: 'ChangeWorkspace',
    workspaceId,
    ...change,
  })
  return facts.length > 0
}

/** False when it has the status already. Throws `not_found`, or `conflict` for one that is closed. */
export const setWorkspaceStatus = async (
  context: AdminContext,
  workspaceId: string,
  type: 'SuspendWorkspace' | 'ResumeWorkspace' | 'CloseWorkspace',
): Promise<boolean> => {
  const { facts } = await executeAccountCommand(context, workspaceId, { type, workspaceId })
  return facts.length > 0
}

/** Throws `not_found`, or `conflict` where a working key has the name. */
export const issueKey = async (
  context: AdminContext,
  key: Pick<Key, 'workspaceId' | 'name'> & {
    readonly expiresAtMs?: number | null
    readonly origins?: readonly string[] | undefined
  },
  source: KeySource,
): Promise<IssuedKey> => {
  requireWorkspace(context, key.workspaceId)
  const { fresh, issued } = makeKey(source)
  await executeAccountCommand(context, key.workspaceId, { type: 'IssueKey', ...key, ...fresh })
  return issued
}

interface Rotation {
  /** Until when the old key keeps working; null: not at all. */
  readonly graceEndsAtMs: number | null
  /** Of the new key; undefined: as the old one; null: never. */
  readonly expiresAtMs?: number | null | undefined
}

/** Throws `not_found`, or `conflict` where the key was revoked or rotated before. */
export const rotateKey = async (
  context: AdminContext,
  keyId: string,
  rotation: Rotation,
  source: KeySource,
): Promise<IssuedKey> => {
  const { workspaceId } = requireKey(context, keyId)
  const { fresh, issued } = makeKey(source)
  await executeAccountCommand(context, workspaceId, { type: 'RotateKey', keyId, fresh, ...rotation })
  return issued
}

/** False when unchanged. Throws `not_found`, or `conflict` where the key was revoked. */
export const setKeyExpiry = async (context: AdminContext, keyId: string, expiresAtMs: number): Promise<boolean> => {
  const { workspaceId } = requireKey(context, keyId)
  const { facts } = await executeAccountCommand(context, workspaceId, { type: 'SetKeyExpiry', keyId, expiresAtMs })
  return facts.length > 0
}

/** False when the key was not working. Throws `not_found`. */
export const revokeKey = async (context: AdminContext, keyId: string): Promise<boolean> => {
  const { workspaceId } = requireKey(context, keyId)
  const { facts } = await executeAccountCommand(context, workspaceId, { type: 'RevokeKey', keyId })
  return facts.length > 0
}

export interface Credit {
  readonly amountPicos: bigint
  /** The same reference credits once. */
  readonly reference: string
  readonly note: string
  /** ISO 8601: when what is left of it lapses. */
  readonly expiresAt?: string | undefined
}

/** False when the reference had been credited before with the same amount. Throws `not_found` or `conflict`. */
export const creditWallet = async (context: AdminContext, workspaceId: string, credit: Credit): Promise<boolean> => {
  requireOpenWorkspace(context, workspaceId)
  const outcome = await walletHandlerOf(context).execute(workspaceId, { type: 'Credit', ...credit }, context.actor)
  if ('facts' in outcome) return outcome.facts.length > 0
  const credited = outcome.refused.reason === 'reference_differs' ? formatUsd(outcome.refused.creditedPicos) : '0'
  throw new GatewayError(
    'conflict',
    `The reference ${credit.reference} has credited ${credited} USD before, not ${formatUsd(credit.amountPicos)}.`,
    { param: 'reference' },
  )
}
