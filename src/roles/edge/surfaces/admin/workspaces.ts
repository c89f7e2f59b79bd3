import type { Workspace } from '../../../../domain/accounts/accounts.ts'
import { walletOf } from '../../../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import { availablePicos, balancePicos } from '../../../../domain/wallet/wallet.ts'
import { changeWorkspace, openWorkspace } from '../../../account-changes.ts'
import { type Books, refusalOf } from '../../../books.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import type { ChangeWorkspaceRequest, OpenWorkspaceRequest } from './requests.types.ts'
import type { AdminAnswer, AdminCall } from './route.ts'

const page = pageOf('workspaces')

/** The parameters of the list's query. */
export const { known } = page

const shownWorkspace = ({ tail }: Books, { workspaceId, name }: Workspace) => {
  const wallet = walletOf(tail.ledger, workspaceId)
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

/** As the log has it now. Throws `not_found`. */
export const workspaceShown = (books: Books, workspaceId: string): object => {
  const workspace = books.tail.ledger.accounts.workspaces.get(workspaceId)
  if (workspace === undefined) throw refusalOf('workspace_unknown')
  return shownWorkspace(books, workspace)
}

export const open = async ({ books, body }: AdminCall<OpenWorkspaceRequest>): Promise<AdminAnswer> => {
  const { id: workspaceId, name = workspaceId, credit_limit: creditLimit = '0' } = body
  const isNew = await openWorkspace(books, { workspaceId, name, creditLimitPicos: parseUsd(creditLimit) })
  return { status: isNew ? 201 : 200, body: workspaceShown(books, workspaceId) }
}

export const list = ({ ctx, books }: AdminCall<undefined>): AdminAnswer => {
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

export const show = ({ books, id }: AdminCall<undefined>): AdminAnswer => ({ body: workspaceShown(books, id) })

export const change = async ({ books, id, body }: AdminCall<ChangeWorkspaceRequest>): Promise<AdminAnswer> => {
  const { name, credit_limit: creditLimit } = body
  const creditLimitPicos = creditLimit === undefined ? undefined : parseUsd(creditLimit)
  await changeWorkspace(books, id, { name, creditLimitPicos })
  return { body: workspaceShown(books, id) }
}
