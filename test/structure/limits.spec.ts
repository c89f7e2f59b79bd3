import t from 'tap'
import { sandboxLimits } from '../../sandbox/answers/limits.ts'
import { httpClientLimits } from '../../src/adapters/http/limits.ts'
import { natsLimits } from '../../src/adapters/nats/limits.ts'
import { postgresLimits } from '../../src/adapters/postgres/limits.ts'
import { providerLimits } from '../../src/providers/dialect/limits.ts'
import { vendorLimits } from '../../src/providers/vv-video/limits.ts'
import { readLimits } from '../../src/read-api/limits.ts'
import { admissionLimits } from '../../src/roles/edge/admission/limits.ts'
import { listenerLimits } from '../../src/roles/edge/http/limits.ts'
import { surfaceLimits } from '../../src/roles/edge/surfaces/limits.ts'
import { projectorLimits } from '../../src/roles/projector/limits.ts'
import { proxyLimits } from '../../src/roles/proxy/limits.ts'
import { schedulerLimits } from '../../src/roles/scheduler/limits.ts'
import { pollerLimits } from '../../src/roles/video-poller/limits.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'

/** Bounds that depend on each other: the first must be below the second. */
const limits = {
  ...admissionLimits,
  ...httpClientLimits,
  ...listenerLimits,
  ...natsLimits,
  ...pollerLimits,
  ...postgresLimits,
  ...projectorLimits,
  ...providerLimits,
  ...proxyLimits,
  ...readLimits,
  ...sandboxLimits,
  ...schedulerLimits,
  ...sharedLimits,
  ...surfaceLimits,
  ...vendorLimits,
} as const

const ordered: readonly (readonly [keyof typeof limits, keyof typeof limits])[] = [
  ['unfundedBodyBytesMax', 'requestBodyBytesMax'],
  ['upstreamFirstByteMs', 'upstreamWholeAnswerMs'],
  ['upstreamWholeAnswerMs', 'requestDeadlineMs'],
  ['upstreamIdleMs', 'requestDeadlineMs'],
  ['closingUsageMs', 'stopMs'],
  ['clientStallMs', 'answerReadMs'],
  ['frameAckMs', 'closingAckMs'],
  ['workspaceOpenRequestsMax', 'openRequestsMax'],
  ['openRequestsMax', 'connectionsMax'],
  ['openRequestsMax', 'upstreamConnectionsMax'],
  ['tailsOfOneMax', 'tailsMax'],
  ['projectionRestMs', 'projectionStandbyMs'],
  ['probeMs', 'probeSilentMs'],
  ['sealEveryMs', 'verifyUnsealedMs'],
  ['sealStandbyMs', 'verifyUnsealedMs'],
  ['allowanceDrainMs', 'admissionWaitMs'],
  ['slotRenewMs', 'slotLeaseMs'],
  ['slotLeaseMs', 'rateRecordMs'],
  ['slotPauseMs', 'slotWaitMs'],
  ['followHeartbeatMs', 'followStallMs'],
  ['followStallMs', 'logStalledMs'],
  ['routedAckMs', 'queueDuplicateWindowMs'],
  ['outcomeWriteMs', 'outcomeRenewMs'],
  ['outcomeRenewMs', 'outcomeLeaseMs'],
  ['closingAckMs', 'outcomeDuplicateWindowMs'],
  ['outcomeHeadBytesMax', 'outcomeBytesMax'],
  ['queueHeartbeatMs', 'queueStallMs'],
  ['queueRenewMs', 'queueLeaseMs'],
  ['callsPieceBytesMax', 'callsMessageBytesMax'],
  ['callsMessageBytesMax', 'callsWindowBytes'],
  ['callsWindowBytes', 'callsAckBytes'],
  ['callsAckBytes', 'callsFlightBytesMax'],
  ['callsTickMs', 'callsRequestMs'],
  ['callsRequestMs', 'callsPingMs'],
  ['callsPingMs', 'callsAbsentMs'],
  ['callsAbsentMs', 'callsAcceptMs'],
  ['callsAcceptMs', 'callsSilentMs'],
  ['taskPollMs', 'taskPollMaxMs'],
  ['taskRetryMs', 'taskRetryMaxMs'],
  ['taskLeaseTickMs', 'queueRenewMs'],
  ['videoSubmitMs', 'taskDoubtMs'],
  ['latePollMs', 'latePollMaxMs'],
  ['callbackMs', 'queueLeaseMs'],
  ['callbacksMax', 'callbacksHeldMax'],
  ['callbacksHeldMax', 'queueCallbacksMax'],
  ['databaseReadsMax', 'databaseConnectionsMax'],
  ['callbackLookupMs', 'callbackMs'],
  ['requestBodyBytesMax', 'sandboxBodyBytesMax'],
  ['upstreamBodyBytesMax', 'sandboxAnswerBytesMax'],
  ['videoResultsMax', 'sandboxVideoFilesMax'],
  ['upstreamKeepAliveMs', 'sandboxKeepAliveMs'],
]

t.test('bounds that depend on each other are in order', async (t) => {
  for (const [lower, upper] of ordered) t.ok(limits[lower] < limits[upper], `${lower} is below ${upper}`)
})
