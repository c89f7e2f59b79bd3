import type { SpendingHolders } from '../wallet/spending.ts'
import type { ClaimedKey, KeyRecord, KeyRequest } from './key.ts'

export type KeyDecision =
  | { readonly type: 'claim' }
  | { readonly type: 'run'; readonly claim: ClaimedKey }
  /** The process that claimed the key stopped renewing its lease: its orphaned request is resolved first. */
  | { readonly type: 'take_over'; readonly claim: ClaimedKey }
  | { readonly type: 'replay'; readonly record: Extract<KeyRecord, { state: 'answered' }> }
  | {
      readonly type: 'refuse'
      readonly reason: 'reused' | 'not_kept'
      readonly requestId: string
    }
  | { readonly type: 'refuse'; readonly reason: 'in_use'; readonly requestId: string; readonly runsForMs: number }

const decideClaimed = (claim: ClaimedKey, { requestId, nowMs }: KeyRequest): KeyDecision => {
  if (claim.requestId === requestId) return { type: 'run', claim }
  if (claim.holder === requestId || nowMs >= claim.leaseUntilMs) return { type: 'take_over', claim }
  const runsForMs = Math.max(0, nowMs - claim.claimedMs)
  return { type: 'refuse', reason: 'in_use', requestId: claim.requestId, runsForMs }
}

export const decideKey = (record: KeyRecord | null, ask: KeyRequest): KeyDecision => {
  if (record === null) return { type: 'claim' }
  if (record.digest !== ask.digest) return { type: 'refuse', reason: 'reused', requestId: record.requestId }
  switch (record.state) {
    case 'claimed':
      return decideClaimed(record, ask)
    case 'answered':
      return { type: 'replay', record }
    case 'unkept':
      return { type: 'refuse', reason: 'not_kept', requestId: record.requestId }
  }
}

/** The final state of an abandoned request: its charge in USD, and for whom it counts; null where it is free. */
export type AbandonedOutcome =
  | { readonly chargedUsd: string; readonly spender: SpendingHolders }
  | { readonly chargedUsd: null }

/** A whole answer that is not stored was not delivered: its charge is refunded. A stream's delivered part counts. */
export const decideAbandoned = (
  { work }: ClaimedKey,
  { chargedUsd }: AbandonedOutcome,
): 'forget' | 'give_back' | 'stays_charged' => {
  if (chargedUsd === null || work.type === 'task') return 'forget'
  return work.stream ? 'stays_charged' : 'give_back'
}
