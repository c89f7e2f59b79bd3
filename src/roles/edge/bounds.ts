import { limits } from '../../limits.ts'

/** The bounds of one edge's HTTP side; a test may set shorter ones. */
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
    | 'headersCountMax'
    | 'stopMs']: number
}

export const boundsWith = (own: Partial<EdgeBounds> = {}): EdgeBounds => ({ ...limits, ...own })
