import { canRead, type HttpContext, type HttpMiddleware } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import { type LiveTails, type TailBounds, tailHeaders } from './live-tails.ts'

export interface LedgerTailParts {
  readonly tails: LiveTails
  readonly bounds: TailBounds
}

/** A HEAD request must not wait for the end of an endless stream. */
const sendHead = (ctx: HttpContext): void => {
  ctx.status = 200
  ctx.set(tailHeaders)
}

export const followLedger =
  ({ tails, bounds }: LedgerTailParts): HttpMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    if (ctx.method === 'HEAD') return sendHead(ctx)
    const wanted = {
      workspaceId: canRead(ctx),
      isAdmin: ctx.state.admin !== undefined,
      mayGoOn: ctx.state.isStillAllowed ?? (() => false),
    }
    const following = tails.open(ctx.res, wanted, bounds)
    ctx.respond = false
    await following
  }
