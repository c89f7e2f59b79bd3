import type { Accounts } from '../domain/accounts/accounts.ts'
import { canRead, type HttpContext, type HttpMiddleware } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import { type LiveTails, type TailBounds, tailHeaders } from './live-tails.ts'

export interface LedgerTailParts {
  readonly tails: LiveTails
  readonly tail: { readonly ledger: { readonly accounts: Accounts } }
  readonly bounds: TailBounds
}

/** A revoked key ends its tail, and so does the end of its workspace; an administrator's is never ended. */
const mayGoOn =
  ({ state: { key } }: HttpContext, { keysBySha256, workspaces }: Accounts) =>
  (): boolean =>
    key === undefined || (keysBySha256.has(key.sha256) && workspaces.get(key.workspaceId)?.status !== 'closed')

/** A HEAD request must not wait for the end of an endless stream. */
const sendHead = (ctx: HttpContext): void => {
  ctx.status = 200
  ctx.set(tailHeaders)
}

export const followLedger =
  ({ tails, tail, bounds }: LedgerTailParts): HttpMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    if (ctx.method === 'HEAD') return sendHead(ctx)
    const wanted = {
      workspaceId: canRead(ctx),
      isAdmin: ctx.state.admin !== undefined,
      mayGoOn: mayGoOn(ctx, tail.ledger.accounts),
    }
    const following = tails.open(ctx.res, wanted, bounds)
    ctx.respond = false
    await following
  }
