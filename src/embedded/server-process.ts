import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs'
import { PortTaken } from './free-ports.ts'
import { embeddedLimits } from './limits.ts'
import { endProcess, identify } from './processes.ts'
import type { ServerName, ServerRecord } from './record.ts'
import { type Identity, startAs } from './run-as.ts'

export interface ServerCommand {
  readonly name: ServerName
  readonly binary: string
  readonly args: readonly string[]
  readonly port: number
  readonly workingFolder: string
  readonly logPath: string
  readonly identity: Identity
  readonly environment: NodeJS.ProcessEnv
}

export interface ServerExit {
  readonly name: ServerName
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** From polite to forced. PostgreSQL: fast shutdown, then immediate, since SIGKILL would leave its backends running. */
export const stopSignals: { readonly [N in ServerName]: readonly [NodeJS.Signals, ...NodeJS.Signals[]] } = {
  postgres: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  nats: ['SIGTERM', 'SIGKILL'],
}

const openLog = (path: string): number => {
  if (existsSync(path)) renameSync(path, path.replace(/\.log$/, '.previous.log'))
  return openSync(path, 'w', 0o600)
}

const spawnDetached = (command: ServerCommand): ChildProcess => {
  const log = openLog(command.logPath)
  try {
    // A session of its own: Ctrl-C at the terminal reaches the gateway alone, which drains before it stops its servers.
    const { file, args, user } = startAs(command.identity, command.binary, command.args)
    return spawn(file, args, {
      cwd: command.workingFolder,
      detached: true,
      stdio: ['ignore', log, log],
      ...user,
      env: command.environment,
    })
  } finally {
    closeSync(log)
  }
}

const waitForExit = (name: ServerName, child: ChildProcess): Promise<ServerExit> =>
  new Promise((resolve, reject) => {
    child.once('exit', (code, signal) => resolve({ name, code, signal }))
    child.once('error', reject)
  })

export class ServerProcess {
  readonly record: ServerRecord
  readonly exited: Promise<ServerExit>
  readonly command: ServerCommand
  readonly #child: ChildProcess

  /** Spawns at once; throws when the binary cannot be run. */
  constructor(command: ServerCommand) {
    this.command = command
    this.#child = spawnDetached(command)
    this.exited = waitForExit(command.name, this.#child)
    this.exited.catch(() => {}) // A failed spawn has no pid, which the next line reports.
    if (this.#child.pid === undefined) throw new Error(`cannot run ${command.binary}`)
    this.#child.unref() // The servers must not keep the gateway's process alive.
    this.record = { name: command.name, ...identify(this.#child.pid), port: command.port }
  }

  /** Rejects when the process ends first, with the end of its log. */
  async waitUntilReady(probe: (ended: AbortSignal) => Promise<void>): Promise<void> {
    const ended = new AbortController()
    const ends = this.exited.then((exit) => {
      throw this.#startFailure(exit)
    })
    try {
      await Promise.race([probe(ended.signal), ends])
    } finally {
      ended.abort()
    }
  }

  /** Sends the first signal and returns: for exit handlers, where nothing can be awaited. */
  signalStop(): void {
    this.#child.kill(stopSignals[this.command.name][0])
  }

  async stop(): Promise<void> {
    this.#child.ref() // Now its end is awaited.
    await endProcess(this.record, stopSignals[this.command.name])
    await this.exited
  }

  #startFailure({ name, code, signal }: ServerExit): Error {
    const output = readFileSync(this.command.logPath, 'utf8').slice(-embeddedLimits.embeddedLogTailCharsMax)
    const message = `${name} ended while it started (${signal ?? `exit code ${code}`}); its log, ${this.command.logPath}:\n${output}`
    return /address already in use/i.test(output) ? new PortTaken(message) : new Error(message)
  }
}
