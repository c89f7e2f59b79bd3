import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Config } from '../src/config.ts'

const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The configuration file that says what a test's Config says. */
const fileOf = (config: Config, pricesFile: string): string =>
  JSON.stringify({
    listen: config.listen,
    log: config.log,
    providers: Object.fromEntries(
      config.providers.map(({ name, dialect, profile, baseUrl, apiKey, models }) => [
        name,
        { dialect, profile, base_url: baseUrl, api_key: apiKey, models },
      ]),
    ),
    aliases: config.aliases,
    routers: {},
    prices: pricesFile,
    log_level: config.logLevel,
  })

/** `gateway serve` in a process of its own, which a test may kill. */
export class GatewayProcess {
  url = ''
  demoKey = ''
  /** What it wrote to its own log. */
  logged = ''
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.logged += text
    })
  }

  /** Resolves when it answers; rejects when it ends before. */
  static async start(
    config: Config,
    { settingsFolder = config.dataFolder, logLevel = 'warn' } = {},
  ): Promise<GatewayProcess> {
    const pricesFile = join(settingsFolder, 'prices.json')
    const configFile = join(settingsFolder, 'gateway.yaml')
    await writeFile(pricesFile, JSON.stringify(config.prices))
    await writeFile(configFile, fileOf({ ...config, logLevel }, pricesFile))
    const child = spawn(process.execPath, [mainFile, 'serve', '--config', configFile, '--data', config.dataFolder], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const gateway = new GatewayProcess(child)
    for await (const line of createInterface({ input: child.stdout })) {
      gateway.url ||= /answers at (http:\S+)\/v1/.exec(line)?.[1] ?? ''
      gateway.demoKey = /Demo key: (\S+)/.exec(line)?.[1] ?? ''
      if (gateway.demoKey !== '') return gateway
    }
    throw new Error(
      `the gateway ended with ${child.exitCode ?? child.signalCode} before it answered: ${gateway.logged}`,
    )
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Ends it with a signal and waits until it is gone; answers with its exit code, null when the signal took it. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode
    this.#child.kill(signal)
    await once(this.#child, 'exit')
    return this.#child.exitCode
  }
}
