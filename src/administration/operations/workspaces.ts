import type { Workspace } from '../../domain/accounts/accounts.ts'
import { findOrCreateWallet } from '../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import { expiredPicosAt } from '../../domain/wallet/grants.ts'
import { availablePicos, balancePicos, type Wallet } from '../../domain/wallet/wallet.ts'
import { type AdminRole, isPermitted, requirePermission } from '../../http/admin-roles.ts'
import { pageOf } from '../../http/page.ts'
import { changeWorkspace, openWorkspace, setWorkspaceStatus } from '../account-changes.ts'
import { type AdminContext, accountRefusal } from '../admin-context.ts'
import { liftEndUserLimits } from '../limits-changes.ts'
import { type AdminOperation, defineOperation, type OperationInput } from '../operation.ts'
import { activeSubscription, cancelPlan } from '../plan-changes.ts'
import type { ChangeWorkspaceRequest, OpenWorkspaceRequest } from '../requests.types.ts'
import type { WorkspaceResponse } from '../responses.types.ts'

const page = pageOf('workspaces')

type WorkspaceWithWallet = Required<WorkspaceResponse>

const renderWorkspace = (
  { tail }: Pick<AdminContext, 'tail'>,
  { workspaceId, name, account, status }: Workspace,
): WorkspaceWithWallet => {
  const wallet = findOrCreateWallet(tail.ledger, workspaceId)
  return {
    object: 'workspace',
    id: workspaceId,
    name,
    account: account ?? null,
    status: status ?? 'open',
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

/** Without its wallet for a role that reads no money. */
const shown = (role: AdminRole, workspace: WorkspaceWithWallet): WorkspaceResponse => {
  if (isPermitted(role, 'read_money')) return workspace
  const { object, id, name, account, status } = workspace
  return { object, id, name, account, status }
}

const lapsesFrom = ({ grants: [first] }: Wallet): string =>
  first === undefined ? '' : new Date(first.expiresAtMs).toISOString()

/** A workspace with every column of its wallet. Throws `not_found`. */
export const workspaceRecord = (context: Pick<AdminContext, 'tail'>, workspaceId: string) => {
  const { name, account, status, credit_limit, balance, held, available } = showWorkspace(context, workspaceId)
  const wallet = findOrCreateWallet(context.tail.ledger, workspaceId)
  return {
    workspace: workspaceId,
    name,
    account: account ?? '',
    status,
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

interface StatusOperation {
  readonly verb: 'suspend' | 'resume' | 'close'
  readonly summary: string
  readonly unchanged: string
  readonly change: (context: AdminContext, workspaceId: string) => Promise<boolean>
}

const statusOperation = ({ verb, summary, unchanged, change }: StatusOperation): AdminOperation =>
  defineOperation({
    name: `workspace.${verb}`,
    summary,
    answer: 'workspace',
    http: { method: 'post', path: `/admin/v1/workspaces/:id/${verb}` },
    permission: 'configure',
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged },
    },
    run: async (context, { id }) => ({ changed: await change(context, id), body: showWorkspace(context, id) }),
  })

/** Its plan ends with its period: what is closed pays no more fees. Throws `not_found`. */
const closeWorkspace = async (context: AdminContext, workspaceId: string): Promise<boolean> => {
  if (activeSubscription(context, workspaceId) !== null) await cancelPlan(context, workspaceId)
  return setWorkspaceStatus(context, workspaceId, 'CloseWorkspace')
}

export const workspaceOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'workspace.open',
    summary: 'Open a workspace; opening it again does nothing',
    request: 'requests/admin/open-workspace.json',
    answer: 'workspace',
    http: { method: 'post', path: '/admin/v1/workspaces' },
    permission: 'configure',
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, _path, { id }) => [workspaceRecord(context, String(id))],
    },
    run: async (context, { body }: OperationInput<OpenWorkspaceRequest>) => {
      const { id: workspaceId, name = workspaceId, credit_limit: creditLimit = '0', account } = body
      if (parseUsd(creditLimit) !== 0n) requirePermission(context.role, 'move_money')
      const workspace = { workspaceId, name, creditLimitPicos: parseUsd(creditLimit), account }
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
    permission: 'read',
    cli: {
      arguments: {},
      records: (context) =>
        [...context.tail.ledger.accounts.workspaces.keys()].sort().map((id) => workspaceRecord(context, id)),
    },
    run: (context, { query }) => {
      const workspaces = [...context.tail.ledger.accounts.workspaces.values()]
      const render = (workspace: Workspace) => shown(context.role, renderWorkspace(context, workspace))
      return { body: page.show(workspaces, ({ workspaceId }) => workspaceId, render, query) }
    },
  }),
  defineOperation({
    name: 'workspace.show',
    summary: 'One workspace with its wallet',
    answer: 'workspace',
    http: { method: 'get', path: '/admin/v1/workspaces/:id' },
    permission: 'read',
    cli: { arguments: { id: '<workspace>' }, records: (context, { id }) => [workspaceRecord(context, id)] },
    run: (context, { id }) => ({ body: shown(context.role, showWorkspace(context, id)) }),
  }),
  defineOperation({
    name: 'workspace.change',
    summary: 'Change its name, credit limit or account',
    request: 'requests/admin/change-workspace.json',
    answer: 'workspace',
    http: { method: 'patch', path: '/admin/v1/workspaces/:id' },
    permission: 'configure',
    memberPermissions: { credit_limit: 'move_money' },
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged: 'nothing was changed' },
    },
    run: async (context, { id, body }: OperationInput<ChangeWorkspaceRequest>) => {
      const { name, credit_limit: creditLimit, account } = body
      const creditLimitPicos = creditLimit === undefined ? undefined : parseUsd(creditLimit)
      const changed = await changeWorkspace(context, id, { name, creditLimitPicos, account })
      return { changed, body: showWorkspace(context, id) }
    },
  }),
  statusOperation({
    verb: 'suspend',
    summary: 'Let its keys call no model, until it is resumed; they can read',
    unchanged: 'it was suspended before',
    change: (context, id) => setWorkspaceStatus(context, id, 'SuspendWorkspace'),
  }),
  statusOperation({
    verb: 'resume',
    summary: 'Let the keys of a suspended workspace call models again',
    unchanged: 'it was not suspended',
    change: (context, id) => setWorkspaceStatus(context, id, 'ResumeWorkspace'),
  }),
  statusOperation({
    verb: 'close',
    summary: 'Refuse its keys everything, for good; its statement stays, and its plan is not renewed',
    unchanged: 'it was closed before',
    change: closeWorkspace,
  }),
  defineOperation({
    name: 'workspace.forget-end-users',
    summary:
      'Erase the key of its end users, and their limits: those in the log are anonymous then, and new requests have other ids',
    answer: 'workspace',
    http: { method: 'delete', path: '/admin/v1/workspaces/:id/end-users' },
    permission: 'configure',
    cli: {
      words: 'workspace forget-end-users',
      arguments: { id: '<workspace>' },
      reports: { changed: 'its end users are anonymous', unchanged: 'it has had no end users since' },
    },
    run: async (context, { id }) => {
      const body = showWorkspace(context, id)
      const [wasErased, wereLifted] = [await context.endUserKeys.erase(id), await liftEndUserLimits(context, id)]
      return { changed: wasErased || wereLifted, body }
    },
  }),
]
