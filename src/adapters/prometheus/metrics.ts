import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'
import type { GaugeName, Observer, Reading, Readings } from '../../runtime/observer.ts'
import { withTimeout } from '../../runtime/within.ts'
import { metricDefinitions } from './definitions.ts'
import { metricsLimits } from './limits.ts'
import { RequestFigures } from './model-figures.ts'

const { gauges, counters, histograms } = metricDefinitions

interface Labelled {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

const shapeOf = ({ name, help, labels }: Labelled, registry: Registry) => ({
  name,
  help,
  labelNames: [...labels],
  registers: [registry],
})

const counterOf = (name: keyof typeof counters, registry: Registry): Counter =>
  new Counter(shapeOf({ name, ...counters[name] }, registry))

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
  const histogramOf = (name: keyof typeof histograms) => figures.histogram(name, histograms[name])
  const observeRequest = histogramOf('gateway_request_duration_seconds')
  const observeStage = histogramOf('gateway_request_stage_duration_seconds')
  const observeAppend = histogramOf('gateway_journal_append_duration_seconds')
  const observeFrameEvents = histogramOf('gateway_journal_frame_events')
  const observeFrameBytes = histogramOf('gateway_journal_frame_bytes')
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
      observeFrameEvents(events)
      observeFrameBytes(bytes)
      observeAppend(seconds)
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
