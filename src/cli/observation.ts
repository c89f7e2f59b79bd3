import { hostname } from 'node:os'
import type { openTelemetry } from '../adapters/opentelemetry/open.ts'
import { OperatorListener } from '../adapters/operators/listener.ts'
import { type PrometheusFigures, PrometheusMetrics } from '../adapters/prometheus/metrics.ts'
import type { Config } from '../config/config.ts'
import { faultCode } from '../errors/gateway-error.ts'
import { ledgerReadings } from '../log/ledger-readings.ts'
import type { LedgerTail } from '../log/ledger-tail.ts'
import { LogWatch, type WatchedLog } from '../log/log-watch.ts'
import type { ServedRole } from '../roles/role.ts'
import { type Check, type Checks, checkOf, passing } from '../runtime/health.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Logger } from '../runtime/logger.ts'
import { noObserver, type Observer, type Readings } from '../runtime/observer.ts'
import { cliLimits } from './command-limits.ts'
import { withPortErrors } from './ports.ts'
import type { Runtime } from './runtime.ts'
import { version } from './version.ts'

type FollowerName = 'ledger' | 'tables'

type Phase = 'starting' | 'started' | 'stopping'

/** What the health endpoints of a process answer. */
class ProcessHealth {
  readonly #checks = new Map<string, () => Checks>()
  readonly #livenessChecks: (() => Checks)[] = []
  #phase: Phase = 'starting'
  #fault: string | null = null

  /** Counts for readiness. */
  check(name: string, checks: () => Checks): void {
    this.#checks.set(name, checks)
  }

  /** For failures that a role does not recover from by itself. */
  addLivenessCheck(checks: () => Checks): void {
    this.#livenessChecks.push(checks)
  }

  readonly baseChecks = (): Checks => ({ ...this.#checks.get('log')?.(), ...this.#checks.get('ledger')?.() })

  enter(phase: Phase): void {
    this.#phase = phase
  }

  /** Fatal: the process is no longer alive. */
  fail(fault: Error): void {
    this.#fault ??= fault.message
  }

  alive(): Checks {
    return Object.assign({ process: this.#process() }, ...this.#livenessChecks.map((checks) => checks()))
  }

  ready(): Checks {
    const own = { process: this.#process(), phase: checkOf(this.#phase === 'started', `is ${this.#phase}`) }
    return Object.assign(own, ...[...this.#checks.values()].map((checks) => checks()))
  }

  #process(): Check {
    return this.#fault === null ? passing : { ok: false, reason: this.#fault }
  }
}

type Telemetry = ReturnType<typeof openTelemetry>

export class Observation {
  readonly observer: Observer
  readonly health = new ProcessHealth()
  readonly #metrics: PrometheusMetrics | null
  readonly #telemetry: Telemetry | null
  readonly #role: ServedRole | 'gateway'
  #watch: LogWatch | null = null
  #listener: OperatorListener | null = null
  #url: string | null = null

  constructor(role: ServedRole | 'gateway', metrics: PrometheusMetrics | null, telemetry: Telemetry | null) {
    this.#role = role
    this.#metrics = metrics
    this.#telemetry = telemetry
    const observer = metrics?.observer ?? noObserver
    this.observer = telemetry?.tracing ? { ...observer, tracing: telemetry.tracing } : observer
    this.add(() => [{ name: 'gateway_build_info', labels: { version, node: process.versions.node, role }, value: 1 }])
  }

  /** OpenTelemetry's packages are loaded where something is sent. */
  static async open(
    role: ServedRole | 'gateway',
    { observe, telemetry, providers }: Config,
    { logger }: Pick<Runtime, 'logger'>,
  ): Promise<Observation> {
    const metrics = observe === null && !telemetry?.metricsUrl ? null : new PrometheusMetrics()
    if (telemetry === null) return new Observation(role, metrics, null)
    const { openTelemetry } = await import('../adapters/opentelemetry/open.ts')
    const figures = async () => (await metrics?.figures()) ?? []
    const observed = { role, instance: `${hostname()}:${process.pid}`, version, figures, providers }
    return new Observation(role, metrics, openTelemetry(telemetry, observed, logger))
  }

  get url(): string | null {
    return this.#url
  }

  add(readings: Readings): void {
    this.#metrics?.add(readings)
  }

  watchLog(log: WatchedLog, runtime: Pick<Runtime, 'clock' | 'logger'>): LogWatch {
    const watch = new LogWatch(log, runtime)
    this.#watch = watch
    this.add(() => watch.readings())
    this.health.check('log', () => ({ log: watch.check, clock: watch.clockCheck }))
    return watch
  }

  get isClockTrusted(): boolean {
    return this.#watch?.isClockTrusted ?? false
  }

  watchTail({ ledger }: LedgerTail): void {
    this.#follow('ledger', () => ledger.sequence, sharedLimits.logStalledMs)
    this.add(() => ledgerReadings(ledger))
  }

  watchTables(position: () => number): void {
    this.#follow('tables', position, sharedLimits.projectionLagMs)
  }

  async figures(): Promise<PrometheusFigures> {
    return (await this.#metrics?.figures()) ?? []
  }

  async listen(observe: NonNullable<Config['observe']>, logger: Logger): Promise<void> {
    const metrics = this.#metrics
    if (metrics === null) return
    const monitored = {
      role: this.#role,
      metrics: (accept: string | undefined) => metrics.renderFor(this.observer.tracing && accept),
      alive: () => this.health.alive(),
      ready: () => this.health.ready(),
    }
    this.#listener = new OperatorListener(monitored, logger)
    this.#url = await listenForOperators(this.#listener, observe)
  }

  async stop(): Promise<void> {
    await this.#watch?.stop()
    await this.#listener?.stop()
    await this.#telemetry?.stop()
  }

  #follow(name: FollowerName, position: () => number, withinMs: number): void {
    const watch = this.#watch
    if (watch === null) throw new Error('the lag is not known yet')
    watch.follow(name, position)
    this.health.check(name, () => ({ [name]: watch.inStep(name, withinMs) }))
  }
}

/** Resolves with the URL. A default port that is taken gives way to a free one. */
export const listenForOperators = (
  listener: OperatorListener,
  { host, port }: NonNullable<Config['observe']>,
): Promise<string> => {
  const settings = '--observe-port, or `observe.port` of the configuration'
  if (port === null) return listenOnFreePort(listener, host)
  return withPortErrors({ host, port, settings }, listener.listen(host, port))
}

const listenOnFreePort = async (listener: OperatorListener, host: string): Promise<string> => {
  try {
    return await listener.listen(host, cliLimits.observePort)
  } catch (fault) {
    if (faultCode(fault) !== 'EADDRINUSE') throw fault
    return listener.listen(host, 0)
  }
}
