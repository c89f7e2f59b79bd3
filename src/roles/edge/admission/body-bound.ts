import { findOrCreateWallet, type Ledger } from '../../../domain/ledger/ledger.ts'
import { isUnfunded } from '../../../domain/wallet/wallet.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { keyOfContext } from '../../../http/context.ts'
import { type BodyBound, type BodyBoundOf, boundAt } from '../http/request-body.ts'
import { admissionLimits } from './limits.ts'

const unfunded: BodyBound = {
  bytesMax: admissionLimits.unfundedBodyBytesMax,
  refusal: () =>
    new GatewayError(
      'insufficient_user_quota',
      `The workspace has no money left, and its requests may have ${admissionLimits.unfundedBodyBytesMax} bytes until it has. Add credit and try again.`,
    ),
}

/** A small bound for a workspace without credit: a body that cannot be paid for is not read. */
export const boundByMoney = (ledger: Ledger, bytesMax: number): BodyBoundOf => {
  const ordinary = boundAt(bytesMax)
  return (ctx) => (isUnfunded(findOrCreateWallet(ledger, keyOfContext(ctx).workspaceId)) ? unfunded : ordinary(ctx))
}
