import type { Tracing } from './tracing.ts'

/** The part of the API that a request was for. An unknown path is `none`, so that clients cannot add label values. */
export type ObservedSurface =
  | 'chat'
  | 'messages'
  | 'responses'
  | 'gemini'
  | 'embeddings'
  | 'video'
  | 'native-video'
  | 'models'
  | 'dashboard'
  | 'ledger'
  | 'health'
  | 'other'
  | 'none'

/** `cut`: ended early, by the client or by us. */
export type ObservedStatus = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'cut'

/** Consecutive phases of a request, from the key to the acknowledgement of its bill. */
export type Stage = 'admit' | 'route' | 'upstream_first_byte' | 'upstream_whole' | 'closing_ack'

type UpstreamKind = 'answer' | 'question' | 'video'

/** A bounded list, since an upstream's own message can be anything. */
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

interface ObservedUsage {
  readonly promptTotal: number
  readonly cacheRead: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  readonly cacheWrite12h?: number
  readonly outputTotal: number
  readonly outputReasoning: number
}

interface ObservedAttempt {
  readonly model: string
  readonly provider: string
  readonly deployment?: string
  readonly outcome: 'served' | 'failed' | 'passed_over'
  readonly durationMs: number
}

/** A request whose end is in the log, as it has it. */
interface ObservedClosing {
  readonly surface: string
  readonly status: 'completed' | 'client_gone' | 'interrupted' | '4xx' | '5xx'
  readonly attempts: readonly ObservedAttempt[]
  /** This and what follows is absent where nothing was billed. */
  readonly model?: string
  readonly provider?: string
  readonly usage?: ObservedUsage
  /** USD. */
  readonly total?: string
  readonly firstTokenMs?: number
  /** From the first token to the end of the answer; null without a stream. */
  readonly generationMs: number | null
  /** Absent or null where its trace is not sampled. */
  readonly traceId?: string | null
}

/** Names are the configuration's or of these lists, never a caller's text: the number of series stays bounded. */
export interface Observer {
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing
  requestEnded(surface: ObservedSurface, status: ObservedStatus, seconds: number): void
  stageEnded(stage: Stage, surface: ObservedSurface, seconds: number): void
  upstreamCalled(provider: string, kind: UpstreamKind): void
  upstreamFailed(provider: string, kind: UpstreamKind, error: UpstreamError): void
  requestClosed(closing: ObservedClosing): void
  fellBack(provider: string): void
  retried(provider: string): void
  /** Of those of providers that have several; until the first byte of an answer, or the failure. */
  deploymentAnswered(provider: string, deployment: string, outcome: 'answered' | 'failed'): void
  deploymentEjected(provider: string, deployment: string): void
  /** `seconds` is from the first fact that the frame was opened for to its acknowledgement. */
  frameStored(events: number, bytes: number, seconds: number): void
  callbackTried(outcome: CallbackOutcome): void
  taskSettled(outcome: 'SUCCESS' | 'FAILURE'): void
}

const nothing = (): void => undefined

export const noObserver: Observer = {
  requestEnded: nothing,
  stageEnded: nothing,
  upstreamCalled: nothing,
  upstreamFailed: nothing,
  requestClosed: nothing,
  fellBack: nothing,
  retried: nothing,
  deploymentAnswered: nothing,
  deploymentEjected: nothing,
  frameStored: nothing,
  callbackTried: nothing,
  taskSettled: nothing,
}

/** Read on demand, and not stored in between. */
export type GaugeName =
  | 'gateway_read_models_behind'
  | 'gateway_build_info'
  | 'gateway_requests_in_flight'
  | 'gateway_streams_open'
  | 'gateway_connections_open'
  | 'gateway_clock_skew_seconds'
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
  | 'gateway_provider_files_rejected'
  | 'gateway_config_rejected'

export interface Reading {
  readonly name: GaugeName
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export type Readings = () => readonly Reading[] | Promise<readonly Reading[]>
