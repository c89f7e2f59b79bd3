import { clientGoneError, GatewayError } from '../../../errors/gateway-error.ts'
import { AnswerUnread, DispatchLost } from '../../../roles/dispatch.ts'

/**
 * `opening`: no proxy has accepted it. `sending`: one has, but not the whole call. `answering`: it has, and records the
 * call's end. `capturing`: so it has, its client has left, and the answer is kept. `left`: only its end is of interest.
 */
export type CallPhase = 'new' | 'opening' | 'sending' | 'answering' | 'capturing' | 'left' | 'over'

export type CallEvent =
  /** `postponed`: no proxy has it, and it is sent again shortly. */
  | { readonly type: 'opened' | 'postponed' | 'rest_sent' | 'too_large' | 'connection_lost' }
  /** `isWhole`: the proxy has all of the call already. */
  | { readonly type: 'accepted'; readonly isWhole: boolean }
  | { readonly type: 'refused' | 'unreadable'; readonly cause?: unknown }
  | { readonly type: 'ended'; readonly fault: Error | null }
  | { readonly type: 'client_gone'; readonly isCaptured: boolean }
  | { readonly type: 'reader_ended' | 'shut_down' | 'abandoned' }
  /** `isComplete`: the proxy has the whole answer, and has billed it. */
  | { readonly type: 'overdue'; readonly isComplete: boolean }

interface CallStep {
  readonly phase: CallPhase
  readonly cancel: 'client' | 'shutdown' | null
  readonly fault: Error | null
}

const noProxy = (cause?: unknown): DispatchLost =>
  new DispatchLost('no_available_channel', 'No proxy takes calls right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

const proxyGone = (): DispatchLost =>
  new DispatchLost('upstream_stream_interrupted', 'The connection to the proxy that served the request was lost.')

const proxyLate = (): DispatchLost =>
  new DispatchLost('upstream_timeout', 'The proxy that served the request did not finish it in time.')

const answerUnread = (): AnswerUnread =>
  new AnswerUnread('upstream_stream_interrupted', 'The answer was not read in time.')

const gatewayStops = (): GatewayError => new GatewayError('upstream_stream_interrupted', 'The gateway stops.')

const callTooLarge = (): DispatchLost => new DispatchLost('request_too_large', 'The request is too large to be routed.')

const unreadableAnswer = (cause: unknown): GatewayError =>
  new GatewayError('internal_error', 'The proxy answered in a way that cannot be read.', { cause })

const clientGoneUnended = (): DispatchLost => {
  const { code, message, status } = clientGoneError()
  return new DispatchLost(code, message, { status })
}

const enter = (phase: CallPhase, cancel: CallStep['cancel'] = null): CallStep => ({ phase, cancel, fault: null })
const end = (fault: Error | null): CallStep => ({ phase: 'over', cancel: null, fault })
const cancel = (fault: Error | null): CallStep => ({ phase: 'over', cancel: 'client', fault })

const isClientGone = (phase: CallPhase): boolean => phase === 'capturing' || phase === 'left'
const isTaken = (phase: CallPhase): boolean => phase === 'answering' || isClientGone(phase)

const onClientGone = (phase: CallPhase, isCaptured: boolean): CallStep => {
  if (phase === 'new') return end(clientGoneUnended())
  // Whether a proxy has the call decides who records its end, and will be known shortly.
  if (phase === 'opening' || isClientGone(phase)) return enter(phase)
  return phase === 'answering' ? enter(isCaptured ? 'capturing' : 'left', 'client') : cancel(clientGoneUnended())
}

const onReaderEnded = (phase: CallPhase): CallStep => {
  if (phase === 'left') return enter(phase)
  return isTaken(phase) ? enter('left', 'client') : cancel(null)
}

const onShutDown = (phase: CallPhase): CallStep => {
  if (phase === 'new') return end(noProxy())
  if (phase === 'sending') return cancel(noProxy())
  return enter(phase, isTaken(phase) ? 'shutdown' : null)
}

/** Of a call at its edge. Only a proxy that has the whole call records its end. */
export const nextCallStep = (phase: CallPhase, event: CallEvent): CallStep => {
  if (phase === 'over') return enter(phase)
  switch (event.type) {
    case 'opened':
      return enter('opening')
    case 'postponed':
      return enter('new')
    case 'accepted':
      return enter(event.isWhole ? 'answering' : 'sending')
    case 'rest_sent':
      return enter(phase === 'sending' ? 'answering' : phase)
    case 'too_large':
      return end(callTooLarge())
    case 'refused':
      return end(noProxy(event.cause))
    case 'connection_lost':
      return end(isClientGone(phase) ? clientGoneUnended() : proxyGone())
    case 'ended':
      return end(phase === 'left' ? clientGoneError() : event.fault)
    case 'unreadable':
      return cancel(unreadableAnswer(event.cause))
    case 'client_gone':
      return onClientGone(phase, event.isCaptured)
    case 'reader_ended':
      return onReaderEnded(phase)
    case 'shut_down':
      return onShutDown(phase)
    case 'abandoned':
      return cancel(isTaken(phase) ? gatewayStops() : noProxy())
    case 'overdue':
      return cancel(event.isComplete ? answerUnread() : proxyLate())
  }
}
