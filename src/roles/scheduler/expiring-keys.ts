import type { Key } from '../../domain/accounts/accounts.ts'
import { DeadlineIndex, type DeadlineSource } from './deadline-index.ts'

export const expiringKeys = (tail: DeadlineSource): DeadlineIndex<Key> =>
  new DeadlineIndex(tail, {
    told: ({ type, data }) => (type === 'KeyIssued' || type === 'KeyExpirySet' ? data.expiresAt : undefined),
    standing: ({ accounts }) => accounts.keysBySha256.values(),
    deadlineMsOf: ({ expiresAtMs }) => expiresAtMs,
  })
