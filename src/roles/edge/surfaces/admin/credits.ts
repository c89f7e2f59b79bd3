import { executeCredit } from '../../../../administration/account-changes.ts'
import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { AdminChange } from '../../../../projections/admin-changes.ts'
import type { EdgeContext } from '../../middleware/context.ts'
import { placeCursor } from '../ledger/cursor.ts'
import * as parameters from '../ledger/parameters.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOfChanges } from './changes.ts'
import type { CreditRequest } from './requests.types.ts'
import { type AdminCall, type AdminParts, type AdminResult, futureMs } from './route.ts'
import { workspaceShown } from './workspaces.ts'

const referenceCharactersMax = 200

const referenceOf = ({ reference }: CreditRequest, { req }: EdgeContext): string => {
  const named = reference ?? req.headers['idempotency-key']
  if (typeof named !== 'string' || named === '')
    throw new GatewayError(
      'missing_required_parameter',
      "Missing required parameter: 'reference', or the header Idempotency-Key in its place.",
      { param: 'reference' },
    )
  if (named.length > referenceCharactersMax)
    throw new GatewayError('invalid_value', `A reference has at most ${referenceCharactersMax} characters.`, {
      param: 'reference',
    })
  return named
}

const amountOf = ({ amount }: CreditRequest): bigint => {
  const picos = parseUsd(amount)
  if (picos === 0n)
    throw new GatewayError('invalid_value', "Invalid value for 'amount': must be above zero.", { param: 'amount' })
  return picos
}

/** A reference is credited once. */
export const postCredit = async (
  { ctx, books, id, body }: AdminCall<CreditRequest>,
  parts: AdminParts,
): Promise<AdminResult> => {
  const { note = '', expires_at } = body
  const reference = referenceOf(body, ctx)
  const amountPicos = amountOf(body)
  const expiresAt =
    expires_at === undefined ? undefined : new Date(futureMs(expires_at, 'expires_at', parts)).toISOString()
  const isNew = await executeCredit(books, id, { amountPicos, reference, note, expiresAt })
  return {
    status: isNew ? 201 : 200,
    body: { object: 'credit', reference, amount: formatUsd(amountPicos), workspace: workspaceShown(books, id) },
  }
}

const cursor = placeCursor('credits')
export const creditsParameters = { cursor: cursor.parameter, limit: parameters.limitParameter }

const shownCredit = ({ sequence, actor, time, detail }: AdminChange) => ({
  object: 'credit',
  reference: detail['reference'],
  amount: detail['amount'],
  note: detail['note'],
  expires_at: detail['expiresAt'] ?? null,
  sequence,
  actor,
  time,
})

export const showCredits = (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> => {
  workspaceShown(call.books, call.id)
  const { cursor: readOn, limit } = readQuery(call.ctx, creditsParameters)
  const wanted = { workspaceId: call.id, types: ['WalletCredited'], readOn, limit }
  return pageOfChanges(call, parts, { wanted, cursor, shown: shownCredit })
}
