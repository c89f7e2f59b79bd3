import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { verifierText } from '../../src/audit/note.ts'
import type { GatewayBounds } from '../../src/cli/gateway.ts'
import type { AuditConfig } from '../../src/config/audit.ts'
import type { Config } from '../../src/config/config.ts'
import type { External } from '../../src/config/servers.ts'
import type { RoleName } from '../../src/roles/role.ts'
import { boundedFile, mainFile, programEnvironment, programFlags } from './program.ts'

const programOf = (flags: readonly string[], bounds: GatewayBounds | undefined): readonly string[] =>
  bounds === undefined
    ? [...programFlags, ...flags, mainFile, 'serve']
    : [...programFlags, ...flags, boundedFile, '--bounds', JSON.stringify(bounds)]

type ProviderOfTest = Config['providers'][number]

const credentialOf = ({ authentication, apiKey }: ProviderOfTest) => {
  if (authentication?.type !== 'aws_keys') return { api_key: apiKey }
  const { type, region, accessKeyId, secretAccessKey, sessionToken } = authentication
  const keys = { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken }
  return { authentication: { type, region, ...keys } }
}

const deploymentOf = ({ name, requestsPerMinute, provider }: NonNullable<ProviderOfTest['deployments']>[number]) => ({
  name,
  api_key: provider.apiKey,
  requests_per_minute: requestsPerMinute,
})

const providerOf = (provider: ProviderOfTest) => {
  const { name, dialect, profile, baseUrl, models, deployments } = provider
  return [
    name,
    {
      ...{ dialect, profile, base_url: baseUrl, ...credentialOf(provider), models },
      ...(deployments === undefined ? {} : { deployments: deployments.map(deploymentOf) }),
    },
  ] as const
}

const vendorOf = ({ name, baseUrl, credential, callsPerSecond }: Config['videoVendors'][number]) => {
  const keys =
    credential.type === 'key'
      ? { api_key: credential.apiKey }
      : { access_key: credential.accessKey, secret_key: credential.secretKey }
  return [name, { dialect: 'vv-video', base_url: baseUrl, ...keys, calls_per_second: callsPerSecond }] as const
}

const callbacksOf = (callbacks: Config['callbacks']) =>
  callbacks === null
    ? undefined
    : { secret: callbacks.secret ?? undefined, allow_private_addresses: callbacks.allowPrivateAddresses }

/** The configuration file that says what a test's Config says. */
const fileOf = (config: Config, pricesFile: string): string =>
  JSON.stringify({
    listen: listenOf(config.listen),
    log: config.log,
    providers: {
      ...Object.fromEntries(config.providers.map(providerOf)),
      ...Object.fromEntries(config.videoVendors.map(vendorOf)),
    },
    sandbox: config.sandbox,
    callbacks: callbacksOf(config.callbacks),
    aliases: config.catalog.aliases,
    routers: {},
    prices: pricesFile,
    audit: auditOf(config.audit),
    limits: {
      request_deadline_seconds: config.requestDeadlineMs / 1000,
      task_deadline_seconds: config.taskDeadlineMs / 1000,
      withdraw_seconds: config.withdrawMs / 1000,
      drain_seconds: config.drainMs / 1000,
      requests_per_minute: config.requestsPerMinute ?? undefined,
    },
    tags: config.tagNames,
    alerts: { destinations: Object.fromEntries(config.alertDestinations) },
    log_level: config.logLevel,
    log_requests: config.logRequests,
    observe: { port: config.observe === null ? 'off' : (config.observe.port ?? undefined) },
    ...(config.external === null ? {} : externalOf(config.external)),
  })

const listenOf = ({ host, port, tls }: Config['listen']): object => ({
  host,
  port,
  ...(tls === undefined ? {} : { tls: { cert_file: tls.certFile, key_file: tls.keyFile } }),
})

