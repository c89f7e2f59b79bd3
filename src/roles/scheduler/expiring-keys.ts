import type { Key } from '../../domain/accounts/accounts.ts'
import { DeadlineIndex, type DeadlineSource } from './deadline-index.ts'

export const expiringKeys = (tail: DeadlineSource): DeadlineIndex<Key> =>
  new DeadlineIndex(tail, {
    deadlineIn: ({ type, data }) => (type === 'KeyIssued' || type === 'KeyExpirySet' ? data.expiresAt : undefined),
    openItems: ({ accounts }) => accounts.keysBySha256.values(),
    deadlineMsOf: ({ expiresAtMs }) => expiresAtMs,
  })
