import type { EventOf } from '../../events/envelope.ts'
import type { Attempt } from '../../events/types.ts'

export type RoutedEvent = EventOf<'RequestRouted'>
export type ClosingEvent = EventOf<'UsageRecorded'> | EventOf<'RequestFailed'>

export interface OpenRequest {
  readonly routed: RoutedEvent | null
  readonly closing: ClosingEvent | null
  readonly sequence: number
}

export interface ClosedRequest {
  readonly routed: RoutedEvent
  readonly closing: ClosingEvent
  readonly firstSequence: number
}

export type OpenRequestMap = Map<string, OpenRequest>

/** The provider's own id of the call that served; empty where none served, or the provider sent none. */
export const servedUpstreamId = (attempts: readonly Attempt[]): string =>
  attempts.findLast(({ outcome }) => outcome === 'served')?.upstreamRequestId ?? ''

/** Writers store both sides in any order. A second closing event waits for ever: not honoured, it stays listed. */
export const pairRequest = (
  open: OpenRequestMap,
  event: RoutedEvent | ClosingEvent,
  sequence: number,
): ClosedRequest | null => {
  const { requestId } = event.data
  const waiting = open.get(requestId)
  const routed = event.type === 'RequestRouted' ? event : (waiting?.routed ?? null)
  const closing = event.type === 'RequestRouted' ? (waiting?.closing ?? null) : (waiting?.closing ?? event)
  if (waiting !== undefined && routed !== null && closing !== null) {
    open.delete(requestId)
    return { routed, closing, firstSequence: waiting.sequence }
  }
  if (waiting === undefined) open.set(requestId, { routed, closing, sequence })
  return null
}
