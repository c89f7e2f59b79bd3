import type { WorkspaceOpened } from '../../events/types.ts'
import { formatUsd } from '../money.ts'
import { type AccountFact, type AccountsDraft, buildKeyNameKey, type Key, type Workspace } from './accounts.ts'

export interface FreshKey {
  readonly keyId: string
  readonly sha256: string
  readonly prefix: string
}

export type AccountCommand =
  | {
      readonly type: 'OpenWorkspace'
      readonly workspaceId: string
      readonly name: string
      readonly creditLimitPicos: bigint
      readonly account?: string | undefined
    }
  | {
      readonly type: 'ChangeWorkspace'
      readonly workspaceId: string
      /** Undefined: unchanged. */
      readonly name?: string | undefined
      readonly creditLimitPicos?: bigint | undefined
      /** Empty: none. */
      readonly account?: string | undefined
    }
  | { readonly type: 'SuspendWorkspace' | 'ResumeWorkspace' | 'CloseWorkspace'; readonly workspaceId: string }
  | ({
      readonly type: 'IssueKey'
      readonly workspaceId: string
      readonly name: string
      /** Milliseconds since the epoch; null: never. */
      readonly expiresAtMs?: number | null
      readonly origins?: readonly string[] | undefined
    } & FreshKey)
  | { readonly type: 'SetKeyExpiry'; readonly keyId: string; readonly expiresAtMs: number }
  | {
      readonly type: 'RotateKey'
      readonly keyId: string
      readonly fresh: FreshKey
      /** Of the fresh key; undefined: that of the key it replaces. */
      readonly expiresAtMs?: number | null | undefined
      /** Until when the replaced key stays valid; null: it is revoked at once. */
      readonly graceEndsAtMs: number | null
    }
  | { readonly type: 'RevokeKey'; readonly keyId: string }
  | { readonly type: 'ExpireKey'; readonly keyId: string; readonly nowMs: number }

export type AccountRefusal =
  | 'workspace_unknown'
  | 'workspace_differs'
  | 'workspace_closed'
  | 'key_unknown'
  | 'key_name_taken'
  | 'key_revoked'
  | 'key_replaced'

export type AccountDecision = { readonly facts: readonly AccountFact[] } | { readonly refused: AccountRefusal }

type CommandOf<Type extends AccountCommand['type']> = Extract<AccountCommand, { type: Type }>

const nothing: AccountDecision = { facts: [] }

type Named = Pick<Workspace, 'workspaceId' | 'name' | 'creditLimitPicos'> & { readonly account?: string | undefined }

const dataOf = ({ workspaceId, name, creditLimitPicos, account = '' }: Named): WorkspaceOpened => ({
  workspaceId,
  name,
  creditLimit: formatUsd(creditLimitPicos),
  ...(account === '' ? {} : { account }),
})

const isSame = (one: Named, other: Named): boolean =>
  one.name === other.name &&
  one.creditLimitPicos === other.creditLimitPicos &&
  (one.account ?? '') === (other.account ?? '')

const openWorkspace = (command: CommandOf<'OpenWorkspace'>, accounts: AccountsDraft): AccountDecision => {
  const { workspaceId, account } = command
  const existing = accounts.workspaces.get(workspaceId)
  if (existing === undefined) return { facts: [{ type: 'WorkspaceOpened', data: dataOf(command) }] }
  if (existing.status === 'closed') return { refused: 'workspace_closed' }
  return isSame(existing, { ...command, account: account ?? existing.account })
    ? nothing
    : { refused: 'workspace_differs' }
}

const changeWorkspace = (command: CommandOf<'ChangeWorkspace'>, accounts: AccountsDraft): AccountDecision => {
  const { workspaceId } = command
  const existing = accounts.workspaces.get(workspaceId)
  if (existing === undefined) return { refused: 'workspace_unknown' }
  if (existing.status === 'closed') return { refused: 'workspace_closed' }
  const { name = existing.name, creditLimitPicos = existing.creditLimitPicos, account = existing.account } = command
  const changed = { workspaceId, name, creditLimitPicos, account }
  return isSame(existing, changed) ? nothing : { facts: [{ type: 'WorkspaceChanged', data: dataOf(changed) }] }
}

const statusChanges = {
  SuspendWorkspace: { type: 'WorkspaceSuspended', status: 'suspended' },
  ResumeWorkspace: { type: 'WorkspaceResumed', status: undefined },
  CloseWorkspace: { type: 'WorkspaceClosed', status: 'closed' },
} as const

const changeStatus = (
  { type, workspaceId }: CommandOf<keyof typeof statusChanges>,
  accounts: AccountsDraft,
): AccountDecision => {
  const existing = accounts.workspaces.get(workspaceId)
  if (existing === undefined) return { refused: 'workspace_unknown' }
  const change = statusChanges[type]
  if (existing.status === change.status) return nothing
  if (existing.status === 'closed') return { refused: 'workspace_closed' }
  return { facts: [{ type: change.type, data: { workspaceId } }] }
}

interface Issued extends FreshKey {
  readonly workspaceId: string
  readonly name: string
  readonly expiresAtMs: number | null
  readonly replaces?: string
  readonly origins?: readonly string[] | undefined
}

