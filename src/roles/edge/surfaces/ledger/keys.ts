import type { Key } from '../../../../domain/accounts/accounts.ts'
import type { Ledger } from '../../../../domain/ledger/ledger.ts'
import { type EdgeMiddleware, readableWorkspace } from '../../middleware/context.ts'
import { pageOf } from '../admin/page.ts'
import { readQuery } from './query.ts'

const page = pageOf('ledger-keys')

export const { known } = page

const shownKey = ({ keyId, name, prefix, revoked, expiresAtMs }: Key) => ({
  id: keyId,
  name,
  prefix,
  state: revoked ? 'revoked' : 'active',
  expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
})

/** GET …/keys: the keys by their ids. */
export const showKeys =
  ({ tail }: { readonly tail: { readonly ledger: Ledger } }): EdgeMiddleware =>
  (ctx) => {
    const wanted = readQuery(ctx, known)
    const workspaceId = readableWorkspace(ctx)
    const keys = [...tail.ledger.accounts.keys.values()].filter((key) => key.workspaceId === workspaceId)
    ctx.body = page.show(keys, ({ keyId }) => keyId, shownKey, wanted)
  }
