import type { EventType } from '../events/envelope.ts'
import type { RoleName } from './role.ts'

/** What each role may say in the log: it can append nothing else, and is believed nothing else. */
export const manifests = {
  edge: ['RequestRouted', 'RequestFailed', 'HoldPlaced', 'HoldReleased', 'AdjustmentPosted'],
  proxy: ['UsageRecorded', 'RequestFailed'],
  'video-poller': ['TaskSubmitted', 'TaskProgressed', 'TaskSettled', 'LateVerdictSeen'],
  projector: [],
  scheduler: ['HoldReleased', 'CreditExpired', 'PlanRenewed', 'PlanEnded', 'CheckpointSealed'],
} as const satisfies { readonly [Name in RoleName]: readonly EventType[] }