const auditOf = ({ sealing, origin, signer, verifier, previous }: AuditConfig): object => ({
  sealing,
  origin,
  ...(signer === null ? {} : { signing_key: signer.privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
  ...(verifier === null ? {} : { public_key: verifierText(verifier) }),
  previous_public_keys: previous.map((each) => verifierText(each)),
})

const externalOf = ({ databaseUrl, nats }: External): object => ({
  ...(databaseUrl === null ? {} : { database_url: databaseUrl }),
  nats: {
    url: nats.url,
    monitoring_url: nats.monitoringUrl,
    user: nats.user,
    password: nats.password,
    credentials_file: nats.credentialsFile,
    ...(nats.tls === undefined
      ? {}
      : { tls: { ca_file: nats.tls.caFile, cert_file: nats.tls.certFile, key_file: nats.tls.keyFile } }),
  },
})

export interface ProcessOptions {
  /** One role alone; the whole gateway where none is named. */
  readonly role?: RoleName
  /** In several processes; one where absent. */
  readonly workers?: number
  readonly settingsFolder?: string
  readonly logLevel?: string
  readonly env?: Readonly<Record<string, string>>
  /** Of Node, after the program's own. */
  readonly flags?: readonly string[]
  /** In place of the program's own. */
  readonly bounds?: GatewayBounds | undefined
}

/** `make workers`: two edges of a test are the workers of one gateway, behind one address. */
export const edgesAreWorkers = process.env['EDGES_AS_WORKERS'] !== undefined

export type EndingSignal = 'SIGKILL' | 'SIGTERM' | 'SIGINT'

/** Whatever ends the test ends these too. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** `gateway serve` in a process of its own, which a test may kill. */
export class GatewayProcess {
  url = ''
  /** Of its metrics and health. */
  observeUrl = ''
  demoKey = ''
  /** What it wrote to its own log. */
  logged = ''
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.logged += text
    })
  }

  /** Resolves when it answers; rejects when it ends before. */
  static async start(config: Config, options: ProcessOptions = {}): Promise<GatewayProcess> {
    const {
      role,
      workers,
      settingsFolder = config.dataFolder,
      logLevel = 'warn',
      env = {},
      flags = [],
      bounds,
    } = options
    const pricesFile = join(settingsFolder, 'prices.json')
    const configFile = join(settingsFolder, `${role ?? 'gateway'}.yaml`)
    await writeFile(pricesFile, JSON.stringify(config.prices))
    await writeFile(configFile, fileOf({ ...config, logLevel }, pricesFile))
    const roleWords = role === undefined ? [] : ['--role', role]
    const workerWords = workers === undefined ? [] : ['--workers', String(workers)]
    const dataWords = ['--config', configFile, '--data', config.dataFolder]
    const words = [...programOf(flags, bounds), ...dataWords, ...roleWords, ...workerWords]
    const child = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: programEnvironment(env),
    })
    const gateway = new GatewayProcess(child)
    const needsKey = role === undefined && config.external === null
    for await (const line of createInterface({ input: child.stdout })) {
      gateway.url ||= /answers at (https?:\S+)\/v1/.exec(line)?.[1] ?? ''
      gateway.observeUrl ||= /Metrics and health.* (http:\S+)\/metrics/.exec(line)?.[1] ?? ''
      gateway.demoKey = /Demo key: (\S+)/.exec(line)?.[1] ?? ''
      const isReady = gateway.url !== '' || line === `The ${role} works.`
      const isWhole = (!needsKey || gateway.demoKey !== '') && (config.observe === null || gateway.observeUrl !== '')
      if (isReady && isWhole) return gateway
    }
    throw new Error(
      `the gateway ended with ${child.exitCode ?? child.signalCode} before it answered: ${gateway.logged}`,
    )
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** It does nothing, and nobody is told, until `resume`. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Ends it with a signal and waits until it is gone; answers with its exit code, null when the signal took it. */
  async end(signal: EndingSignal): Promise<number | null> {
    this.tell(signal)
    this.resume()
    return this.ended()
  }

  tell(signal: EndingSignal | 'SIGHUP' | 'SIGUSR2'): void {
    this.#child.kill(signal)
  }

  /** Resolves with its exit code once it is gone; null when a signal took it. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    return this.#child.exitCode
  }
}
