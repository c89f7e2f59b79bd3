import type { RoleName } from '../../roles/role.ts'
import type { GaugeName } from '../../runtime/observer.ts'

interface Definition {
  readonly help: string
  readonly labels: readonly string[]
  /** Whose figures they are; every process exports the names. */
  readonly roles: readonly RoleName[] | 'all'
}

interface HistogramDefinition extends Definition {
  readonly buckets: readonly number[]
}

const inFloats = 'Summed exactly; a float only here.'
const withLedger = ['edge', 'video-poller', 'scheduler'] as const
const callers = ['proxy', 'video-poller'] as const
const writers = ['edge', 'proxy', 'video-poller', 'scheduler'] as const

const gauges: { readonly [Name in GaugeName]: Definition } = {
  gateway_requests_in_flight: {
    help: 'HTTP requests that this edge has not answered to their end.',
    labels: [],
    roles: ['edge'],
  },
  gateway_streams_open: {
    help: 'Of those, answers that go out as server-sent events.',
    labels: [],
    roles: ['edge'],
  },
  gateway_connections_open: { help: 'Client connections of this edge.', labels: [], roles: ['edge'] },
  gateway_log_last_sequence: {
    help: 'Where the event log ended when it was last asked.',
    labels: [],
    roles: 'all',
  },
  gateway_log_unacknowledged_seconds: {
    help: 'For how long the oldest frame of this process has waited for its acknowledgement.',
    labels: [],
    roles: 'all',
  },
  gateway_log_unsealed_frames: {
    help: 'Frames that no checkpoint seals yet.',
    labels: [],
    roles: withLedger,
  },
  gateway_clock_skew_seconds: {
    help: "How far this process's clock is ahead of the log server's; beyond 5 s it is not ready.",
    labels: [],
    roles: 'all',
  },
  gateway_follower_lag_frames: {
    help: 'Frames of the event log that a follower does not have: the `ledger` in memory, or the `tables`.',
    labels: ['follower'],
    roles: [...withLedger, 'projector'],
  },
  gateway_follower_lag_seconds: {
    help: 'For how long there have been such frames.',
    labels: ['follower'],
    roles: [...withLedger, 'projector'],
  },
  gateway_read_models_behind: {
    help: 'Read models that are filled anew from the log, since their version is behind.',
    labels: [],
    roles: ['projector'],
  },
  gateway_requests_unfinished: {
    help: 'Requests in the ledger that were routed and have no end.',
    labels: [],
    roles: withLedger,
  },
  gateway_workspaces: { help: 'Workspaces in the ledger.', labels: [], roles: withLedger },
  gateway_money_usd: {
    help: `Wallets, summed over all workspaces: \`balance\`, \`held\`, \`available\`, \`credits\`, \`charges\`, \`fees\`, \`adjustments\`, \`lapsed\`, \`credit_limit\`. ${inFloats}`,
    labels: ['state'],
    roles: withLedger,
  },
  gateway_holds_open: {
    help: 'Open holds in the ledger: of videos (`task`), and of edges (`allowance`).',
    labels: ['purpose'],
    roles: withLedger,
  },
  gateway_holds_usd: { help: `What remains of them. ${inFloats}`, labels: ['purpose'], roles: withLedger },
  gateway_tasks_open: {
    help: 'Video tasks in the ledger that have not ended.',
    labels: ['status'],
    roles: withLedger,
  },
  gateway_queue_items: {
    help: 'Items in the work queues: `waiting`, or `in_hand` of a video-poller.',
    labels: ['queue', 'state'],
    roles: ['video-poller'],
  },
  gateway_config_rejected: {
    help: '1 while the files of the configuration have changed and cannot be used, so that the former one is in force.',
    labels: [],
    roles: 'all',
  },
  gateway_provider_files_rejected: {
    help: 'Files of credentials of providers that cannot be used now, so that those before are.',
    labels: [],
    roles: 'all',
  },
  gateway_build_info: { help: 'Always 1.', labels: ['version', 'node', 'role'], roles: 'all' },
}

