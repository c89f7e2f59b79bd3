import { executeChangeWorkspace, executeOpenWorkspace } from '../../../../administration/account-changes.ts'
import { type AdminContext, accountRefusal } from '../../../../administration/admin-context.ts'
import type { Workspace } from '../../../../domain/accounts/accounts.ts'
import { walletInLedger } from '../../../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import { availablePicos, balancePicos } from '../../../../domain/wallet/wallet.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import type { ChangeWorkspaceRequest, OpenWorkspaceRequest } from './requests.types.ts'
import type { AdminCall, AdminResult } from './route.ts'

const page = pageOf('workspaces')

export const { known } = page

const shownWorkspace = ({ tail }: AdminContext, { workspaceId, name }: Workspace) => {
  const wallet = walletInLedger(tail.ledger, workspaceId)
  return {
    object: 'workspace',
    id: workspaceId,
    name,
    credit_limit: formatUsd(wallet.creditLimitPicos),
    balance: formatUsd(balancePicos(wallet)),
    held: formatUsd(wallet.heldPicos),
    available: formatUsd(availablePicos(wallet)),
  }
}

/** Throws `not_found`. */
export const workspaceShown = (books: AdminContext, workspaceId: string): object => {
  const workspace = books.tail.ledger.accounts.workspaces.get(workspaceId)
  if (workspace === undefined) throw accountRefusal('workspace_unknown')
  return shownWorkspace(books, workspace)
}

export const postWorkspace = async ({ books, body }: AdminCall<OpenWorkspaceRequest>): Promise<AdminResult> => {
  const { id: workspaceId, name = workspaceId, credit_limit: creditLimit = '0' } = body
  const isNew = await executeOpenWorkspace(books, { workspaceId, name, creditLimitPicos: parseUsd(creditLimit) })
  return { status: isNew ? 201 : 200, body: workspaceShown(books, workspaceId) }
}

export const showWorkspaces = ({ ctx, books }: AdminCall<undefined>): AdminResult => {
  const workspaces = [...books.tail.ledger.accounts.workspaces.values()]
  const wanted = readQuery(ctx, known)
  return {
    body: page.show(
      workspaces,
      ({ workspaceId }) => workspaceId,
      (each) => shownWorkspace(books, each),
      wanted,
    ),
  }
}

export const getWorkspace = ({ books, id }: AdminCall<undefined>): AdminResult => ({ body: workspaceShown(books, id) })

export const patchWorkspace = async ({ books, id, body }: AdminCall<ChangeWorkspaceRequest>): Promise<AdminResult> => {
  const { name, credit_limit: creditLimit } = body
  const creditLimitPicos = creditLimit === undefined ? undefined : parseUsd(creditLimit)
  await executeChangeWorkspace(books, id, { name, creditLimitPicos })
  return { body: workspaceShown(books, id) }
}
