import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** Node's own, with which the Makefile starts the program. */
export const programFlags = ['--min-semi-space-size=8', '--max-semi-space-size=128'] as const

const root = fileURLToPath(new URL('../../', import.meta.url))
const bundle = process.env['PROGRAM_BUNDLE'] ?? ''

/** Of the bundle that `make test` makes, else the source. */
const programFile = (name: string): string => (bundle === '' ? join(root, `${name}.ts`) : join(bundle, `${name}.mjs`))

export const mainFile = programFile('src/main')
export const boundedFile = programFile('test/support/serve-with-bounds')
const hostFile = programFile('test/support/program-host')
const outputBytesMax = 64 * 1024 * 1024

/** What configures the program where the tests are run: with a key there it would ask a real provider. */
const configuring = /^((OPENAI|ANTHROPIC|XAI|GEMINI)_API_KEY|DATABASE_URL|NATS_(MONITORING_)?URL|GATEWAY_\w+)(_FILE)?$/

/** What the program would find outside a test: the test runner's loader costs each start half a second of CPU. */
export const programEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
  const { NODE_OPTIONS: _ofTheRunner, ...environment } = process.env
  const found = Object.entries(environment).filter(([name]) => !configuring.test(name))
  return { ...Object.fromEntries(found), ...more }
}

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Starts the program for one command, and runs it to its end, on the servers of a data folder. */
export const startProgram = (folder: string, dataFolder: string, ...words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: folder, env: programEnvironment({ NO_COLOR: '1' }), maxBuffer: outputBytesMax }
    execFile(process.execPath, [mainFile, ...words, '--data', dataFolder], options, (fault, out, err) =>
      resolve({ code: typeof fault?.code === 'number' ? fault.code : 0, out, err }),
    )
  })

/** The same, with a reader of its output that goes before there is any, as `head` does. */
export const startProgramUnread = async (
  dataFolder: string,
  ...words: readonly string[]
): Promise<Pick<Ended, 'code' | 'err'>> => {
  const child = spawn(process.execPath, [mainFile, ...words, '--data', dataFolder], { env: programEnvironment() })
  child.stdin.end()
  child.stdout.destroy()
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code: Number(code), err }
}

export interface Wanted {
  readonly folder: string
  readonly words: readonly string[]
}

export const endOfOutput = '\u0004'

/** What a stream says until the end of one command's output, or its own. */
const readOutput = async (stream: Socket): Promise<string> => {
  let output = ''
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    output += part
    if (output.endsWith(endOfOutput)) return output.slice(0, -endOfOutput.length)
  }
  return output
}

/** A process that runs the program's commands, one at a time. */
class Host {
  readonly #child: ChildProcess
  readonly #out: Socket
  readonly #err: Socket
  readonly #exited: Promise<readonly unknown[]>

  constructor() {
    this.#child = fork(hostFile, {
      silent: true,
      env: programEnvironment({ NO_COLOR: '1' }),
      execArgv: [...programFlags],
    })
    this.#out = this.#child.stdout as Socket
    this.#err = this.#child.stderr as Socket
    this.#out.setEncoding('utf8')
    this.#err.setEncoding('utf8')
    this.#exited = once(this.#child, 'exit')
    this.#keeps(false)
  }

  get isAlive(): boolean {
    return this.#child.connected
  }

  async run(wanted: Wanted): Promise<Ended> {
    this.#keeps(true)
    const told = once(this.#child, 'message')
    this.#child.send(wanted)
    const [[code], out, err] = await Promise.all([
      Promise.race([told, this.#exited]),
      readOutput(this.#out),
      readOutput(this.#err),
    ])
    this.#keeps(false)
    return { code: Number(code), out, err }
  }

  /** Whether the test's process waits for it. */
  #keeps(isNeeded: boolean): void {
    const parts = [this.#child, this.#child.channel, this.#out, this.#err]
    for (const part of parts) isNeeded ? part?.ref() : part?.unref()
  }
}

const idle: Host[] = []

/** Runs a command of the program to its end in a process that may have run others: a start costs more than most commands. */
export const runWords = async (folder: string, words: readonly string[]): Promise<Ended> => {
  const host = idle.pop() ?? new Host()
  const ended = await host.run({ folder, words })
  if (host.isAlive) idle.push(host)
  return ended
}

/** The same on the servers of a data folder. */
export const runProgram = (folder: string, dataFolder: string, ...words: readonly string[]): Promise<Ended> =>
  runWords(folder, [...words, '--data', dataFolder])
