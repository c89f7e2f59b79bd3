import { findKeysOf, findLimitKey, type Key } from '../../domain/accounts/accounts.ts'
import { pageOf } from '../../http/page.ts'
import { spentRecord } from '../../read-api/workspace-limits.ts'
import { issueKey, requireKey, revokeKey, rotateKey, setKeyExpiry } from '../account-changes.ts'
import { type AdminContext, requireWorkspace } from '../admin-context.ts'
import {
  type AdminOperation,
  defineOperation,
  futureMs,
  type OperationContext,
  type OperationInput,
} from '../operation.ts'
import type { IssueKeyRequest, RotateKeyRequest, SetKeyExpiryRequest } from '../requests.types.ts'
import type { KeyResponse } from '../responses.types.ts'
import { workspaceParameter } from './parameters.ts'

const page = pageOf('keys')

const renderKey = ({
  keyId,
  workspaceId,
  name,
  prefix,
  revoked,
  expiresAtMs,
  replaces,
  origins,
}: Key): KeyResponse => ({
  object: 'key',
  id: keyId,
  workspace: workspaceId,
  name,
  prefix,
  state: revoked ? 'revoked' : 'active',
  expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
  origins: origins === undefined ? null : [...origins],
  replaces,
})

const showKey = (context: AdminContext, keyId: string) => renderKey(requireKey(context, keyId))

const msByUnit = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const isUnit = (text: string): text is keyof typeof msByUnit => Object.hasOwn(msByUnit, text)

/** Of an instant, or of a duration such as `1h` from now on. Throws `invalid_value` for an instant in the past. */
const expiryMs = (text: string | null | undefined, context: OperationContext): number | null | undefined => {
  if (typeof text !== 'string') return text
  const unit = text.slice(-1)
  return isUnit(unit)
    ? context.clock() + Number(text.slice(0, -1)) * msByUnit[unit]
    : futureMs(text, 'expires_at', context)
}

/** Keys that replaced each other share limits and spending: the figures are in the row of the last one. */
const findSpenders = ({ tail }: AdminContext, keys: readonly Key[]): ReadonlyMap<string, string> => {
  const { accounts } = tail.ledger
  const replaced = new Set(keys.map(({ replaces }) => replaces))
  const last = keys.filter(({ keyId }) => !replaced.has(keyId))
  return new Map(last.map(({ keyId }) => [findLimitKey(accounts, keyId), keyId]))
}

const findKeys = ({ tail }: AdminContext, workspaceId: string | undefined): readonly Key[] => {
  const { accounts } = tail.ledger
  if (workspaceId === undefined) return [...accounts.keys.values()]
  requireWorkspace({ tail }, workspaceId)
  return findKeysOf(accounts, workspaceId)
}

const nothingSpent = { spent_day: null, spent_month: null, spent_total: null }

/** USD spent on the UTC day of now, in its month and ever; of rotated keys in the row that `spent_with` names. */
const keyRecords = (context: OperationContext, workspaceId: string | undefined) => {
  const keys = findKeys(context, workspaceId)
  const spenders = findSpenders(context, keys)
  const spenderOf = (keyId: string): string => spenders.get(findLimitKey(context.tail.ledger.accounts, keyId)) ?? keyId
  return keys.map((key) => {
    const { id, workspace, name, prefix, expires_at } = renderKey(key)
    const state = key.revoked ? 'revoked' : 'works'
    return {
      ...{ key: id, workspace, name, prefix, state, expires_at },
      ...(spenderOf(id) === id
        ? { ...spentRecord(context, workspace, id, context.clock()), spent_with: null }
        : { ...nothingSpent, spent_with: spenderOf(id) }),
    }
  })
}

const msPerSecond = 1_000

const revoke = defineOperation({
  name: 'key.revoke',
  summary: 'End a key; ending it again does nothing',
  answer: 'key',
  http: { method: 'post', path: '/admin/v1/keys/:id/revoke' },
  permission: 'configure',
  cli: { arguments: { id: '<key>' }, reports: { changed: 'revoked', unchanged: 'it was revoked before' } },
  run: async (context, { id }) => ({ changed: await revokeKey(context, id), body: showKey(context, id) }),
})

