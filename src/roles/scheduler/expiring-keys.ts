import type { Key } from '../../domain/accounts/accounts.ts'
import { Overdue, type Tail } from './overdue.ts'

/** Which working keys are past their expiry. */
export const expiringKeys = (tail: Tail): Overdue<Key> =>
  new Overdue(tail, {
    told: ({ type, data }) => (type === 'KeyIssued' || type === 'KeyExpirySet' ? data.expiresAt : undefined),
    standing: ({ accounts }) => accounts.keysBySha256.values(),
    deadlineMsOf: ({ expiresAtMs }) => expiresAtMs,
  })
