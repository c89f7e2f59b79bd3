import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import { faultCode, faultText } from '../errors/gateway-error.ts'
import type { CredentialFileReports } from '../providers/authentication/last-usable.ts'
import { type Checks, passing } from '../runtime/health.ts'
import type { Reading } from '../runtime/observer.ts'
import { ThrottledWarning } from '../runtime/throttled-warning.ts'
import { cliLimits } from './command-limits.ts'
import { listSecrets } from './faults.ts'
import type { Runtime } from './runtime.ts'

type Listener = (config: Config, former: Config) => void

type Preparation = (config: Config) => Promise<unknown>

interface ReloadOptions {
  readonly everyMs?: number | undefined
  /** False for a process whose supervisor watches. Default true. */
  readonly watches?: boolean
  /** Whether all processes can change to the configuration of that digest; rejects where one of them cannot. */
  readonly agree?: (digest: string) => Promise<unknown>
}

const contentOf = (file: string): string => {
  try {
    return hash('sha256', readFileSync(file))
  } catch (fault) {
    return String(faultCode(fault))
  }
}

const digestOf = ({ files }: Config): string => hash('sha256', files.map(contentOf).join())

const reloaded: ReadonlySet<string> = new Set([
  ...['providers', 'aliases', 'routers', 'prices', 'admin', 'invoices', 'log_level', 'limits.requests_per_minute'],
])

const byName = <Named extends { readonly name: string }>(all: readonly Named[]): ReadonlyMap<string, Named> =>
  new Map(all.map((each) => [each.name, each]))

const changedNames = (now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): readonly string[] =>
  [...new Set([...before.keys(), ...now.keys()])].filter((name) => !isDeepStrictEqual(now.get(name), before.get(name)))

/** Of a video vendor the credentials alone are replaced while it is polled. */
const vendorsOf = ({ videoVendors }: Config): ReadonlyMap<string, unknown> =>
  new Map(videoVendors.map(({ credential: _replaced, ...settings }) => [`providers.${settings.name}`, settings]))

const logChanges = (config: Config, former: Config, { logger }: Pick<Runtime, 'logger'>): void => {
  const changed = changedNames(config.memberDigests, former.memberDigests)
  const ofProviders =
    config.sandbox === former.sandbox ? changedNames(vendorsOf(config), vendorsOf(former)) : ['providers']
  const restarts = [...changed.filter((name) => !reloaded.has(name)), ...ofProviders]
  if (changed.length > 0) logger.log('config.reloaded', { members: changed })
  if (restarts.length > 0) logger.log('config.restart_needed', { members: restarts })
  const [now, before] = [config, former].map((each) => byName([...each.providers, ...each.videoVendors]))
  for (const provider of changedNames(now!, before!)) logger.log('provider.keys_reloaded', { provider })
}

/** The configuration in force. Contents of files are compared: a link to another folder changes them without an event. */
export class ConfigReload {
  readonly #runtime: Runtime
  readonly #agree: NonNullable<ReloadOptions['agree']>
  readonly #preparations: Preparation[] = []
  readonly #listeners: Listener[] = []
  readonly #fileWarnings = new Map<string, ThrottledWarning>()
  readonly #rejection: ThrottledWarning
  readonly stop: () => Promise<void>
  #current: Config
  #digest: string
  #candidate: Config | null = null
  #fault: string | null = null

  constructor(config: Config, runtime: Runtime, { everyMs, watches = true, agree }: ReloadOptions = {}) {
    this.#runtime = runtime
    this.#agree = agree ?? (async () => undefined)
    this.#rejection = new ThrottledWarning(runtime.logger)
    this.#current = config
    this.#digest = digestOf(config)
    const timer = watches ? setInterval(() => void this.check(), everyMs ?? cliLimits.configReadMs).unref() : undefined
    this.stop = async () => clearInterval(timer)
  }

  readonly files: CredentialFileReports = {
    usable: (file) => this.#fileWarnings.get(file)?.clear('provider.file_usable', { file }),
    rejected: (file, fault) => {
      const warning = this.#fileWarnings.get(file) ?? new ThrottledWarning(this.#runtime.logger)
      this.#fileWarnings.set(file, warning)
      warning.raise('provider.file_rejected', { file, fault })
    },
  }

  /** Called before a change, one after the other; what rejects prevents it. */
  beforeChange(preparation: Preparation): void {
    this.#preparations.push(preparation)
  }

  /** Called once the new configuration is in force, in the order in which they were added. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener)
  }

  readings(): readonly Reading[] {
    const rejected = [...this.#fileWarnings.values()].filter(({ isOn }) => isOn).length
    return [
      { name: 'gateway_provider_files_rejected', value: rejected },
      { name: 'gateway_config_rejected', value: this.#fault === null ? 0 : 1 },
    ]
  }

  readonly checks = (): Checks => ({
    configuration: this.#fault === null ? passing : { ok: true, reason: `the former one serves on: ${this.#fault}` },
  })

  /** Reads again where a file has changed. Never rejects. */
  async check(): Promise<void> {
    const digest = digestOf(this.#current)
    if (this.#candidate !== null || (digest === this.#digest && this.#fault === null)) return
    try {
      await this.prepare(digest)
      await this.#agree(digest)
      this.commit()
    } catch (fault) {
      this.#candidate = null
      this.#fault = faultText(fault)
      this.#rejection.raise('config.rejected', { fault })
    }
  }

  /** Reads what `commit` puts in force. Rejects where it cannot be used, or is not that of the digest. */
  async prepare(digest: string): Promise<void> {
    const config = this.#current.reread()
    if (digestOf(this.#current) !== digest) throw new Error('its files are being changed')
    this.#candidate = config
    for (const preparation of this.#preparations) await preparation(config)
    this.#digest = digest
  }

  commit(): void {
    const config = this.#candidate
    if (config === null) return
    const former = this.#current
    if (!isDeepStrictEqual(config.files, former.files)) this.#digest = digestOf(config)
    this.#candidate = null
    this.#fault = null
    this.#current = config
    this.#rejection.clear('config.usable', {})
    this.#runtime.setSecrets([config, former].flatMap(listSecrets))
    this.#runtime.setLogLevel(config.logLevel)
    for (const listener of this.#listeners) listener(config, former)
    logChanges(config, former, this.#runtime)
  }
}
