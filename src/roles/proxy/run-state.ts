import type { GatewayError } from '../../errors/gateway-error.ts'
import type { UsageRecorded } from '../../events/types.ts'
import type { UpstreamError } from '../../runtime/observer.ts'
import type { RunStopReason } from './failure.ts'

/** `draining`: the client has left, the stream is read to its end. `closed`: the closing event is being stored. */
export interface RunState {
  readonly phase: 'calling' | 'streaming' | 'draining' | 'closed'
  /** Asked for as a stream: a whole response is read to its end and billed exactly, whether or not its client left. */
  readonly stream: boolean
  readonly upstreamCalled: boolean
  readonly clientLeft: boolean
  readonly mayDrain: boolean
  readonly stopped: RunStopReason | null
  readonly brokenBy: string | null
  readonly released: boolean
  readonly detached: boolean
}

/** `usage`: moments away. `hidden`: a cancel would hide it, but the upstream bills it. `content`: without a reader. */
type DrainRest = 'usage' | 'hidden' | 'content'

export type RunEvent =
  | { readonly type: 'upstream_called' | 'reader_ended' | 'deadline' | 'shutdown' | 'drain_overdue' }
  | { readonly type: 'client_left'; readonly mayDrain: boolean }
  /** `isCut`: the call that was under way was cancelled by us. */
  | { readonly type: 'unserved'; readonly error: GatewayError; readonly isAborted: boolean }
  | { readonly type: 'fault'; readonly error: GatewayError }
  | { readonly type: 'whole_read' | 'stream_opened' }
  | StreamRead
  | { readonly type: 'drain_begun'; readonly rest: DrainRest }
  | { readonly type: 'drain_ended' }

interface StreamRead {
  readonly type: 'stream_read'
  readonly hasBytes: boolean
  /** The upstream has ended, well unless `fault` is set. */
  readonly ended: boolean
  readonly fault: string | null
}

export type ServedEffect =
  | { readonly type: 'discard_rest' | 'observe_whole' | 'record_undelivered' }
  | { readonly type: 'report_upstream'; readonly error: UpstreamError }
  | { readonly type: 'record_usage'; readonly outcome: UsageRecorded['outcome'] }

export type RunEffect =
  | ServedEffect
  | { readonly type: 'cancel_upstream' | 'clear_deadline' | 'drain' | 'detach' | 'record_unanswered' }
  | { readonly type: 'bound_drain'; readonly awaits: 'head' | Exclude<DrainRest, 'content'> }
  | { readonly type: 'record_failure'; readonly error: GatewayError }

interface RunTransition {
  readonly state: RunState
  readonly effects: readonly RunEffect[]
}

export interface RunHandle {
  readonly state: RunState
  apply(event: RunEvent): RunState
}

export const beginRun = (stream: boolean): RunState => ({
  phase: 'calling',
  stream,
  upstreamCalled: false,
  clientLeft: false,
  mayDrain: true,
  stopped: null,
  brokenBy: null,
  released: false,
  detached: false,
})

/** Bytes that are read from now on are not delivered. */
export const isStreamOver = ({ phase, stopped }: RunState): boolean => phase === 'closed' || stopped !== null

export const stopReasonFor = ({ stopped, clientLeft }: RunState): RunStopReason | null =>
  stopped ?? (clientLeft ? 'client_gone' : null)

const nothing: readonly RunEffect[] = []
const cancelUpstream: RunEffect = { type: 'cancel_upstream' }
const clearDeadline: RunEffect = { type: 'clear_deadline' }
const observeWhole: RunEffect = { type: 'observe_whole' }

const unchanged = (state: RunState): RunTransition => ({ state, effects: nothing })

const recordEnd = (outcome: UsageRecorded['outcome'], delivered: boolean): RunEffect =>
  delivered || outcome === 'client_gone' ? { type: 'record_usage', outcome } : { type: 'record_undelivered' }

const abortStream = (state: RunState, stopped: RunStopReason): RunTransition => {
  const record = recordEnd(stopped === 'client_gone' ? 'client_gone' : 'interrupted', state.released)
  return {
    state: { ...state, phase: 'closed', stopped, brokenBy: stopped },
    effects: stopped === 'deadline' ? [{ type: 'report_upstream', error: 'timeout' }, record] : [record],
  }
}

const cancelFirst = ({ state, effects }: RunTransition): RunTransition => ({
  state,
  effects: [cancelUpstream, ...effects],
})

const startDrain = (state: RunState): RunTransition => ({
  state: { ...state, phase: 'draining', stopped: 'client_gone' },
  effects: [{ type: 'drain' }],
})

const stopCalling = (state: RunState, stopped: RunStopReason): RunTransition => ({
  state: { ...state, stopped },
  effects: [cancelUpstream],
})

const isDrainingHead = ({ stream, clientLeft, upstreamCalled }: RunState): boolean =>
  stream && clientLeft && upstreamCalled

/** What stops a run after its client has left also ends the draining. */
const stop = (state: RunState, reason: RunStopReason): RunTransition => {
  if (state.phase === 'closed' || (state.stopped !== null && reason === 'client_gone')) return unchanged(state)
  const stopped = state.stopped ?? (isDrainingHead(state) ? 'client_gone' : reason)
  if (state.phase === 'calling') return stopCalling(state, stopped)
  if (state.phase === 'streaming' && reason === 'client_gone') return startDrain(state)
  return cancelFirst(abortStream(state, stopped))
}