const counters = {
  gateway_requests_total: {
    help: 'HTTP requests that ended: `2xx`, `4xx`, …, or `cut` before their end.',
    labels: ['surface', 'status'],
    roles: ['edge'],
  },
  gateway_upstream_calls_total: {
    help: 'Calls to providers and video vendors: for an `answer`, a `question` beside one, a `video`.',
    labels: ['provider', 'kind'],
    roles: callers,
  },
  gateway_upstream_errors_total: {
    help: 'Of those, calls without the requested result.',
    labels: ['provider', 'kind', 'error'],
    roles: callers,
  },
  gateway_fallbacks_total: {
    help: 'Requests that continued with their next candidate, by the provider that had failed.',
    labels: ['provider'],
    roles: ['proxy'],
  },
  gateway_upstream_retries_total: {
    help: 'How often a candidate was called again after it had failed, within its `retries`.',
    labels: ['provider'],
    roles: ['proxy'],
  },
  gateway_deployment_calls_total: {
    help: 'Calls to the deployments of providers that have several, `answered` or `failed` before the first byte.',
    labels: ['provider', 'deployment', 'outcome'],
    roles: ['proxy'],
  },
  gateway_deployment_ejections_total: {
    help: 'How often a deployment was passed by for a time, after failures or a rate limit.',
    labels: ['provider', 'deployment'],
    roles: ['proxy'],
  },
  gateway_callbacks_total: {
    help: 'Attempts to deliver callbacks of videos.',
    labels: ['outcome'],
    roles: ['video-poller'],
  },
  gateway_tasks_settled_total: {
    help: 'Video tasks that this process brought to their end.',
    labels: ['outcome'],
    roles: ['video-poller'],
  },
} as const satisfies Readonly<Record<string, Definition>>

/** From a synced append to the deadline of a request. */
const requestSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const

const histograms = {
  gateway_request_duration_seconds: {
    help: 'HTTP requests, from their head to the end of their answer.',
    labels: ['surface'],
    roles: ['edge'],
    buckets: requestSeconds,
  },
  gateway_request_stage_duration_seconds: {
    help: 'Parts of a request: `admit` (key to money), `route` (money to acknowledged record), `upstream_first_byte`, `upstream_whole`, `closing_ack` (bill to its acknowledgement).',
    labels: ['surface', 'stage'],
    roles: ['edge', 'proxy'],
    buckets: requestSeconds,
  },
  gateway_journal_append_duration_seconds: {
    help: 'Frames of the event log, from their first event to their acknowledgement.',
    labels: [],
    roles: writers,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  gateway_journal_frame_events: {
    help: 'Events of a frame that was stored.',
    labels: [],
    roles: writers,
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  gateway_journal_frame_bytes: {
    help: 'Bytes of a frame that was stored.',
    labels: [],
    roles: writers,
    buckets: [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288],
  },
} as const satisfies Readonly<Record<string, HistogramDefinition>>

/** OpenTelemetry's conventions for generative AI; of whole answers, up to the deadline of a request. */
const firstTokenSeconds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const
const tokenSeconds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5] as const
const answerSeconds = [
  ...[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  ...[163.84, 327.68, 655.36],
] as const
const tokenCounts = Array.from({ length: 14 }, (_, power) => 4 ** power)

const modelLabels = ['surface', 'model', 'provider', 'deployment'] as const

/** These have the labels of a model, and at most one more. */
const modelCounters = {
  gateway_model_requests_total: {
    help: 'Requests whose end a proxy recorded: `completed`, `client_gone`, `interrupted`, or refused with `4xx` or `5xx`; these under the candidate that was called last.',
    label: 'status',
  },
  gateway_tokens_total: {
    help: 'Tokens of bills; the kinds add up: `input`, `cache_read`, `cache_write`, `output`, `reasoning`.',
    label: 'kind',
  },
  gateway_cost_usd_total: { help: `Charges of requests. ${inFloats}`, label: null },
} as const

const modelHistograms = {
  gateway_time_to_first_token_seconds: {
    help: "Streams, from the dispatch to the first token of the answer or of its reasoning; each request's own is `firstTokenMs` of its `UsageRecorded`.",
    label: null,
    buckets: firstTokenSeconds,
  },
  gateway_time_per_output_token_seconds: {
    help: 'Streams, from the first token to the end, by the output tokens after the first.',
    label: null,
    buckets: tokenSeconds,
  },
  gateway_upstream_duration_seconds: {
    help: 'Attempts, `served` or `failed`, from the call to the end of the answer or its failure.',
    label: 'status',
    buckets: answerSeconds,
  },
  gateway_request_tokens: {
    help: 'Tokens of each bill: `input` with what was cached, `output` with reasoning.',
    label: 'kind',
    buckets: tokenCounts,
  },
} as const

/** What a process exports, beside prom-client's own figures of the process. */
export const metricDefinitions = { gauges, counters, histograms, modelLabels, modelCounters, modelHistograms } as const
