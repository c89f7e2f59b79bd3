import { formatUsd } from '../../../domain/money.ts'
import { type KeyRemaining, limitRenewalMs, type SpendPeriod } from '../../../domain/wallet/spending.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'

const words: { readonly [P in SpendPeriod]: string } = { day: 'a day', month: 'a month', total: 'in total' }

const renewalText = ({ period }: KeyRemaining, day: string): string => {
  const atMs = limitRenewalMs(period, day)
  return atMs === null ? '' : ` It renews at ${new Date(atMs).toISOString()}.`
}

/** Nothing in flight will free more of the key's own limit. */
export const keyLimitReached = (room: KeyRemaining, day: string): GatewayError =>
  new GatewayError(
    'key_spend_limit_reached',
    `This key may spend ${formatUsd(room.limitPicos)} USD ${words[room.period]}, and too little of it is left for this request.${renewalText(room, day)}`,
  )
