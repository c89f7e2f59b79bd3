import { findKeysOf, type Key } from '../domain/accounts/accounts.ts'
import type { Ledger } from '../domain/ledger/ledger.ts'
import { type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { pageOf } from '../http/page.ts'
import { readQuery } from '../http/query.ts'
import type { LedgerKeysResponse } from './responses.types.ts'

const page = pageOf('ledger-keys')

export const { known } = page

const toKeyResponse = ({ keyId, name, prefix, revoked, expiresAtMs }: Key): LedgerKeysResponse['data'][number] => ({
  id: keyId,
  name,
  prefix,
  state: revoked ? 'revoked' : 'active',
  expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
})

/** GET /v1/ledger/keys: from the log, so with PostgreSQL away too. */
export const showKeys =
  ({ tail }: { readonly tail: { readonly ledger: Ledger } }): HttpMiddleware =>
  (ctx) => {
    const wanted = readQuery(ctx, known)
    const keys = findKeysOf(tail.ledger.accounts, readableWorkspace(ctx))
    ctx.body = page.show(keys, ({ keyId }) => keyId, toKeyResponse, wanted) satisfies LedgerKeysResponse
  }
