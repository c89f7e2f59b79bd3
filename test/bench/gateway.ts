import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { endChild } from './child.ts'
import { benchModel, priceFile } from './price.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const requestsPerMinute = 1_000_000_000 // The limiter works, and refuses nobody.
const creditUsd = '1000000'

/** The workspace that pays for the whole run. */
export const payer = 'demo'

export interface Gateway {
  readonly pid: number
  readonly url: string
  /** The payer's. */
  readonly key: string
  readonly dataFolder: string
  /** Runs a subcommand of the program and gives the JSON that it prints. */
  command(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

const configOf = (upstreamUrl: string): object => ({
  listen: { host: '127.0.0.1', port: 0 },
  providers: {
    openai: { dialect: 'openai', base_url: `${upstreamUrl}/gateway/v1`, api_key: 'sk-bench' },
    anthropic: { dialect: 'anthropic', base_url: `${upstreamUrl}/gateway/v1`, api_key: 'sk-bench' },
  },
  aliases: { bench: benchModel },
  prices: './prices.json',
  limits: { requests_per_minute: requestsPerMinute },
  log_level: 'warn',
})

/** What the greeting says once the gateway answers. */
const readGreeting = async (lines: AsyncIterable<string>): Promise<{ readonly url: string; readonly key: string }> => {
  let url: string | undefined
  for await (const line of lines) {
    url ??= /answers at (http:\/\/\S+)\/v1/.exec(line)?.[1]
    const key = /Demo key: (sk-\S+)/.exec(line)?.[1]
    if (url !== undefined && key !== undefined) return { url, key }
  }
  throw new Error('the gateway ended before it answered')
}

/** Starts `gateway serve` on embedded servers in a folder of their own, with the mock upstream as its provider and credit for the whole run. */
export const startGateway = async (dataFolder: string, upstreamUrl: string): Promise<Gateway> => {
  const config = join(dataFolder, 'gateway.yaml')
  writeFileSync(join(dataFolder, 'prices.json'), JSON.stringify(priceFile))
  writeFileSync(config, JSON.stringify(configOf(upstreamUrl))) // JSON is YAML.
  const globals = [program, '--config', config, '--data', dataFolder]
  const child = spawn(process.execPath, [...globals, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const command: Gateway['command'] = async (...words) => {
    const { stdout } = await promisify(execFile)(process.execPath, [...globals, ...words, '--json'])
    return JSON.parse(stdout)
  }
  const stop = (): Promise<void> => endChild(child)
  process.once('exit', () => child.kill()) // Where the bench is interrupted.
  try {
    const { url, key } = await readGreeting(createInterface({ input: child.stdout }))
    child.stdout.resume()
    await command('credit', payer, creditUsd, '--reference', 'bench')
    return { pid: child.pid!, url, key, dataFolder, command, stop }
  } catch (fault) {
    await stop()
    throw fault
  }
}
