import type { Metric, Registry } from 'prom-client'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { Observer } from '../../runtime/observer.ts'
import { metricDefinitions } from './definitions.ts'
import { metricsLimits } from './limits.ts'

const { modelLabels, modelCounters, modelHistograms } = metricDefinitions

type ObservedClosing = Parameters<Observer['requestClosed']>[0]
type Labels = Readonly<Record<(typeof modelLabels)[number], string>>

interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

interface Value {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly exemplar?: Exemplar
}

class Buckets {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  /** The last one of each bucket; that beyond all bounds last. */
  readonly #exemplars: Exemplar[] = []
  #count = 0
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number, traceId: string | null | undefined): void {
    const place = this.#placeOf(value)
    if (place < this.#bounds.length) this.#counts[place]! += 1
    this.#count += 1
    this.#sum += value
    if (!traceId) return
    const timestamp = Date.now() / 1_000
    this.#exemplars[place] = { labelSet: { trace_id: traceId }, value, timestamp }
  }

  #placeOf(value: number): number {
    let place = 0
    while (place < this.#bounds.length && !(value <= this.#bounds[place]!)) place += 1
    return place
  }

  values(name: string, labels: Value['labels']): readonly Value[] {
    let below = 0
    const bucket = (le: number | string, value: number, place: number): Value => {
      const exemplar = this.#exemplars[place]
      const counted = { metricName: `${name}_bucket`, labels: { ...labels, le }, value }
      return exemplar === undefined ? counted : { ...counted, exemplar }
    }
    const cumulative = this.#bounds.map((le, place): Value => {
      below += this.#counts[place]!
      return bucket(le, below, place)
    })
    return [
      ...cumulative,
      bucket('+Inf', this.#count, this.#bounds.length),
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ]
  }
}

type CounterName = keyof typeof modelCounters
type HistogramName = keyof typeof modelHistograms