const onClientLeft = (state: RunState): RunTransition => {
  if (!state.stream) return unchanged(state)
  const awaitsHead = state.phase === 'calling' && state.stopped === null && state.upstreamCalled && state.mayDrain
  return awaitsHead ? { state, effects: [{ type: 'bound_drain', awaits: 'head' }] } : stop(state, 'client_gone')
}

const onDrainOverdue = (state: RunState): RunTransition => {
  if (state.phase === 'draining') return cancelFirst(abortStream(state, 'client_gone'))
  return state.phase === 'calling' && state.stopped === null && state.clientLeft
    ? stopCalling(state, 'client_gone')
    : unchanged(state)
}

const detach = ({ state, effects }: RunTransition): RunTransition =>
  state.detached
    ? { state, effects }
    : { state: { ...state, detached: true }, effects: [...effects, { type: 'detach' }] }

/** The reader may never come back for the rest: what the log is owed is tracked by itself. */
const detachIfClosed = (transition: RunTransition): RunTransition =>
  transition.state.phase === 'closed' ? detach(transition) : transition

const onReaderEnded = (state: RunState): RunTransition => {
  const stopped = stop(state, 'client_gone')
  return stopped.state.phase === 'draining' ? stopped : detach(stopped)
}

/** Recorded as soon as the upstream has ended, so that it is under way while the last bytes are delivered. */
const onStreamRead = (state: RunState, { hasBytes, ended, fault }: StreamRead): RunTransition => {
  if (state.phase !== 'streaming' && state.phase !== 'draining') return unchanged(state)
  const isDraining = state.phase === 'draining'
  const released = state.released || (hasBytes && !isDraining)
  if (fault === null && !ended)
    return released === state.released ? unchanged(state) : unchanged({ ...state, released })
  const closed: RunState = { ...state, phase: 'closed', released, brokenBy: fault }
  if (fault === null) {
    const record: RunEffect = isDraining
      ? recordEnd('client_gone', released)
      : { type: 'record_usage', outcome: 'completed' }
    return { state: closed, effects: [clearDeadline, { type: 'discard_rest' }, observeWhole, record] }
  }
  const report: RunEffect = { type: 'report_upstream', error: fault === 'timeout' ? 'timeout' : 'broken_off' }
  const record = recordEnd(isDraining ? 'client_gone' : 'interrupted', released)
  return { state: closed, effects: [clearDeadline, cancelUpstream, report, record] }
}

const onDrainBegun = (state: RunState, rest: DrainRest): RunTransition => {
  if (state.phase !== 'draining') return unchanged(state)
  if (rest === 'content' || !state.mayDrain) return cancelFirst(abortStream(state, 'client_gone'))
  return { state, effects: [{ type: 'bound_drain', awaits: rest }] }
}

const onStreamOpened = (state: RunState): RunTransition => {
  if (state.phase !== 'calling') return unchanged(state)
  if (state.stopped !== null) return abortStream(state, state.stopped)
  return state.clientLeft ? startDrain(state) : unchanged({ ...state, phase: 'streaming' })
}

const onWholeRead = (state: RunState): RunTransition => {
  if (state.phase !== 'calling') return unchanged(state)
  const outcome = state.clientLeft ? 'client_gone' : 'completed'
  return {
    state: { ...state, phase: 'closed' },
    effects: [clearDeadline, observeWhole, { type: 'record_usage', outcome }],
  }
}

/** An upstream that is cancelled bills what it was sent; one that fails does not. */
const onUnserved = (state: RunState, error: GatewayError, isAborted: boolean): RunTransition => {
  if (state.phase !== 'calling') return unchanged(state)
  const isOwed = isAborted && state.stream && state.stopped === 'client_gone'
  const record: RunEffect = isOwed ? { type: 'record_unanswered' } : { type: 'record_failure', error }
  return { state: { ...state, phase: 'closed' }, effects: [clearDeadline, record] }
}

/** A fault of ours ends the request in the log, for free; its upstream would generate for nothing. */
const onFault = (state: RunState, error: GatewayError): RunTransition =>
  state.phase === 'calling' || state.phase === 'streaming'
    ? cancelFirst({ state: { ...state, phase: 'closed' }, effects: [{ type: 'record_failure', error }] })
    : unchanged(state)

/** What a request's run does next. Exactly one transition of a run has an effect that records its end. */
export const nextRunState = (state: RunState, event: RunEvent): RunTransition => {
  switch (event.type) {
    case 'upstream_called':
      return unchanged({ ...state, upstreamCalled: true })
    case 'client_left':
      return detachIfClosed(onClientLeft({ ...state, clientLeft: true, mayDrain: event.mayDrain }))
    case 'reader_ended':
      return onReaderEnded(state)
    case 'deadline':
      return stop(state, 'deadline')
    case 'shutdown':
      return detachIfClosed(stop(state, 'shutdown'))
    case 'drain_overdue':
      return onDrainOverdue(state)
    case 'unserved':
      return onUnserved(state, event.error, event.isAborted)
    case 'fault':
      return onFault(state, event.error)
    case 'whole_read':
      return onWholeRead(state)
    case 'stream_opened':
      return onStreamOpened(state)
    case 'stream_read':
      return onStreamRead(state, event)
    case 'drain_begun':
      return onDrainBegun(state, event.rest)
    case 'drain_ended':
      return detach(unchanged(state))
  }
}
