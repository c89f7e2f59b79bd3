import type { EventType } from '../events/envelope.ts'
import type { RoleName } from './role.ts'

/** The events that each role may append: an append of others does not compile, and a frame with others is rejected. */
export const manifests = {
  edge: [
    'RequestRouted',
    'RequestFailed',
    'HoldPlaced',
    'HoldReleased',
    'AdjustmentPosted',
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
  scheduler: [
    'HoldReleased',
    'CreditExpired',
    'PlanRenewed',
    'PlanEnded',
    'KeyRevoked',
    'CheckpointSealed',
    'CheckpointCosigned',
  ],
} as const satisfies { readonly [Name in RoleName]: readonly EventType[] }
