import type { Accounts } from '../../../../domain/accounts/accounts.ts'
import type { EdgeBounds } from '../../bounds.ts'
import { canRead, type EdgeContext, type EdgeMiddleware } from '../../middleware/context.ts'
import { type LiveTails, tailHeaders } from './live-tails.ts'
import { readQuery } from './query.ts'

export interface LedgerTailParts {
  readonly tails: LiveTails
  readonly tail: { readonly ledger: { readonly accounts: Accounts } }
  readonly bounds: Pick<EdgeBounds, 'keepAliveCommentMs' | 'clientStallMs'>
}

/** A revoked key ends its tail; an administrator's is never ended. */
const mayGoOn =
  ({ state }: EdgeContext, { keysBySha256 }: Accounts) =>
  (): boolean =>
    state.key === undefined || keysBySha256.has(state.key.sha256)

/** A HEAD request must not wait for the end of an endless stream. */
const tellHead = (ctx: EdgeContext): void => {
  ctx.status = 200
  ctx.set(tailHeaders)
}

/** GET …/tail: events written to the log from now on, as server-sent events. */
export const followLedger =
  ({ tails, tail, bounds }: LedgerTailParts): EdgeMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    if (ctx.method === 'HEAD') return tellHead(ctx)
    const wanted = {
      workspaceId: canRead(ctx),
      tellsActors: ctx.state.admin !== undefined,
      mayGoOn: mayGoOn(ctx, tail.ledger.accounts),
    }
    const following = tails.open(ctx.res, wanted, bounds)
    ctx.respond = false
    await following
  }
