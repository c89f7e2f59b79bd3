import type { ClaimedKey, KeyRecord, KeyRequest } from './key.ts'

export type KeyDecision =
  /** The request runs once it has claimed the key. */
  | { readonly type: 'claim' }
  /** The request has claimed the key. */
  | { readonly type: 'run'; readonly claim: ClaimedKey }
  /** Whoever claimed the key is silent: what it left behind is seen to first. */
  | { readonly type: 'take_over'; readonly claim: ClaimedKey }
  | { readonly type: 'replay'; readonly record: Extract<KeyRecord, { state: 'answered' }> }
  | {
      readonly type: 'refuse'
      readonly reason: 'reused' | 'not_kept'
      /** The request that the key names. */
      readonly requestId: string
    }
  | { readonly type: 'refuse'; readonly reason: 'in_use'; readonly requestId: string; readonly runsForMs: number }

const decideClaimed = (claim: ClaimedKey, { requestId, nowMs }: KeyRequest): KeyDecision => {
  if (claim.requestId === requestId) return { type: 'run', claim }
  if (claim.holder === requestId || nowMs >= claim.leaseUntilMs) return { type: 'take_over', claim }
  const runsForMs = Math.max(0, nowMs - claim.claimedMs)
  return { type: 'refuse', reason: 'in_use', requestId: claim.requestId, runsForMs }
}

/** What becomes of a request that names a key; `record` is what stands under the key, null where nothing does. */
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

/** How a request that was left behind stands in the log, for good: what it was charged, in USD, and for which UTC day; null where it is free. */
export type AbandonedOutcome = { readonly chargedUsd: string; readonly day: string } | { readonly chargedUsd: null }

/**
 * What becomes of a request that was left behind, and whose answer is not kept. A whole answer that is not kept was not delivered, so that
 * its charge goes back; of a stream, what came is an answer.
 */
export const decideAbandoned = (
  { work }: ClaimedKey,
  { chargedUsd }: AbandonedOutcome,
): 'forget' | 'give_back' | 'stays_charged' => {
  if (chargedUsd === null || work.type === 'task') return 'forget'
  return work.stream ? 'stays_charged' : 'give_back'
}
