import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'
import type { GaugeName, Observer, Reading, Readings } from '../../runtime/observer.ts'
import { withTimeout } from '../../runtime/within.ts'
import { metricsLimits } from './limits.ts'
import { RequestFigures } from './model-figures.ts'

interface Definition {
  readonly help: string
  readonly labels: readonly string[]
}

const inFloats = 'Summed exactly; a float only here.'

const gauges: { readonly [Name in GaugeName]: Definition } = {
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

const counters = {
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

const histograms = {
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

type Labelled = Definition & { readonly name: string }

const shapeOf = ({ name, help, labels }: Labelled, registry: Registry) => ({
  name,
  help,
  labelNames: [...labels],
  registers: [registry],
})

const counterOf = (name: keyof typeof counters, registry: Registry): Counter =>
  new Counter(shapeOf({ name, ...counters[name] }, registry))

const histogramOf = (name: keyof typeof histograms, registry: Registry): Histogram => {
  const { buckets, ...definition } = histograms[name]
  return new Histogram({ ...shapeOf({ name, ...definition }, registry), buckets: [...buckets] })
}

const observerOn = (registry: Registry): Observer => {
  const figures = new RequestFigures(registry)
  const countRequest = figures.counter('gateway_requests_total', counters.gateway_requests_total)
  const countCall = figures.counter('gateway_upstream_calls_total', counters.gateway_upstream_calls_total)
  const errors = counterOf('gateway_upstream_errors_total', registry)
  const fallbacks = counterOf('gateway_fallbacks_total', registry)
  const retries = counterOf('gateway_upstream_retries_total', registry)
  const deployments = counterOf('gateway_deployment_calls_total', registry)
  const ejections = counterOf('gateway_deployment_ejections_total', registry)
  const callbacks = counterOf('gateway_callbacks_total', registry)
  const settled = counterOf('gateway_tasks_settled_total', registry)
  const observeRequest = figures.histogram(
    'gateway_request_duration_seconds',
    histograms.gateway_request_duration_seconds,
  )
  const observeStage = figures.histogram(
    'gateway_request_stage_duration_seconds',
    histograms.gateway_request_stage_duration_seconds,
  )
  const appends = histogramOf('gateway_journal_append_duration_seconds', registry)
  const frameEvents = histogramOf('gateway_journal_frame_events', registry)
  const frameBytes = histogramOf('gateway_journal_frame_bytes', registry)
  return {
    requestEnded: (surface, status, seconds) => {
      countRequest(surface, status)
      observeRequest(seconds, surface)
    },
    stageEnded: (stage, surface, seconds) => observeStage(seconds, surface, stage),
    upstreamCalled: (provider, kind) => countCall(provider, kind),
    upstreamFailed: (provider, kind, error) => errors.inc({ provider, kind, error }),
    requestClosed: figures.record,
    fellBack: (provider) => fallbacks.inc({ provider }),
    retried: (provider) => retries.inc({ provider }),
    deploymentAnswered: (provider, deployment, outcome) => deployments.inc({ provider, deployment, outcome }),
    deploymentEjected: (provider, deployment) => ejections.inc({ provider, deployment }),
    frameStored: (events, bytes, seconds) => {
      frameEvents.observe(events)
      frameBytes.observe(bytes)
      appends.observe(seconds)
    },
    callbackTried: (outcome) => callbacks.inc({ outcome }),
    taskSettled: (outcome) => settled.inc({ outcome }),
  }
}

/** All figures of a process, as they travel to the one that shows those of several. */
export type PrometheusFigures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

interface Page {
  readonly type: string
  readonly body: string
}

/** The page of several processes: each figure has the label `process`. */
export const renderFigures = async (figuresByProcess: ReadonlyMap<string, PrometheusFigures>): Promise<Page> => {
  const labelled = Array.from(figuresByProcess, ([process, figures]) =>
    figures.map((figure) => ({
      ...figure,
      aggregator: 'first', // By their labels no two are the same.
      values: figure.values.map((value) => ({ ...value, labels: { process, ...value.labels } })),
    })),
  )
  return { type: Registry.PROMETHEUS_CONTENT_TYPE, body: await AggregatorRegistry.aggregate(labelled).metrics() }
}

/** prom-client appends `_total` to counters in this format. */
const renderOpenMetrics = (figures: PrometheusFigures): Promise<string> => {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const figure of figures) {
    const isCounter = String(figure.type) === 'counter'
    const name = isCounter ? figure.name.replace(/_total$/, '') : figure.name
    const values = isCounter ? figure.values.map(({ value, labels }) => ({ value, labels })) : figure.values
    const get = async () => ({ ...figure, name, values })
    registry.registerMetric({ ...figure, name, get } as unknown as Metric)
  }
  return registry.metrics()
}

const openMetricsType = /application\/openmetrics-text/

export class PrometheusMetrics {
  readonly observer: Observer
  readonly #registry = new Registry()
  readonly #gauges = new Map<GaugeName, Gauge>()
  readonly #sources: Readings[] = []
  /** Concurrent scrapes share one rendering, since each rendering sets the gauges. */
  #rendering: Promise<string> | null = null

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    this.observer = observerOn(this.#registry)
    for (const name of Object.keys(gauges) as GaugeName[])
      this.#gauges.set(name, new Gauge(shapeOf({ name, ...gauges[name] }, this.#registry)))
  }

  /** OpenMetrics, which has exemplars, for scrapers that accept it. */
  async renderFor(accept = ''): Promise<Page> {
    if (!openMetricsType.test(accept)) return { type: this.#registry.contentType, body: await this.render() }
    return { type: Registry.OPENMETRICS_CONTENT_TYPE, body: await renderOpenMetrics(await this.figures()) }
  }

  /** Read at each scrape. Figures that do not come in time are left out. */
  add(readings: Readings): void {
    this.#sources.push(readings)
  }

  render(): Promise<string> {
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = null
    })
    return this.#rendering
  }

  async figures(): Promise<PrometheusFigures> {
    await this.#readSources()
    return this.#registry.getMetricsAsJSON()
  }

  async #render(): Promise<string> {
    await this.#readSources()
    return this.#registry.metrics()
  }

  async #readSources(): Promise<void> {
    const read = await Promise.all(this.#sources.map(readInTime))
    for (const [name, gauge] of this.#gauges) clear(name, gauge)
    for (const { name, labels = {}, value } of read.flat()) this.#gauges.get(name)?.set({ ...labels }, value)
  }
}

/** A reset alone sets a gauge without labels to 0, which would be a figure. */
const clear = (name: GaugeName, gauge: Gauge): void => {
  gauge.reset()
  if (gauges[name].labels.length === 0) gauge.remove()
}

/** A gauge without a value means that its source is unavailable; the readiness checks give the reason. */
const readInTime = async (readings: Readings): Promise<readonly Reading[]> => {
  try {
    return await withTimeout(Promise.resolve(readings()), metricsLimits.scrapeMs, () => new Error('no answer'))
  } catch {
    return []
  }
}
