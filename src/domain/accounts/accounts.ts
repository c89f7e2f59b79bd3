import type { Fact, FactOf } from '../../events/envelope.ts'
import type { WorkspaceOpened } from '../../events/types.ts'
import { formatUsd, parseUsd } from '../money.ts'
import { type LimitsBook, setLimits } from './limits.ts'

export interface Workspace {
  readonly workspaceId: string
  readonly name: string
  readonly creditLimitPicos: bigint
}

export interface Key {
  readonly keyId: string
  readonly workspaceId: string
  readonly name: string
  readonly sha256: string
  readonly prefix: string
  readonly revoked: boolean
}

/** Who pays and who calls. The fold owns it and changes it in place. */
export interface Accounts {
  readonly workspaces: Map<string, Workspace>
  readonly keys: Map<string, Key>
  /** Keys that work, by their SHA-256. */
  readonly keysBySha256: Map<string, Key>
  readonly limits: LimitsBook
}

export const initialAccounts = (): Accounts => ({
  workspaces: new Map(),
  keys: new Map(),
  keysBySha256: new Map(),
  limits: new Map(),
})

const issueKey = (accounts: Accounts, key: Key): void => {
  accounts.keys.set(key.keyId, key)
  if (!key.revoked) accounts.keysBySha256.set(key.sha256, key)
}

const revokeKey = (accounts: Accounts, keyId: string): void => {
  const key = accounts.keys.get(keyId)
  if (key === undefined) return
  accounts.keys.set(keyId, { ...key, revoked: true })
  accounts.keysBySha256.delete(key.sha256)
}

export type AccountFact = FactOf<'WorkspaceOpened' | 'KeyIssued' | 'KeyRevoked' | 'LimitsSet'>

const openWorkspaceOnce = (accounts: Accounts, { workspaceId, name, creditLimit }: WorkspaceOpened): void => {
  if (accounts.workspaces.has(workspaceId)) return
  accounts.workspaces.set(workspaceId, { workspaceId, name, creditLimitPicos: parseUsd(creditLimit) })
}

export const evolveAccounts = (accounts: Accounts, fact: AccountFact): void => {
  switch (fact.type) {
    case 'WorkspaceOpened':
      openWorkspaceOnce(accounts, fact.data)
      break
    case 'KeyIssued':
      issueKey(accounts, { ...fact.data, revoked: false })
      break
    case 'KeyRevoked':
      revokeKey(accounts, fact.data.keyId)
      break
    case 'LimitsSet':
      setLimits(accounts.limits, fact.data)
  }
}

export const restoreKey = issueKey

export type AccountCommand =
  | {
      readonly type: 'OpenWorkspace'
      readonly workspaceId: string
      readonly name: string
      readonly creditLimitPicos: bigint
    }
  | {
      readonly type: 'IssueKey'
      readonly keyId: string
      readonly workspaceId: string
      readonly name: string
      readonly sha256: string
      readonly prefix: string
    }
  | { readonly type: 'RevokeKey'; readonly keyId: string }

export type AccountDecision =
  | { readonly facts: readonly Fact[] }
  | { readonly refused: 'workspace_unknown' | 'workspace_differs' | 'key_unknown' | 'key_name_taken' }

const openWorkspace = (command: AccountCommand & { type: 'OpenWorkspace' }, accounts: Accounts): AccountDecision => {
  const { workspaceId, name, creditLimitPicos } = command
  const standing = accounts.workspaces.get(workspaceId)
  if (standing === undefined)
    return {
      facts: [{ type: 'WorkspaceOpened', data: { workspaceId, name, creditLimit: formatUsd(creditLimitPicos) } }],
    }
  const same = standing.name === name && standing.creditLimitPicos === creditLimitPicos
  return same ? { facts: [] } : { refused: 'workspace_differs' }
}

/** The name is the reference: a workspace has one working key of a name. */
const findKeyByName = (accounts: Accounts, workspaceId: string, name: string): Key | undefined =>
  [...accounts.keys.values()].find((key) => key.workspaceId === workspaceId && key.name === name && !key.revoked)

const issue = (command: AccountCommand & { type: 'IssueKey' }, accounts: Accounts): AccountDecision => {
  const { keyId, workspaceId, name, sha256, prefix } = command
  if (!accounts.workspaces.has(workspaceId)) return { refused: 'workspace_unknown' }
  if (findKeyByName(accounts, workspaceId, name) !== undefined) return { refused: 'key_name_taken' }
  return { facts: [{ type: 'KeyIssued', data: { keyId, workspaceId, name, sha256, prefix } }] }
}

const revoke = (command: AccountCommand & { type: 'RevokeKey' }, accounts: Accounts): AccountDecision => {
  const key = accounts.keys.get(command.keyId)
  if (key === undefined) return { refused: 'key_unknown' }
  return {
    facts: key.revoked ? [] : [{ type: 'KeyRevoked', data: { keyId: key.keyId, workspaceId: key.workspaceId } }],
  }
}

/** Decides what an account command adds to the log; a repeated command adds nothing. */
export const decideAccounts = (command: AccountCommand, accounts: Accounts): AccountDecision => {
  switch (command.type) {
    case 'OpenWorkspace':
      return openWorkspace(command, accounts)
    case 'IssueKey':
      return issue(command, accounts)
    case 'RevokeKey':
      return revoke(command, accounts)
  }
}