/** All figures of one combination of labels. */
class ModelFigures {
  readonly #labels: Labels
  readonly #counts = {
    gateway_model_requests_total: new Map<string, number>(),
    gateway_tokens_total: new Map<string, number>(),
  }
  readonly #buckets = new Map<HistogramName, Map<string, Buckets>>()
  #costPicos: bigint | null = null

  constructor(labels: Labels) {
    this.#labels = labels
  }

  is(surface: string, model: string, provider: string, deployment: string): boolean {
    const own = this.#labels
    return own.model === model && own.surface === surface && own.provider === provider && own.deployment === deployment
  }

  count(name: Exclude<CounterName, 'gateway_cost_usd_total'>, label: string, added: number): void {
    const counts = this.#counts[name]
    if (added > 0) counts.set(label, (counts.get(label) ?? 0) + added)
  }

  addCost(picos: bigint): void {
    this.#costPicos = (this.#costPicos ?? 0n) + (picos > 0n ? picos : 0n)
  }

  observe(name: HistogramName, label: string, value: number, traceId?: string | null): void {
    const byLabel = this.#buckets.get(name) ?? new Map<string, Buckets>()
    this.#buckets.set(name, byLabel)
    const buckets = byLabel.get(label) ?? new Buckets(modelHistograms[name].buckets)
    byLabel.set(label, buckets)
    buckets.observe(value, traceId)
  }

  countValues(metricName: CounterName): readonly Value[] {
    if (metricName === 'gateway_cost_usd_total')
      return this.#costPicos === null
        ? []
        : [{ metricName, labels: this.#labels, value: Number(formatUsd(this.#costPicos)) }]
    const { label } = modelCounters[metricName]
    return Array.from(this.#counts[metricName], ([of, value]) => ({
      metricName,
      labels: { ...this.#labels, [label]: of },
      value,
    }))
  }

  histogramValues(name: HistogramName): readonly Value[] {
    const { label } = modelHistograms[name]
    return Array.from(this.#buckets.get(name) ?? [], ([of, buckets]) =>
      buckets.values(name, label === null ? this.#labels : { ...this.#labels, [label]: of }),
    ).flat()
  }
}

interface Definition {
  readonly help: string
  readonly labels: readonly string[]
}

interface Series<Kept> {
  readonly labels: Value['labels']
  readonly kept: Kept
}

/** Made once for each combination of the values of at most two labels: two look-ups cost less than a text of both. */
class SeriesByLabels<Kept> {
  readonly #names: readonly string[]
  readonly #create: () => Kept
  readonly #series = new Map<string, Map<string, Series<Kept>>>()

  constructor(names: readonly string[], create: () => Kept) {
    this.#names = names
    this.#create = create
  }

  of(first = '', second = ''): Kept {
    return (this.#series.get(first)?.get(second) ?? this.#add(first, second)).kept
  }

  read(read: (kept: Kept, labels: Value['labels']) => readonly Value[]): readonly Value[] {
    return [...this.#series.values()].flatMap((bySecond) =>
      [...bySecond.values()].flatMap(({ labels, kept }) => read(kept, labels)),
    )
  }

  #add(...values: readonly [string, string]): Series<Kept> {
    const [first, second] = values
    const labels = Object.fromEntries(this.#names.map((name, place) => [name, values[place] ?? '']))
    const series = { labels, kept: this.#create() }
    const bySecond = this.#series.get(first) ?? new Map<string, Series<Kept>>()
    this.#series.set(first, bySecond.set(second, series))
    return series
  }
}

/** prom-client hashes the labels of each figure at each observation: a request has two dozen of these. */
export class RequestFigures {
  readonly #registry: Registry
  readonly #figures = new Map<string, ModelFigures>()
  #last: ModelFigures | undefined

  constructor(registry: Registry) {
    this.#registry = registry
    const readAll = (read: (figures: ModelFigures) => readonly Value[]) => () =>
      [...this.#figures.values()].flatMap(read)
    for (const name of Object.keys(modelCounters) as CounterName[])
      this.#register(
        { name, type: 'counter', ...modelCounters[name] },
        readAll((figures) => figures.countValues(name)),
      )
    for (const name of Object.keys(modelHistograms) as HistogramName[])
      this.#register(
        { name, type: 'histogram', ...modelHistograms[name] },
        readAll((figures) => figures.histogramValues(name)),
      )
  }

  /** Adds one, given the values of the labels in their order. */
  counter(name: string, { help, labels }: Definition): (first: string, second: string) => void {
    const series = new SeriesByLabels(labels, () => ({ count: 0 }))
    this.#register({ name, type: 'counter', help }, () =>
      series.read(({ count }, labels) => [{ metricName: name, labels, value: count }]),
    )
    return (first, second) => {
      series.of(first, second).count += 1
    }
  }

  histogram(
    name: string,
    { help, labels, buckets }: Definition & { readonly buckets: readonly number[] },
  ): (value: number, first?: string, second?: string) => void {
    const series = new SeriesByLabels(labels, () => new Buckets(buckets))
    this.#register({ name, type: 'histogram', help }, () => series.read((kept, labels) => kept.values(name, labels)))
    return (value, first, second) => series.of(first, second).observe(value, null)
  }

  #register(
    { name, type, help }: { readonly name: string; readonly type: string; readonly help: string },
    read: () => readonly Value[],
  ): void {
    const get = async () => ({ name, help, type, values: read(), aggregator: 'sum' })
    this.#registry.registerMetric({ name, get } as unknown as Metric)
  }

  readonly record = (closing: ObservedClosing): void => {
    const { surface, status, attempts, usage, total, firstTokenMs, generationMs, traceId } = closing
    const last = attempts.at(-1)
    const { model = last?.model ?? 'none', provider = last?.provider ?? 'none' } = closing
    for (const { outcome, durationMs, ...called } of attempts)
      if (outcome !== 'passed_over')
        this.#figuresOf(surface, called.model, called.provider, called.deployment).observe(
          'gateway_upstream_duration_seconds',
          outcome,
          durationMs / 1_000,
          traceId,
        )
    const figures = this.#figuresOf(surface, model, provider, last?.deployment)
    figures.count('gateway_model_requests_total', status, 1)
    if (total !== undefined) figures.addCost(parseUsd(total))
    if (firstTokenMs !== undefined)
      figures.observe('gateway_time_to_first_token_seconds', '', firstTokenMs / 1_000, traceId)
    if (usage === undefined) return
    countTokens(figures, usage)
    figures.observe('gateway_request_tokens', 'input', usage.promptTotal, traceId)
    figures.observe('gateway_request_tokens', 'output', usage.outputTotal, traceId)
    const tokensAfter = usage.outputTotal - 1
    if (generationMs !== null && tokensAfter > 0)
      figures.observe('gateway_time_per_output_token_seconds', '', generationMs / 1_000 / tokensAfter, traceId)
  }

  #figuresOf(surface: string, model: string, provider: string, deployment = ''): ModelFigures {
    if (this.#last?.is(surface, model, provider, deployment)) return this.#last
    const figures = this.#findFigures(surface, model, provider, deployment)
    this.#last = figures
    return figures
  }

  #findFigures(surface: string, model: string, provider: string, deployment: string): ModelFigures {
    const key = `${surface}\n${model}\n${provider}\n${deployment}`
    const known = this.#figures.get(key)
    if (known !== undefined) return known
    if (this.#figures.size >= metricsLimits.modelSeriesMax && model !== 'other')
      return this.#figuresOf(surface, 'other', provider, '')
    const figures = new ModelFigures({ surface, model, provider, deployment })
    this.#figures.set(key, figures)
    return figures
  }
}

const countTokens = (figures: ModelFigures, usage: NonNullable<ObservedClosing['usage']>): void => {
  const { promptTotal, cacheRead, cacheWrite5m, cacheWrite1h, cacheWrite12h = 0, outputTotal, outputReasoning } = usage
  const cacheWrite = cacheWrite5m + cacheWrite1h + cacheWrite12h
  figures.count('gateway_tokens_total', 'input', promptTotal - cacheRead - cacheWrite)
  figures.count('gateway_tokens_total', 'cache_read', cacheRead)
  figures.count('gateway_tokens_total', 'cache_write', cacheWrite)
  figures.count('gateway_tokens_total', 'output', outputTotal - outputReasoning)
  figures.count('gateway_tokens_total', 'reasoning', outputReasoning)
}
