import { findOrCreateWallet } from '../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import { operatorPrefix } from '../../domain/wallet/decide-adjustment.ts'
import { isOpen, type Proposal } from '../../domain/wallet/proposals.ts'
import { pageOf } from '../../http/page.ts'
import type { AdminChange } from '../../projections/admin-changes/queries.ts'
import { adjustWallet, endProposal, requireAmount } from '../adjust-wallet.ts'
import { requireWorkspace } from '../admin-context.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import { requireReference } from '../reference.ts'
import type { AdjustmentRequest } from '../requests.types.ts'
import type { AdjustmentResponse, ProposalResponse } from '../responses.types.ts'
import { ownEventList } from './events.ts'
import { workspaceParameter } from './parameters.ts'
import { showWorkspace, workspaceRecord } from './workspaces.ts'

const referenceForm = {
  pattern: /^[A-Za-z0-9_:-]{1,55}$/,
  description: 'at most 55 of the characters A-Z, a-z, 0-9, _, : and -',
}

const renderAdjustment = ({ sequence, actor, time, detail }: AdminChange) => ({
  object: 'adjustment',
  id: detail['adjustmentId'],
  amount: detail['amount'],
  reason: detail['reason'],
  reference: detail['reference'] ?? null,
  of: detail['corrects'] ?? null,
  note: detail['note'],
  sequence,
  actor: actor ?? detail['by'] ?? null,
  proposed_by: detail['by'] === actor ? null : (detail['by'] ?? null),
  time,
})

/** Of what was just posted or proposed. */
const statusOf = (proposal: Proposal | undefined): Pick<AdjustmentResponse, 'status' | 'expires_at'> =>
  proposal === undefined ? { status: 'posted' } : { status: 'proposed', expires_at: proposal.expiresAt }

const page = pageOf('proposals')

const renderProposal = (proposal: Proposal, nowMs: number): ProposalResponse => ({
  object: 'proposal',
  workspace: proposal.workspaceId,
  id: proposal.adjustmentId,
  amount: proposal.amount,
  reason: proposal.reason,
  reference: proposal.reference,
  of: proposal.corrects ?? null,
  note: proposal.note,
  proposed_by: proposal.by,
  expires_at: proposal.expiresAt,
  status: proposal.isRejected === true ? 'rejected' : isOpen(proposal, nowMs) ? 'open' : 'expired',
})

const findProposal = ({ tail }: OperationContext, workspaceId: string, reference: string): Proposal | undefined =>
  findOrCreateWallet(tail.ledger, workspaceId).proposals.get(`${operatorPrefix}${reference}`)

/** Those that can be approved, the first to expire first. */
const listOpen = ({ tail, clock }: OperationContext, workspaceId: string | undefined): readonly ProposalResponse[] =>
  [...tail.ledger.wallets.values()]
    .filter((wallet) => workspaceId === undefined || wallet.workspaceId === workspaceId)
    .flatMap(({ proposals }) => [...proposals.values()])
    .map((proposal) => renderProposal(proposal, clock()))
    .filter(({ status }) => status === 'open')
    .toSorted((one, other) => (one.expires_at < other.expires_at ? -1 : 1))

interface EndOperation {
  readonly verb: 'approve' | 'reject'
  readonly type: Parameters<typeof endProposal>[1]
  readonly summary: string
  readonly unchanged: string
}

const endOperation = ({ verb, type, summary, unchanged }: EndOperation): AdminOperation =>
  defineOperation({
    name: `adjustment.${verb}`,
    summary,
    answer: 'workspace',
    http: { method: 'post', path: `/admin/v1/workspaces/:id/adjustments/:key/${verb}` },
    permission: 'move_money',
    cli: {
      arguments: { id: '<workspace>', key: '<reference>' },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged },
    },
    run: async (context, { id, key }) => ({
      changed: await endProposal(context, type, id, key),
      body: showWorkspace(context, id),
    }),
  })

export const adjustmentOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'adjustment.post',
    summary: 'Correct a wallet, once for each reference',
    request: 'requests/admin/adjustment.json',
    answer: 'adjustment',
    http: { method: 'post', path: '/admin/v1/workspaces/:id/adjustments' },
    permission: 'move_money',
    cli: {
      words: 'adjust',
      arguments: { id: '<workspace>', amount: '<usd>' },
      members: {
        reason: { required: true },
        reference: { required: true, description: "Your own, such as a ticket's number." },
      },
      body: (_path, named) => {
        const reason = named['reason'] as AdjustmentRequest['reason']
        requireAmount({ amountPicos: parseUsd(String(named['amount'])), reason })
        return named
      },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged: 'the reference was used before; nothing was changed' },
      notes: ({ status, expires_at, reference }, { id }) =>
        status === 'proposed'
          ? [
              `proposed until ${expires_at}; another administrator posts it with: gateway adjustment approve ${id} ${reference}`,
            ]
          : [],
    },
    run: async (context, input: OperationInput<AdjustmentRequest>) => {
      const { id, body } = input
      const { reason, of: corrects, note = '' } = body
      const reference = requireReference(input, referenceForm)
      const amountPicos = parseUsd(body.amount)
      const changed = await adjustWallet(context, id, { amountPicos, reason, reference, corrects, note })
      const adjustment: AdjustmentResponse = {
        object: 'adjustment',
        id: `${operatorPrefix}${reference}`,
        amount: formatUsd(amountPicos),
        reason,
        reference,
        of: corrects ?? null,
        note,
        ...statusOf(findProposal(context, id, reference)),
        workspace: showWorkspace(context, id),
      }
      return { changed, body: adjustment }
    },
  }),
  ownEventList({
    noun: 'adjustment',
    summary: 'Corrections, newest first',
    type: 'AdjustmentPosted',
    render: renderAdjustment,
  }),
  defineOperation({
    name: 'adjustment.proposals',
    summary: 'Adjustments that wait for the approval of another administrator, the first to expire first',
    query: { ...page.known, workspace: workspaceParameter },
    answer: 'list of proposal',
    http: { method: 'get', path: '/admin/v1/proposals' },
    permission: 'read_money',
    cli: {
      words: 'adjustment list',
      arguments: {},
      queryOptions: { workspace: ['<workspace>', 'Of that workspace alone.'] },
      records: (context, { querystring }) =>
        listOpen(context, new URLSearchParams(querystring).get('workspace') ?? undefined).map(
          ({ object, ...proposal }) => ({
            ...proposal,
            of: proposal.of ?? '',
          }),
        ),
      reports: { absent: 'no adjustment waits for approval' },
    },
    run: (context, { query: { workspace, ...query } }) => {
      if (workspace !== undefined) requireWorkspace(context, workspace)
      const placeOf = ({ expires_at, workspace: of, id }: ProposalResponse) => `${expires_at} ${of} ${id}`
      return { body: page.show(listOpen(context, workspace), placeOf, (proposal) => proposal, query) }
    },
  }),
  endOperation({
    verb: 'approve',
    type: 'ApproveAdjustment',
    summary: 'Post an adjustment that another administrator proposed',
    unchanged: 'it was posted before; nothing was changed',
  }),
  endOperation({
    verb: 'reject',
    type: 'RejectAdjustment',
    summary: 'Reject a proposed adjustment, or withdraw your own',
    unchanged: 'it was rejected before',
  }),
]
