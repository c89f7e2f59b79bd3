import type { FactOf } from '../../events/envelope.ts'
import type { KeyIssued, Limits, PlanPublished, WorkspaceChanged, WorkspaceOpened } from '../../events/types.ts'
import { parseUsd } from '../money.ts'
import { OverlayMap, type OverlayOf } from '../overlay-map.ts'
import type { Subscription } from '../plans/subscription.ts'

export interface Workspace {
  readonly workspaceId: string
  readonly name: string
  readonly creditLimitPicos: bigint
  /** Absent: none. */
  readonly account?: string
  /** Absent: open. A closed one stays closed. */
  readonly status?: 'suspended' | 'closed'
}

export interface Key {
  readonly keyId: string
  readonly workspaceId: string
  readonly name: string
  readonly sha256: string
  readonly prefix: string
  readonly revoked: boolean
  /** Milliseconds since the epoch: when the scheduler revokes it. Null: never. */
  readonly expiresAtMs: number | null
  readonly replaces: string | null
  /** Of pages whose scripts alone may call with it. Absent: every caller may. */
  readonly origins?: readonly string[]
}

export interface AccountsDraft {
  readonly workspaces: OverlayOf<string, Workspace>
  readonly keys: OverlayOf<string, Key>
  readonly keysBySha256: OverlayOf<string, Key>
  /** The id of the active key with that name; see `buildKeyNameKey`. A replaced key has passed its name on. */
  readonly keysByName: OverlayOf<string, string>
  /** For each key that replaced another, the first key of that chain; see `findLimitKey`. */
  readonly limitKeys: OverlayOf<string, string>
  readonly limits: OverlayOf<string, Limits>
}

/** The projection owns it and changes it in place. */
export interface Accounts extends AccountsDraft {
  readonly workspaces: Map<string, Workspace>
  readonly keys: Map<string, Key>
  readonly keysBySha256: Map<string, Key>
  readonly keysByName: Map<string, string>
  readonly limitKeys: Map<string, string>
  readonly limits: Map<string, Limits>
  /** By workspace, of all its keys, also those that are revoked. */
  readonly keyIdsByWorkspace: Map<string, Set<string>>
  /** By plan id, on the terms published last. */
  readonly plans: Map<string, PlanPublished>
  readonly subscriptions: Map<string, Subscription>
}

export const initialAccounts = (): Accounts => ({
  workspaces: new Map(),
  keys: new Map(),
  keysBySha256: new Map(),
  keysByName: new Map(),
  limitKeys: new Map(),
  limits: new Map(),
  keyIdsByWorkspace: new Map(),
  plans: new Map(),
  subscriptions: new Map(),
})

/** Call it with each key of `keys`; again changes nothing. */
export const indexKey = ({ keyIdsByWorkspace }: Accounts, { keyId, workspaceId }: Key): void => {
  const keyIds = keyIdsByWorkspace.get(workspaceId)
  if (keyIds === undefined) keyIdsByWorkspace.set(workspaceId, new Set([keyId]))
  else keyIds.add(keyId)
}

export const findKeysOf = ({ keys, keyIdsByWorkspace }: Accounts, workspaceId: string): readonly Key[] =>
  [...(keyIdsByWorkspace.get(workspaceId) ?? [])].map((keyId) => keys.get(keyId)!)

/** Null removes the plan. */
export const setSubscription = (
  { subscriptions }: Accounts,
  workspaceId: string,
  subscription: Subscription | null,
): void => {
  if (subscription === null) subscriptions.delete(workspaceId)
  else subscriptions.set(workspaceId, subscription)
}

export const findPlanLimits = (
  { subscriptions }: Pick<Accounts, 'subscriptions'>,
  workspaceId: string,
): Limits | null => subscriptions.get(workspaceId)?.terms.limits ?? null

export const draftAccounts = (accounts: Accounts): AccountsDraft => ({
  workspaces: new OverlayMap(accounts.workspaces),
  keys: new OverlayMap(accounts.keys),
  keysBySha256: new OverlayMap(accounts.keysBySha256),
  keysByName: new OverlayMap(accounts.keysByName),
  limitKeys: new OverlayMap(accounts.limitKeys),
  limits: new OverlayMap(accounts.limits),
})

export const buildKeyNameKey = ({ workspaceId, name }: Pick<Key, 'workspaceId' | 'name'>): string =>
  `${workspaceId} ${name}`

/** Limits and spending belong to the first of a chain of replaced keys. */
export const findLimitKey = ({ limitKeys }: Pick<AccountsDraft, 'limitKeys'>, keyId: string): string =>
  limitKeys.get(keyId) ?? keyId

const addKey = (accounts: AccountsDraft, key: Key): void => {
  accounts.keys.set(key.keyId, key)
  if (!key.revoked) accounts.keysBySha256.set(key.sha256, key)
}

