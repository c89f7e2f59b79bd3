import { sharedLimits } from '../../runtime/limits.ts'
import { edgeLimits } from './limits.ts'

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
  /** How long after its placement requests are admitted against a slice. */
  readonly renewMs: number
  /** The slice's deadline: the scheduler then releases what is left of it. */
  readonly lifetimeMs: number
}

/**
 * A slice outlives its requests: the last one runs for `requestDeadlineMs`, and its bill is logged within
 * `closingAckMs`.
 */
export const sliceTimesOf = (requestDeadlineMs: number): SliceTimes => {
  const renewMs = requestDeadlineMs
  return { renewMs, lifetimeMs: renewMs + requestDeadlineMs + sharedLimits.closingAckMs + edgeLimits.allowanceMarginMs }
}
