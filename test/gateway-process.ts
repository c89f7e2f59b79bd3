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
    log_level: 'warn',
  })

/** `gateway serve` in a process of its own, which a test may kill. */
export class GatewayProcess {
  readonly url: string
  readonly demoKey: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string, demoKey: string) {
    this.#child = child
    this.url = url
    this.demoKey = demoKey
  }

  /** Resolves when it answers; rejects when it ends before. */
  static async start(config: Config): Promise<GatewayProcess> {
    const pricesFile = join(config.dataFolder, 'prices.json')
    const configFile = join(config.dataFolder, 'gateway.yaml')
    await writeFile(pricesFile, JSON.stringify(config.prices))
    await writeFile(configFile, fileOf(config, pricesFile))
    const child = spawn(process.execPath, [mainFile, 'serve', '--config', configFile, '--data', config.dataFolder], {
      stdio: ['ignore', 'pipe', process.env['TEST_LOG_LEVEL'] === undefined ? 'ignore' : 'inherit'],
    })
    let url: string | undefined
    for await (const line of createInterface({ input: child.stdout })) {
      url ??= /answers at (http:\S+)\/v1/.exec(line)?.[1]
      const demoKey = /Demo key: (\S+)/.exec(line)?.[1]
      if (url !== undefined && demoKey !== undefined) return new GatewayProcess(child, url, demoKey)
    }
    throw new Error(`the gateway ended with ${child.exitCode ?? child.signalCode} before it answered`)
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
