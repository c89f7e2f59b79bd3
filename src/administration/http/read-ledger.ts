import type { Accounts } from '../../domain/accounts/accounts.ts'
import type { HttpContext, HttpMiddleware } from '../../http/context.ts'
import { accountRefusal } from '../admin-context.ts'

type NamedContext = HttpContext & { readonly params: { readonly workspace?: string } }

/** After `authenticateAdmin`: reads the ledger of the workspace that the path names. Throws `not_found`. */
export const readNamed =
  ({ workspaces }: Pick<Accounts, 'workspaces'>) =>
  (ctx: NamedContext, next: Parameters<HttpMiddleware>[1]): Promise<void> => {
    const { workspace = '' } = ctx.params
    if (!workspaces.has(workspace)) throw accountRefusal('workspace_unknown')
    ctx.state.reads = workspace
    return next()
  }

/** After `authenticateAdmin`: reads the ledgers of all workspaces. */
export const readAll = (): HttpMiddleware => (ctx, next) => {
  ctx.state.reads = null
  return next()
}
