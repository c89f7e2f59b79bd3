import { type Ledger, walletInLedger } from '../../../domain/ledger/ledger.ts'
import { isUnfunded } from '../../../domain/wallet/wallet.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { edgeLimits } from '../limits.ts'
import { type EdgeContext, keyOfContext } from './context.ts'

export interface BodyBound {
  readonly bytesMax: number
  readonly refusal: () => GatewayError
}

export type BodyBoundOf = (ctx: EdgeContext) => BodyBound

const tooLarge = (bytesMax: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${bytesMax} bytes.`)

export const boundAt = (bytesMax: number): BodyBoundOf => {
  const bound: BodyBound = { bytesMax, refusal: () => tooLarge(bytesMax) }
  return () => bound
}

const unfunded: BodyBound = {
  bytesMax: edgeLimits.unfundedBodyBytesMax,
  refusal: () =>
    new GatewayError(
      'insufficient_user_quota',
      `The workspace has no money left, and its requests may have ${edgeLimits.unfundedBodyBytesMax} bytes until it has. Add credit and try again.`,
    ),
}

/** A small bound for a workspace without credit: a body that cannot be paid for is not read. */
export const boundByMoney = (ledger: Ledger, bytesMax: number): BodyBoundOf => {
  const ordinary = boundAt(bytesMax)
  return (ctx) => (isUnfunded(walletInLedger(ledger, keyOfContext(ctx).workspaceId)) ? unfunded : ordinary(ctx))
}
