import { sharedLimits } from '../../runtime/limits.ts'
import { pollerLimits } from './limits.ts'

export type PollerBounds = {
  readonly [Name in
    | 'openTasksMax'
    | 'queueLeaseMs'
    | 'queueRenewMs'
    | 'taskLeaseTickMs'
    | 'taskHoldWaitMs'
    | 'taskDoubtMs'
    | 'taskPollMs'
    | 'taskPollMaxMs'
    | 'taskMissingMs'
    | 'taskRetryMs'
    | 'taskRetryMaxMs'
    | 'taskRetryAfterMaxMs'
    | 'lateVerdictWindowMs'
    | 'latePollMs'
    | 'latePollMaxMs'
    | 'vendorCallsMax'
    | 'vendorSubmitsMax'
    | 'callbackMs'
    | 'callbackTriesMax'
    | 'callbackRetryMs'
    | 'callbacksMax'
    | 'callbacksHeldMax'
    | 'stopMs'
    | 'lastAnswerMs']: number
}

export const pollerBoundsWith = (own: Partial<PollerBounds> = {}): PollerBounds => ({
  ...sharedLimits,
  ...pollerLimits,
  ...own,
})
