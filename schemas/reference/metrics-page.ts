import type { metricDefinitions } from '../../src/adapters/prometheus/definitions.ts'
import { code, row, tableHead } from './schema-tables.ts'

interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly roles: readonly string[] | 'all'
  readonly help: string
}

const units: readonly (readonly [suffix: RegExp, unit: string])[] = [
  [/_seconds$/, 's'],
  [/_bytes$/, 'bytes'],
  [/_usd$/, 'USD'],
]

const unitOf = (name: string): string => units.find(([suffix]) => suffix.test(name.replace(/_total$/, '')))?.[1] ?? ''

const renderMetric = ({ name, type, labels, roles, help }: Metric): string =>
  row(code(name), type, unitOf(name), labels.map(code).join(', '), roles === 'all' ? roles : roles.join(', '), help)

const tableOf = (metrics: readonly Metric[]): string =>
  tableHead('metric', 'type', 'unit', 'labels', 'role', '') + metrics.map(renderMetric).join('')

type Definitions = Readonly<Record<string, Omit<Metric, 'name' | 'type'>>>
type ModelDefinitions = Readonly<Record<string, { readonly help: string; readonly label: string | null }>>

const metricsOf = (type: Metric['type'], definitions: Definitions): readonly Metric[] =>
  Object.entries(definitions).map(([name, definition]) => ({ name, type, ...definition }))

const modelMetricsOf = (type: Metric['type'], definitions: ModelDefinitions): readonly Metric[] =>
  Object.entries(definitions).map(([name, { help, label }]) => ({
    ...{ name, type, help, roles: ['proxy'] },
    labels: label === null ? [] : [label],
  }))

export const renderMetricsPage = (all: typeof metricDefinitions): string =>
  `<!-- Generated from src/adapters/prometheus/definitions.ts by \`make generate\`. Do not edit. -->

# Metrics

What \`GET /metrics\` of the [operators' listener](../monitoring.md#metrics) exports, beside \`process_…\` and \`nodejs_…\`. A metric without
a unit is a count. Every process exports all names; those of roles that it does not run have no figures.

## Of a model

These have the labels ${all.modelLabels.map(code).join(', ')} as well.

${tableOf([...modelMetricsOf('counter', all.modelCounters), ...modelMetricsOf('histogram', all.modelHistograms)])}
## Of a process

${tableOf([...metricsOf('counter', all.counters), ...metricsOf('histogram', all.histograms), ...metricsOf('gauge', all.gauges)])}`
