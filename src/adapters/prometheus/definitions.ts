import type { GaugeName } from '../../runtime/observer.ts'

export interface Definition {
  readonly help: string
  readonly labels: readonly string[]
}

const inFloats = 'Summed exactly; a float only here.'

export const gauges: { readonly [Name in GaugeName]: Definition } = {
  gateway_read_models_behind: { help: 'Read models that are filled anew, since their version is behind.', labels: [] },
  gateway_build_info: { help: 'Always 1.', labels: ['version', 'node', 'role'] },
  gateway_requests_in_flight: { help: 'HTTP requests that this edge has not answered to their end.', labels: [] },
  gateway_streams_open: { help: 'Of those, answers that go out as server-sent events.', labels: [] },
  gateway_connections_open: { help: 'Client connections of this edge.', labels: [] },
  gateway_clock_skew_seconds: { help: "How far this process's clock is ahead of the log server's.", labels: [] },
  gateway_log_last_sequence: { help: 'Where the event log ended when it was last asked.', labels: [] },
  gateway_log_unacknowledged_seconds: {
    help: 'For how long the oldest frame of this process has waited for its acknowledgement.',
    labels: [],
  },
  gateway_log_unsealed_frames: { help: 'Frames that no checkpoint seals yet.', labels: [] },
  gateway_follower_lag_frames: {
    help: 'Frames of the event log that a follower does not have: the ledger in memory, or the tables.',
    labels: ['follower'],
  },
  gateway_follower_lag_seconds: { help: 'For how long there have been such frames.', labels: ['follower'] },
  gateway_requests_unfinished: { help: 'Requests in the ledger that were routed and have no end.', labels: [] },
  gateway_workspaces: { help: 'Workspaces in the ledger.', labels: [] },
  gateway_holds_open: {
    help: 'Open holds in the ledger: of videos, and the allowances of edges.',
    labels: ['purpose'],
  },
  gateway_holds_usd: { help: `What remains of them, in USD. ${inFloats}`, labels: ['purpose'] },
  gateway_money_usd: { help: `Wallets, summed over all workspaces, in USD. ${inFloats}`, labels: ['state'] },
  gateway_tasks_open: { help: 'Video tasks in the ledger that have not ended.', labels: ['status'] },
  gateway_queue_items: {
    help: 'Items in the work queues: waiting, or leased to a video-poller.',
    labels: ['queue', 'state'],
  },
  gateway_provider_files_rejected: {
    help: 'Files of credentials of providers that cannot be used now.',
    labels: [],
  },
  gateway_config_rejected: {
    help: '1 while the files of the configuration have changed and cannot be used, so that the former one is in force.',
    labels: [],
  },
}

export const counters = {
  gateway_requests_total: { help: 'HTTP requests that have ended.', labels: ['surface', 'status'] },
  gateway_upstream_calls_total: { help: 'Calls to providers and video vendors.', labels: ['provider', 'kind'] },
  gateway_upstream_errors_total: {
    help: 'Of those, calls that failed.',
    labels: ['provider', 'kind', 'error'],
  },
  gateway_fallbacks_total: {
    help: 'Requests that went on to their next candidate, by the provider that had failed.',
    labels: ['provider'],
  },
  gateway_upstream_retries_total: {
    help: 'How often a candidate was called again, after it had failed.',
    labels: ['provider'],
  },
  gateway_deployment_calls_total: {
    help: 'Calls to the deployments of providers that have several, until the first byte of an answer.',
    labels: ['provider', 'deployment', 'outcome'],
  },
  gateway_deployment_ejections_total: {
    help: 'How often a deployment was passed by for a time, after failures or a rate limit.',
    labels: ['provider', 'deployment'],
  },
  gateway_callbacks_total: { help: 'Attempts to deliver callbacks of videos.', labels: ['outcome'] },
  gateway_tasks_settled_total: { help: 'Video tasks that this process brought to their end.', labels: ['outcome'] },
} as const satisfies Readonly<Record<string, Definition>>

interface HistogramDefinition extends Definition {
  readonly buckets: readonly number[]
}

/** From a synced append to the deadline of a request. */
const requestSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const

export const histograms = {
  gateway_request_duration_seconds: {
    help: 'HTTP requests, from their head to the end of their answer.',
    labels: ['surface'],
    buckets: requestSeconds,
  },
  gateway_request_stage_duration_seconds: {
    help: 'Parts of a request: admit (key to money), route (money to acknowledged record), upstream_first_byte, upstream_whole, closing_ack (bill to its acknowledgement).',
    labels: ['surface', 'stage'],
    buckets: requestSeconds,
  },
  gateway_journal_append_duration_seconds: {
    help: 'Frames of the event log, from their first event to their acknowledgement.',
    labels: [],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  gateway_journal_frame_events: {
    help: 'Events of a frame that was stored.',
    labels: [],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  gateway_journal_frame_bytes: {
    help: 'Bytes of a frame that was stored.',
    labels: [],
    buckets: [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288],
  },
} as const satisfies Readonly<Record<string, HistogramDefinition>>
