import { sharedLimits } from '../../runtime/limits.ts'
import { edgeLimits } from './limits.ts'

/** The bounds of one edge; a test may set shorter ones. */
export type EdgeBounds = {
  readonly [Name in
    | 'requestBodyBytesMax'
    | 'headersTimeoutMs'
    | 'requestBodyTimeoutMs'
    | 'slowClientsCheckMs'
    | 'idleConnectionMs'
    | 'clientStallMs'
    | 'keepAliveCommentMs'
    | 'connectionsMax'
    | 'openRequestsMax'
    | 'workspaceOpenRequestsMax'
    | 'connectionsPerAddressMax'
    | 'headersBytesMax'
    | 'headersCountMax'
    | 'pipelinedRequestsMax'
    | 'withdrawMs'
    | 'stopMs'
    | 'lastAnswerMs'
    | 'closingAckMs'
    | 'allowanceReturnMs'
    | 'outcomeLeaseMs'
    | 'outcomeRenewMs']: number
}

export const edgeBoundsWith = (own: Partial<EdgeBounds> = {}): EdgeBounds => ({
  ...sharedLimits,
  ...edgeLimits,
  ...own,
})

export interface SliceTimes {
  /** Requests are admitted against a slice for so long after it was placed. */
  readonly renewMs: number
  /** Then its deadline: the scheduler takes back what is left of it. */
  readonly lifetimeMs: number
}

/**
 * A slice outlives every request that it covers: one that is admitted at the last moment goes on for `requestDeadlineMs`, and its bill
 * is in the log within `closingAckMs`.
 */
export const sliceTimesOf = (requestDeadlineMs: number): SliceTimes => {
  const renewMs = requestDeadlineMs
  return { renewMs, lifetimeMs: renewMs + requestDeadlineMs + sharedLimits.closingAckMs + edgeLimits.allowanceMarginMs }
}
