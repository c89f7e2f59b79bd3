import type { Workspace } from '../../domain/accounts/accounts.ts'
import { findOrCreateWallet } from '../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import { expiredPicosAt } from '../../domain/wallet/grants.ts'
import { availablePicos, balancePicos, type Wallet } from '../../domain/wallet/wallet.ts'
import { pageOf } from '../../http/page.ts'
import { changeWorkspace, openWorkspace } from '../account-changes.ts'
import { type AdminContext, accountRefusal } from '../admin-context.ts'
import { type AdminOperation, defineOperation, type OperationInput } from '../operation.ts'
import type { ChangeWorkspaceRequest, OpenWorkspaceRequest } from '../requests.types.ts'
import type { WorkspaceResponse } from '../responses.types.ts'

const page = pageOf('workspaces')

const renderWorkspace = ({ tail }: Pick<AdminContext, 'tail'>, { workspaceId, name }: Workspace): WorkspaceResponse => {
  const wallet = findOrCreateWallet(tail.ledger, workspaceId)
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
export const showWorkspace = (context: Pick<AdminContext, 'tail'>, workspaceId: string) => {
  const workspace = context.tail.ledger.accounts.workspaces.get(workspaceId)
  if (workspace === undefined) throw accountRefusal('workspace_unknown')
  return renderWorkspace(context, workspace)
}

const lapsesFrom = ({ grants: [first] }: Wallet): string =>
  first === undefined ? '' : new Date(first.expiresAtMs).toISOString()

/** A workspace with every column of its wallet. Throws `not_found`. */
export const workspaceRecord = (context: Pick<AdminContext, 'tail'>, workspaceId: string) => {
  const { name, credit_limit, balance, held, available } = showWorkspace(context, workspaceId)
  const wallet = findOrCreateWallet(context.tail.ledger, workspaceId)
  return {
    workspace: workspaceId,
    name,
    credits: formatUsd(wallet.creditsPicos),
    charges: formatUsd(wallet.chargesPicos),
    fees: formatUsd(wallet.feesPicos),
    adjustments: formatUsd(wallet.adjustmentsPicos),
    lapsed: formatUsd(wallet.lapsedPicos),
    balance,
    held,
    credit_limit,
    available,
    lapsing: formatUsd(expiredPicosAt(wallet.grants, Number.POSITIVE_INFINITY)),
    lapses_from: lapsesFrom(wallet),
  }
}

export const workspaceOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'workspace.open',
    summary: 'Open a workspace; opening it again does nothing',
    request: 'requests/admin/open-workspace.json',
    answer: 'workspace',
    http: { method: 'post', path: '/admin/v1/workspaces' },
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, _path, { id }) => [workspaceRecord(context, String(id))],
    },
    run: async (context, { body }: OperationInput<OpenWorkspaceRequest>) => {
      const { id: workspaceId, name = workspaceId, credit_limit: creditLimit = '0' } = body
      const workspace = { workspaceId, name, creditLimitPicos: parseUsd(creditLimit) }
      const changed = await openWorkspace(context, workspace)
      return { changed, body: showWorkspace(context, workspaceId) }
    },
  }),
  defineOperation({
    name: 'workspace.list',
    summary: 'Every workspace with its wallet',
    query: page.known,
    answer: 'list of workspace',
    http: { method: 'get', path: '/admin/v1/workspaces' },
    cli: {
      arguments: {},
      records: (context) =>
        [...context.tail.ledger.accounts.workspaces.keys()].sort().map((id) => workspaceRecord(context, id)),
    },
    run: (context, { query }) => {
      const workspaces = [...context.tail.ledger.accounts.workspaces.values()]
      const render = (workspace: Workspace) => renderWorkspace(context, workspace)
      return { body: page.show(workspaces, ({ workspaceId }) => workspaceId, render, query) }
    },
  }),
  defineOperation({
    name: 'workspace.show',
    summary: 'One workspace with its wallet',
    answer: 'workspace',
    http: { method: 'get', path: '/admin/v1/workspaces/:id' },
    cli: { arguments: { id: '<workspace>' }, records: (context, { id }) => [workspaceRecord(context, id)] },
    run: (context, { id }) => ({ body: showWorkspace(context, id) }),
  }),
  defineOperation({
    name: 'workspace.change',
    summary: 'Change its name or credit limit',
    request: 'requests/admin/change-workspace.json',
    answer: 'workspace',
    http: { method: 'patch', path: '/admin/v1/workspaces/:id' },
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged: 'nothing was changed' },
    },
    run: async (context, { id, body }: OperationInput<ChangeWorkspaceRequest>) => {
      const { name, credit_limit: creditLimit } = body
      const creditLimitPicos = creditLimit === undefined ? undefined : parseUsd(creditLimit)
      const changed = await changeWorkspace(context, id, { name, creditLimitPicos })
      return { changed, body: showWorkspace(context, id) }
    },
  }),
  defineOperation({
    name: 'workspace.forget-end-users',
    summary: 'Erase the key of its end users: those in the log are anonymous then, and new requests have other ids',
    answer: 'workspace',
    http: { method: 'delete', path: '/admin/v1/workspaces/:id/end-users' },
    cli: {
      words: 'workspace forget-end-users',
      arguments: { id: '<workspace>' },
      reports: { changed: 'its end users are anonymous', unchanged: 'it has had no end users since' },
    },
    run: async (context, { id }) => {
      const body = showWorkspace(context, id)
      return { changed: await context.endUserKeys.erase(id), body }
    },
  }),
]