const giveNameAway = ({ keys, keysByName }: AccountsDraft, keyId: string): void => {
  const key = keys.get(keyId)
  if (key !== undefined && keysByName.get(buildKeyNameKey(key)) === keyId) keysByName.delete(buildKeyNameKey(key))
}

/** Only an earlier key of the workspace can be replaced, so a chain cannot be circular. */
const replacedBy = ({ keys }: AccountsDraft, { workspaceId, replaces }: KeyIssued): string | null =>
  replaces !== undefined && keys.get(replaces)?.workspaceId === workspaceId ? replaces : null

const takePlaceOf = (accounts: AccountsDraft, keyId: string, replaces: string): void => {
  accounts.limitKeys.set(keyId, findLimitKey(accounts, replaces))
  giveNameAway(accounts, replaces)
}

const issueKeyOnce = (accounts: AccountsDraft, data: KeyIssued): void => {
  if (accounts.keys.has(data.keyId)) return
  const { keyId, workspaceId, name, sha256, prefix, expiresAt, origins } = data
  const expiresAtMs = expiresAt === undefined ? null : Date.parse(expiresAt)
  const replaces = replacedBy(accounts, data)
  const key = { keyId, workspaceId, name, sha256, prefix, revoked: false, expiresAtMs, replaces }
  addKey(accounts, origins === undefined ? key : { ...key, origins })
  if (replaces !== null) takePlaceOf(accounts, keyId, replaces)
  accounts.keysByName.set(buildKeyNameKey(data), keyId)
}

const setExpiry = (accounts: AccountsDraft, keyId: string, expiresAtMs: number): void => {
  const key = accounts.keys.get(keyId)
  if (key === undefined || key.revoked) return
  const changed = { ...key, expiresAtMs }
  accounts.keys.set(keyId, changed)
  accounts.keysBySha256.set(key.sha256, changed)
}

const revokeKey = (accounts: AccountsDraft, keyId: string): void => {
  const key = accounts.keys.get(keyId)
  if (key === undefined) return
  accounts.keys.set(keyId, { ...key, revoked: true })
  accounts.keysBySha256.delete(key.sha256)
  giveNameAway(accounts, keyId)
}

export type AccountFact = FactOf<
  | 'WorkspaceOpened'
  | 'WorkspaceChanged'
  | 'WorkspaceSuspended'
  | 'WorkspaceResumed'
  | 'WorkspaceClosed'
  | 'KeyIssued'
  | 'KeyExpirySet'
  | 'KeyRevoked'
>

const workspaceOf = ({ workspaceId, name, creditLimit, account }: WorkspaceOpened | WorkspaceChanged): Workspace => ({
  workspaceId,
  name,
  creditLimitPicos: parseUsd(creditLimit),
  ...(account === undefined ? {} : { account }),
})

const openWorkspaceOnce = ({ workspaces }: AccountsDraft, data: WorkspaceOpened): void => {
  if (!workspaces.has(data.workspaceId)) workspaces.set(data.workspaceId, workspaceOf(data))
}

const changeWorkspace = ({ workspaces }: AccountsDraft, data: WorkspaceChanged): void => {
  const current = workspaces.get(data.workspaceId)
  if (current === undefined) return
  const { account: _, ...kept } = current
  workspaces.set(data.workspaceId, { ...kept, ...workspaceOf(data) })
}

const setStatus = (
  { workspaces }: AccountsDraft,
  workspaceId: string,
  status: Workspace['status'] | undefined,
): void => {
  const current = workspaces.get(workspaceId)
  if (current === undefined || current.status === 'closed') return
  const { status: _, ...open } = current
  workspaces.set(workspaceId, status === undefined ? open : { ...open, status })
}

/** Applies a fact; a repeated one, or one about an unknown key or workspace, changes nothing. */
export const applyToAccounts = (accounts: AccountsDraft, fact: AccountFact): void => {
  switch (fact.type) {
    case 'WorkspaceOpened':
      openWorkspaceOnce(accounts, fact.data)
      break
    case 'WorkspaceChanged':
      changeWorkspace(accounts, fact.data)
      break
    case 'WorkspaceSuspended':
      setStatus(accounts, fact.data.workspaceId, 'suspended')
      break
    case 'WorkspaceResumed':
      setStatus(accounts, fact.data.workspaceId, undefined)
      break
    case 'WorkspaceClosed':
      setStatus(accounts, fact.data.workspaceId, 'closed')
      break
    case 'KeyIssued':
      issueKeyOnce(accounts, fact.data)
      break
    case 'KeyExpirySet':
      setExpiry(accounts, fact.data.keyId, Date.parse(fact.data.expiresAt))
      break
    case 'KeyRevoked':
      revokeKey(accounts, fact.data.keyId)
  }
}
