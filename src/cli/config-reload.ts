import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
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
  readonly agree?: (fileTexts: Config['fileTexts']) => Promise<unknown>
  readonly onRejected?: (fault: string) => void
}

const contentOf = (file: string): string => {
  try {
    return hash('sha256', readFileSync(file))
  } catch (fault) {
    return String(faultCode(fault))
  }
}

const digestOf = ({ files }: Config): string => hash('sha256', files.map(contentOf).join())

/** As of when it was read: a start takes seconds, in which its files may change. */
const digestAsRead = ({ files, fileTexts }: Config): string => {
  const contentAsRead = (file: string): string => {
    const text = fileTexts.get(file)
    return text === undefined ? contentOf(file) : hash('sha256', text)
  }
  return hash('sha256', files.map(contentAsRead).join())
}

const reloaded: ReadonlySet<string> = new Set([
  ...[
    'providers',
    'aliases',
    'routers',
    'prices',
    'admin',
    'sign_in',
    'invoices',
    'adjustments',
    'alerts',
    'log_level',
    'limits.requests_per_minute',
  ],
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
  const used = changed.filter((name) => reloaded.has(name) && !restarts.includes(name))
  if (used.length > 0) logger.log('config.reloaded', { members: used })
  if (restarts.length > 0) logger.log('config.restart_needed', { members: restarts })
  const [now, before] = [config, former].map((each) => byName([...each.providers, ...each.videoVendors]))
  for (const provider of changedNames(now!, before!)) logger.log('provider.keys_reloaded', { provider })
}

interface Rejected {
  readonly fault: string
  /** Of the files, which may change. */
  readonly digest: string
  /** So often the same files are not parsed again. */
  readsLeft: number
}

/** The configuration in force. Contents of files are compared: a link to another folder changes them without an event. */
export class ConfigReload {
  readonly #runtime: Runtime
  readonly #options: Pick<ReloadOptions, 'agree' | 'onRejected'>
  readonly #callbacks: { readonly before: Preparation[]; readonly after: Listener[] } = { before: [], after: [] }
  readonly #fileWarnings = new Map<string, ThrottledWarning>()
  readonly #rejection: ThrottledWarning
  readonly stop: () => Promise<void>
  #current: Config
  #digest: string
  #candidate: Config | null = null
  #rejected: Rejected | null = null

  constructor(config: Config, runtime: Runtime, options: ReloadOptions = {}) {
    this.#runtime = runtime
    this.#options = options
    this.#rejection = new ThrottledWarning(runtime.logger)
    this.#current = config
    this.#digest = digestAsRead(config)
    const { everyMs = cliLimits.configReadMs, watches = true } = options
    const watch = (): void => {
      const rejected = this.#rejected
      if (rejected !== null && rejected.readsLeft > 0 && digestOf(this.#current) === rejected.digest)
        rejected.readsLeft -= 1
      else void this.check()
    }
    const timer = watches ? setInterval(watch, everyMs).unref() : undefined
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
    this.#callbacks.before.push(preparation)
  }

  /** Called once the new configuration is in force, in the order in which they were added. */
  onChange(listener: Listener): void {
    this.#callbacks.after.push(listener)
  }

  readings(): readonly Reading[] {
    const rejected = [...this.#fileWarnings.values()].filter(({ isOn }) => isOn).length
    return [
      { name: 'gateway_provider_files_rejected', value: rejected },
      { name: 'gateway_config_rejected', value: this.#rejected === null ? 0 : 1 },
    ]
  }

  readonly checks = (): Checks => ({
    configuration:
      this.#rejected === null ? passing : { ok: true, reason: `the former one serves on: ${this.#rejected.fault}` },
  })

  /** Where the process that reads the files found that they cannot be used. */
  noteRejection(fault: string): void {
    this.#rejected = { fault, digest: '', readsLeft: 0 }
  }

  /** Reads again where a file has changed. Never rejects. */
  async check(): Promise<void> {
    const digest = digestOf(this.#current)
    if (this.#candidate !== null || (digest === this.#digest && this.#rejected === null)) return
    try {
      const { fileTexts } = this.#current.reread()
      if (digestOf(this.#current) !== digest) throw new Error('its files are being changed')
      await this.prepare(fileTexts)
      this.#digest = digest
      await this.#options.agree?.(fileTexts)
      this.commit()
    } catch (fault) {
      this.#candidate = null
      const readsLeft = fault instanceof ConfigError ? cliLimits.configRetryReads : 0
      this.#rejected = { fault: faultText(fault), digest, readsLeft }
      this.#options.onRejected?.(this.#rejected.fault)
      this.#rejection.raise('config.rejected', { fault })
    }
  }

  /** For `commit`. Rejects where it cannot be used. */
  async prepare(fileTexts: Config['fileTexts']): Promise<void> {
    const config = this.#current.reread(fileTexts)
    this.#candidate = config
    for (const preparation of this.#callbacks.before) await preparation(config)
  }

  commit(): void {
    const config = this.#candidate
    if (config === null) return
    const former = this.#current
    if (!isDeepStrictEqual(config.files, former.files)) this.#digest = digestOf(config)
    this.#candidate = null
    this.#rejected = null
    this.#current = config
    this.#rejection.clear('config.usable', {})
    this.#runtime.setSecrets([config, former].flatMap(listSecrets))
    this.#runtime.setLogLevel(config.logLevel)
    for (const listener of this.#callbacks.after) listener(config, former)
    logChanges(config, former, this.#runtime)
  }
}
