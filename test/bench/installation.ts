import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programFlags } from '../support/program.ts'
import { endChild } from './child.ts'
import { benchModel, priceFile } from './price.ts'

const program = [...programFlags, fileURLToPath(new URL('../../src/main.ts', import.meta.url))]
const requestsPerMinute = 1_000_000_000 // The limiter works, and refuses nobody.

/** The workspace that pays for the whole run. */
export const payer = 'demo'

const creditUsd = '1000000'

/** A data folder and its configuration, and the program to be run on it. */
export interface Installation {
  readonly dataFolder: string
  /** The configuration file. */
  readonly config: string
  /** What Node runs: its flags, and the file. */
  readonly program: readonly string[]
  /** Starts a subcommand that goes on until it is told to stop. */
  start(...words: readonly string[]): Started
  /** Runs a subcommand to its end and gives the last of the records that it prints, one a line. */
  command(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>>
}

export interface Started {
  readonly pid: number
  /** What the process says, up to what answers the pattern; rejects when it ends before. One pattern, then nobody listens any more. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  stop(): Promise<void>
}

/** Anything that answers clients and bills the payer for it. */
export interface Gateway extends Pick<Installation, 'dataFolder' | 'command'> {
  /** What stands before `/v1`. */
  readonly url: string
  /** The payer's. */
  readonly key: string
  /** Of its own processes, by what they are. */
  readonly pids: Readonly<Record<string, number>>
  stop(): Promise<void>
}

const settings = {
  listen: { host: '127.0.0.1', port: 0 },
  prices: './prices.json',
  limits: { requests_per_minute: requestsPerMinute },
  log_level: 'warn',
} as const

export const providersAt = (providerUrl: string): object => ({
  providers: {
    openai: { dialect: 'openai', base_url: providerUrl, api_key: 'sk-bench' },
    anthropic: { dialect: 'anthropic', base_url: providerUrl, api_key: 'sk-bench' },
  },
  aliases: { bench: benchModel },
})

const heard = async (child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> => {
  let said = ''
  for await (const line of createInterface({ input: child.stdout! })) {
    said += `${line}\n`
    const found = pattern.exec(said)
    if (found === null) continue
    child.stdout!.resume()
    return found
  }
  throw new Error(`${child.spawnargs.slice(2).join(' ')} ended before it worked`)
}

const started = (child: ChildProcess): Started => {
  process.once('exit', () => child.kill()) // Where the bench is interrupted.
  return { pid: child.pid!, says: (pattern) => heard(child, pattern), stop: () => endChild(child) }
}

/** Writes configuration and prices into a data folder, in place of those that stand there. */
export const installWith = (dataFolder: string, content: object, prices: object): Installation => {
  const config = join(dataFolder, 'gateway.yaml')
  writeFileSync(join(dataFolder, 'prices.json'), JSON.stringify(prices))
  writeFileSync(config, JSON.stringify({ ...settings, ...content })) // JSON is YAML.
  const globals = [...program, '--config', config, '--data', dataFolder]
  return {
    dataFolder,
    config,
    program,
    start: (...words) =>
      started(spawn(process.execPath, [...globals, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })),
    command: async (...words) => {
      const { stdout } = await promisify(execFile)(process.execPath, [...globals, ...words, '--json'])
      return JSON.parse(stdout.trimEnd().split('\n').at(-1)!)
    },
  }
}

/** With the mock upstream as every provider; `caller` is the name by which that counts. */
export const install = (dataFolder: string, upstreamUrl: string, caller: string): Installation =>
  installWith(dataFolder, providersAt(`${upstreamUrl}/${caller}/v1`), priceFile)

/** Gives the payer what a whole run costs. */
export const creditPayer = async ({ command }: Pick<Installation, 'command'>): Promise<void> => {
  await command('credit', payer, creditUsd, '--reference', 'bench')
}
