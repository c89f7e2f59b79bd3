import { sharedLimits } from '../../runtime/limits.ts'
import { admissionLimits } from './admission/limits.ts'
import { listenerLimits } from './http/limits.ts'
import { surfaceLimits } from './surfaces/limits.ts'

export type EdgeBounds = {
  readonly [Name in
    | 'requestBodyBytesMax'
    | 'headersTimeoutMs'
    | 'requestBodyTimeoutMs'
    | 'slowClientsCheckMs'
    | 'idleConnectionMs'
    | 'tlsHandshakeMs'
    | 'tlsHandshakesMax'
    | 'tlsReloadMs'
    | 'clientStallMs'
    | 'answerReadMs'
    | 'keepAliveCommentMs'
    | 'liveTailMs'
    | 'connectionsMax'
    | 'openRequestsMax'
    | 'workspaceOpenRequestsMax'
    | 'openBytesMax'
    | 'workspaceOpenBytesMax'
    | 'openPayloadBytesMax'
    | 'connectionsPerAddressMax'
    | 'headersBytesMax'
    | 'headersCountMax'
    | 'pipelinedRequestsMax'
    | 'withdrawMs'
    | 'sharedWithdrawMs'
    | 'stopMs'
    | 'lastAnswerMs'
    | 'closingAckMs'
    | 'allowanceReturnMs'
    | 'workspaceOutcomeBytesMax'
    | 'outcomeLeaseMs'
    | 'outcomeRenewMs'
    | 'refusalsMs']: number
}

export const edgeBoundsWith = (own: Partial<EdgeBounds> = {}): EdgeBounds => ({
  ...sharedLimits,
  ...listenerLimits,
  ...admissionLimits,
  ...surfaceLimits,
  ...own,
})
