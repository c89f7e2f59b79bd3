import type { Surface } from '../roles/dispatch.ts'

/** Which part of the API a request was for. A path that leads nowhere is `none`: whatever strangers ask, there are no more than these. */
export type ObservedSurface =
  | Surface
  | 'video'
  | 'native-video'
  | 'models'
  | 'dashboard'
  | 'ledger'
  | 'health'
  | 'other'
  | 'none'

/** How an answer ended; `cut` before its end, by the client or by us. */
export type ObservedStatus = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'cut'

/**
 * Where the time of a request goes: from the key to the money, from the money to the acknowledged record, to the head of the upstream's
 * answer, to its end, and from its bill to the acknowledgement of that.
 */
export type Stage = 'admit' | 'route' | 'upstream_first_byte' | 'upstream_whole' | 'closing_ack'

/** What is asked of an upstream: an answer, something about one, or a step of a video. */
export type UpstreamKind = 'answer' | 'question' | 'video'

/** Why an upstream did not serve, in few words: what it says itself can be anything. */
export type UpstreamError =
  | 'network'
  | 'timeout'
  | 'aborted'
  | 'account'
  | 'rate_limited'
  | 'refused'
  | 'status_4xx'
  | 'status_5xx'
  | 'bad_answer'
  | 'broken_off'
  | 'busy'
  | 'unknown'

export type CallbackOutcome = 'delivered' | 'gone' | 'refused' | 'failed'

/**
 * What a process tells of its work as it does it. Names are those of the configuration or of these lists, never a caller's text, and no
 * workspace's: so what is counted stays as bounded as they are.
 */
export interface Observer {
  requestEnded(surface: ObservedSurface, status: ObservedStatus, seconds: number): void
  stageEnded(stage: Stage, surface: ObservedSurface, seconds: number): void
  upstreamCalled(provider: string, kind: UpstreamKind): void
  /** A call that was told of did not bring what was asked for. */
  upstreamFailed(provider: string, kind: UpstreamKind, error: UpstreamError): void
  /** The next candidate is asked after this provider failed. */
  fellBack(provider: string): void
  /** `seconds` is from the first fact that the frame was opened for to its acknowledgement. */
  frameStored(events: number, bytes: number, seconds: number): void
  callbackTried(outcome: CallbackOutcome): void
  taskSettled(outcome: 'SUCCESS' | 'FAILURE'): void
}

const nothing = (): void => undefined

/** Nobody watches. */
export const noObserver: Observer = {
  requestEnded: nothing,
  stageEnded: nothing,
  upstreamCalled: nothing,
  upstreamFailed: nothing,
  fellBack: nothing,
  frameStored: nothing,
  callbackTried: nothing,
  taskSettled: nothing,
}

/** What is read when somebody asks, and kept by nobody in between. */
export type GaugeName =
  | 'gateway_build_info'
  | 'gateway_requests_in_flight'
  | 'gateway_streams_open'
  | 'gateway_connections_open'
  | 'gateway_log_last_sequence'
  | 'gateway_log_unacknowledged_seconds'
  | 'gateway_log_unsealed_frames'
  | 'gateway_follower_lag_frames'
  | 'gateway_follower_lag_seconds'
  | 'gateway_requests_unfinished'
  | 'gateway_workspaces'
  | 'gateway_holds_open'
  | 'gateway_holds_usd'
  | 'gateway_money_usd'
  | 'gateway_tasks_open'
  | 'gateway_queue_items'

export interface Reading {
  readonly name: GaugeName
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export type Readings = () => readonly Reading[] | Promise<readonly Reading[]>
