import type { EventType } from '../events/envelope.ts'
import type { RoleName } from './role.ts'

/** What each role may say in the log: it can append nothing else, and is believed nothing else. */
export const manifests = {
  edge: [
    'RequestRouted',
    'RequestFailed',
    'HoldPlaced',
    'HoldReleased',
    'AdjustmentPosted',
    // What its admin API is asked for.
    'WorkspaceOpened',
    'WorkspaceChanged',
    'KeyIssued',
    'KeyExpirySet',
    'KeyRevoked',
    'LimitsSet',
    'PricePublished',
    'AliasSet',
    'RouterSet',
    'PlanPublished',
    'PlanSubscribed',
    'PlanCancelled',
    'PlanEnded',
    'WalletCredited',
  ],
  proxy: ['UsageRecorded', 'RequestFailed'],
  'video-poller': ['TaskSubmitted', 'TaskProgressed', 'TaskSettled', 'LateVerdictSeen'],
  projector: [],
  scheduler: ['HoldReleased', 'CreditExpired', 'PlanRenewed', 'PlanEnded', 'KeyRevoked', 'CheckpointSealed'],
} as const satisfies { readonly [Name in RoleName]: readonly EventType[] }
