import type { Key } from '../../../../domain/accounts/accounts.ts'
import { issueKey, requireKey, revokeKey, rotateKey, setKeyExpiry } from '../../../account-changes.ts'
import { type Books, refusalOf } from '../../../books.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import { workspace } from './parameters.ts'
import type { IssueKeyRequest, RotateKeyRequest, SetKeyExpiryRequest } from './requests.types.ts'
import { type AdminAnswer, type AdminCall, type AdminParts, futureMs } from './route.ts'

const page = pageOf('keys')
/** The parameters of the list's query. */
export const known = { ...page.known, workspace }

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

const keyShown = (books: Books, keyId: string) => shownKey(requireKey(books, keyId))

const expiryOf = (text: string | null | undefined, parts: AdminParts): number | null | undefined =>
  typeof text === 'string' ? futureMs(text, 'expires_at', parts) : text

/** The secret is shown this once. */
export const issue = async ({ books, body }: AdminCall<IssueKeyRequest>, parts: AdminParts): Promise<AdminAnswer> => {
  const { workspace: workspaceId, name, expires_at } = body
  const expiresAtMs = expiryOf(expires_at, parts) ?? null
  const { keyId, secret } = await issueKey(books, { workspaceId, name, expiresAtMs }, parts)
  return { status: 201, body: { ...keyShown(books, keyId), secret } }
}

export const list = ({ ctx, books }: AdminCall<undefined>): AdminAnswer => {
  const { workspace: workspaceId, ...wanted } = readQuery(ctx, known)
  const { workspaces, keys } = books.tail.ledger.accounts
  if (workspaceId !== undefined && !workspaces.has(workspaceId)) throw refusalOf('workspace_unknown')
  const found = [...keys.values()].filter((key) => workspaceId === undefined || key.workspaceId === workspaceId)
  return { body: page.show(found, ({ keyId }) => keyId, shownKey, wanted) }
}

export const show = ({ books, id }: AdminCall<undefined>): AdminAnswer => ({ body: keyShown(books, id) })

export const setExpiry = async (
  { books, id, body }: AdminCall<SetKeyExpiryRequest>,
  parts: AdminParts,
): Promise<AdminAnswer> => {
  await setKeyExpiry(books, id, futureMs(body.expires_at, 'expires_at', parts))
  return { body: keyShown(books, id) }
}

const msPerSecond = 1_000

/** The secret is shown this once. */
export const rotate = async (
  { books, id, body }: AdminCall<RotateKeyRequest>,
  parts: AdminParts,
): Promise<AdminAnswer> => {
  const { grace_seconds: graceSeconds, expires_at } = body
  const graceEndsAtMs = graceSeconds === 0 ? null : parts.clock() + graceSeconds * msPerSecond
  const expiresAtMs = expiryOf(expires_at, parts)
  const { keyId, secret } = await rotateKey(books, id, { graceEndsAtMs, expiresAtMs }, parts)
  return { status: 201, body: { ...keyShown(books, keyId), secret } }
}

export const revoke = async ({ books, id }: AdminCall<undefined>): Promise<AdminAnswer> => {
  await revokeKey(books, id)
  return { body: keyShown(books, id) }
}