const { cli: _commandOfRevoke, ...revokeByHttp } = revoke

export const keyOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'key.issue',
    summary: 'Issue a key and show its secret, this once',
    request: 'requests/admin/issue-key.json',
    answer: 'key',
    http: { method: 'post', path: '/admin/v1/keys' },
    permission: 'configure',
    cli: {
      arguments: { workspace: '<workspace>' },
      members: {
        name: { default: 'default' },
        expires_at: {
          flags: '--expires <instant|duration>',
          description: 'When it stops, or after how long, such as 1h. Default: never.',
        },
        origins: {
          flags: '--origins <origin>',
          description:
            'Of a page whose scripts alone may call with it, such as https://app.example; several times for several.',
          parse: (text) => text,
        },
      },
      records: (_context, _path, { id, workspace, name, secret }) => [{ key: id, workspace, name, secret }],
    },
    run: async (context, { body }: OperationInput<IssueKeyRequest>) => {
      const { workspace: workspaceId, name, expires_at, origins } = body
      const expiresAtMs = expiryMs(expires_at, context) ?? null
      const { keyId, secret } = await issueKey(context, { workspaceId, name, expiresAtMs, origins }, context)
      return { changed: true, body: { ...showKey(context, keyId), secret } }
    },
  }),
  defineOperation({
    name: 'key.list',
    summary: 'Every key, or those of a workspace',
    query: { ...page.known, workspace: workspaceParameter },
    answer: 'list of key',
    http: { method: 'get', path: '/admin/v1/keys' },
    permission: 'read',
    cli: {
      arguments: { id: '[workspace]' },
      records: (context, { id }) => keyRecords(context, id === '' ? undefined : id),
    },
    run: (context, { query: { workspace: workspaceId, ...wanted } }) => {
      const found = findKeys(context, workspaceId)
      return { body: page.show(found, ({ keyId }) => keyId, renderKey, wanted) }
    },
  }),
  defineOperation({
    name: 'key.show',
    summary: 'One key',
    answer: 'key',
    http: { method: 'get', path: '/admin/v1/keys/:id' },
    permission: 'read',
    run: (context, { id }) => ({ body: showKey(context, id) }),
  }),
  defineOperation({
    name: 'key.expire',
    summary: 'Set when a key stops',
    request: 'requests/admin/set-key-expiry.json',
    answer: 'key',
    http: { method: 'patch', path: '/admin/v1/keys/:id' },
    permission: 'configure',
    cli: {
      arguments: { id: '<key>', expires_at: '<instant>' },
      reports: { changed: 'set', unchanged: 'unchanged' },
    },
    run: async (context, { id, body }: OperationInput<SetKeyExpiryRequest>) => {
      const changed = await setKeyExpiry(context, id, futureMs(body.expires_at, 'expires_at', context))
      return { changed, body: showKey(context, id) }
    },
  }),
  defineOperation({
    name: 'key.rotate',
    summary: 'Put a fresh key in its place and show its secret, this once',
    request: 'requests/admin/rotate-key.json',
    answer: 'key',
    http: { method: 'post', path: '/admin/v1/keys/:id/rotate' },
    permission: 'configure',
    cli: {
      arguments: { id: '<key>' },
      members: {
        expires_at: { description: 'When the fresh key stops. Default: when the one that it replaces would have.' },
      },
      records: (_context, _path, { id, replaces, secret }) => [{ key: id, replaces, secret }],
    },
    run: async (context, { id, body }: OperationInput<RotateKeyRequest>) => {
      const { grace_seconds: graceSeconds, expires_at } = body
      const graceEndsAtMs = graceSeconds === 0 ? null : context.clock() + graceSeconds * msPerSecond
      const expiresAtMs = expiryMs(expires_at, context)
      const { keyId, secret } = await rotateKey(context, id, { graceEndsAtMs, expiresAtMs }, context)
      return { changed: true, body: { ...showKey(context, keyId), secret } }
    },
  }),
  revoke,
  { ...revokeByHttp, name: 'key.delete', http: { method: 'delete', path: '/admin/v1/keys/:id' } },
]
