import { accountRefusal } from '../../../administration/admin-context.ts'
import type { Accounts } from '../../../domain/accounts/accounts.ts'
import type { EdgeContext, EdgeMiddleware } from './context.ts'

type NamedContext = EdgeContext & { readonly params: { readonly workspace?: string } }

/** After `authenticateAdmin`: reads the ledger of the workspace that the path names. Throws `not_found`. */
export const readNamed =
  ({ workspaces }: Pick<Accounts, 'workspaces'>) =>
  (ctx: NamedContext, next: Parameters<EdgeMiddleware>[1]): Promise<void> => {
    const { workspace = '' } = ctx.params
    if (!workspaces.has(workspace)) throw accountRefusal('workspace_unknown')
    ctx.state.reads = workspace
    return next()
  }

/** After `authenticateAdmin`: reads the ledgers of all workspaces. */
export const readAll = (): EdgeMiddleware => (ctx, next) => {
  ctx.state.reads = null
  return next()
}