const isoOf = (epochMs: number): string => new Date(epochMs).toISOString()

const issued = ({ keyId, workspaceId, name, sha256, prefix, expiresAtMs, replaces, origins }: Issued): AccountFact => ({
  type: 'KeyIssued',
  data: {
    keyId,
    workspaceId,
    name,
    sha256,
    prefix,
    ...(expiresAtMs === null ? {} : { expiresAt: isoOf(expiresAtMs) }),
    ...(origins === undefined ? {} : { origins: [...origins] }),
    ...(replaces === undefined ? {} : { replaces }),
  },
})

const expirySet = ({ keyId, workspaceId }: Key, expiresAtMs: number): AccountFact => ({
  type: 'KeyExpirySet',
  data: { keyId, workspaceId, expiresAt: isoOf(expiresAtMs) },
})

const revoked = ({ keyId, workspaceId }: Key): AccountFact => ({ type: 'KeyRevoked', data: { keyId, workspaceId } })

/** The name is the reference: a workspace has one active key of a name. */
const issue = (command: CommandOf<'IssueKey'>, accounts: AccountsDraft): AccountDecision => {
  const workspace = accounts.workspaces.get(command.workspaceId)
  if (workspace === undefined) return { refused: 'workspace_unknown' }
  if (workspace.status === 'closed') return { refused: 'workspace_closed' }
  if (accounts.keysByName.has(buildKeyNameKey(command))) return { refused: 'key_name_taken' }
  return { facts: [issued({ ...command, expiresAtMs: command.expiresAtMs ?? null })] }
}

const requireActiveKey = (
  keyId: string,
  accounts: AccountsDraft,
): Key | { readonly refused: 'key_unknown' | 'key_revoked' } => {
  const key = accounts.keys.get(keyId)
  if (key === undefined) return { refused: 'key_unknown' }
  return key.revoked ? { refused: 'key_revoked' } : key
}

const setExpiry = ({ keyId, expiresAtMs }: CommandOf<'SetKeyExpiry'>, accounts: AccountsDraft): AccountDecision => {
  const key = requireActiveKey(keyId, accounts)
  if ('refused' in key) return key
  return key.expiresAtMs === expiresAtMs ? nothing : { facts: [expirySet(key, expiresAtMs)] }
}

/** A replaced key that expires before its grace period ends still expires then. */
const giveGrace = (key: Key, graceEndsAtMs: number | null): readonly AccountFact[] => {
  if (graceEndsAtMs === null) return [revoked(key)]
  return key.expiresAtMs !== null && key.expiresAtMs <= graceEndsAtMs ? [] : [expirySet(key, graceEndsAtMs)]
}

const rotate = (command: CommandOf<'RotateKey'>, accounts: AccountsDraft): AccountDecision => {
  const { keyId, fresh, graceEndsAtMs } = command
  const key = requireActiveKey(keyId, accounts)
  if ('refused' in key) return key
  if (accounts.workspaces.get(key.workspaceId)?.status === 'closed') return { refused: 'workspace_closed' }
  if (accounts.keysByName.get(buildKeyNameKey(key)) !== keyId) return { refused: 'key_replaced' }
  const { workspaceId, name, origins } = key
  const { expiresAtMs = key.expiresAtMs } = command
  const successor = issued({ ...fresh, workspaceId, name, expiresAtMs, replaces: keyId, origins })
  return { facts: [successor, ...giveGrace(key, graceEndsAtMs)] }
}

const revoke = ({ keyId }: CommandOf<'RevokeKey'>, accounts: AccountsDraft): AccountDecision => {
  const key = accounts.keys.get(keyId)
  if (key === undefined) return { refused: 'key_unknown' }
  return key.revoked ? nothing : { facts: [revoked(key)] }
}

/** Another scheduler may have expired the key already, and an operator may have postponed the expiry. */
const expire = ({ keyId, nowMs }: CommandOf<'ExpireKey'>, accounts: AccountsDraft): AccountDecision => {
  const key = accounts.keys.get(keyId)
  if (key === undefined || key.revoked || key.expiresAtMs === null || key.expiresAtMs > nowMs) return nothing
  const { workspaceId } = key
  return { facts: [{ type: 'KeyRevoked', data: { keyId, workspaceId, reason: 'expired' } }] }
}

/** Decides what an account command adds to the log; a repeated command adds nothing. */
export const decideAccounts = (command: AccountCommand, accounts: AccountsDraft): AccountDecision => {
  switch (command.type) {
    case 'OpenWorkspace':
      return openWorkspace(command, accounts)
    case 'ChangeWorkspace':
      return changeWorkspace(command, accounts)
    case 'SuspendWorkspace':
    case 'ResumeWorkspace':
    case 'CloseWorkspace':
      return changeStatus(command, accounts)
    case 'IssueKey':
      return issue(command, accounts)
    case 'SetKeyExpiry':
      return setExpiry(command, accounts)
    case 'RotateKey':
      return rotate(command, accounts)
    case 'RevokeKey':
      return revoke(command, accounts)
    case 'ExpireKey':
      return expire(command, accounts)
  }
}
