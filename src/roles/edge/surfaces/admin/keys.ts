import {
  executeIssueKey,
  requireKey,
  revokeKey,
  rotateKey,
  setKeyExpiry,
} from '../../../../administration/account-changes.ts'
import { type AdminContext, accountRefusal } from '../../../../administration/admin-context.ts'
import type { Key } from '../../../../domain/accounts/accounts.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import { workspaceParameter } from './parameters.ts'
import type { IssueKeyRequest, RotateKeyRequest, SetKeyExpiryRequest } from './requests.types.ts'
import { type AdminCall, type AdminParts, type AdminResult, futureMs } from './route.ts'

const page = pageOf('keys')
export const keysParameters = { ...page.known, workspace: workspaceParameter }

const shownKey = ({ keyId, workspaceId, name, prefix, revoked, expiresAtMs, replaces }: Key) => ({
  object: 'key',
  id: keyId,
  workspace: workspaceId,
  name,
  prefix,
  state: revoked ? 'revoked' : 'active',
  expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
  replaces,
})

const keyShown = (books: AdminContext, keyId: string) => shownKey(requireKey(books, keyId))

const expiryOf = (text: string | null | undefined, parts: AdminParts): number | null | undefined =>
  typeof text === 'string' ? futureMs(text, 'expires_at', parts) : text

/** The secret is returned only here. */
export const postKey = async ({ books, body }: AdminCall<IssueKeyRequest>, parts: AdminParts): Promise<AdminResult> => {
  const { workspace: workspaceId, name, expires_at } = body
  const expiresAtMs = expiryOf(expires_at, parts) ?? null
  const { keyId, secret } = await executeIssueKey(books, { workspaceId, name, expiresAtMs }, parts)
  return { status: 201, body: { ...keyShown(books, keyId), secret } }
}

export const showWorkspaceKeys = ({ ctx, books }: AdminCall<undefined>): AdminResult => {
  const { workspace: workspaceId, ...wanted } = readQuery(ctx, keysParameters)
  const { workspaces, keys } = books.tail.ledger.accounts
  if (workspaceId !== undefined && !workspaces.has(workspaceId)) throw accountRefusal('workspace_unknown')
  const found = [...keys.values()].filter((key) => workspaceId === undefined || key.workspaceId === workspaceId)
  return { body: page.show(found, ({ keyId }) => keyId, shownKey, wanted) }
}

export const getKey = ({ books, id }: AdminCall<undefined>): AdminResult => ({ body: keyShown(books, id) })

export const putKeyExpiry = async (
  { books, id, body }: AdminCall<SetKeyExpiryRequest>,
  parts: AdminParts,
): Promise<AdminResult> => {
  await setKeyExpiry(books, id, futureMs(body.expires_at, 'expires_at', parts))
  return { body: keyShown(books, id) }
}

const msPerSecond = 1_000

/** The secret is returned only here. */
export const rotateKeyByRequest = async (
  { books, id, body }: AdminCall<RotateKeyRequest>,
  parts: AdminParts,
): Promise<AdminResult> => {
  const { grace_seconds: graceSeconds, expires_at } = body
  const graceEndsAtMs = graceSeconds === 0 ? null : parts.clock() + graceSeconds * msPerSecond
  const expiresAtMs = expiryOf(expires_at, parts)
  const { keyId, secret } = await rotateKey(books, id, { graceEndsAtMs, expiresAtMs }, parts)
  return { status: 201, body: { ...keyShown(books, keyId), secret } }
}

export const revokeKeyByRequest = async ({ books, id }: AdminCall<undefined>): Promise<AdminResult> => {
  await revokeKey(books, id)
  return { body: keyShown(books, id) }
}
