import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from '../config/config.ts'
import { type ProcessRole, type RoleName, roleGroups, roleNames, type ServedRole } from '../roles/role.ts'
import { cliLimits } from './command-limits.ts'
import { listSecrets } from './faults.ts'
import { parsePort } from './option-values.ts'
import { UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'
import type { SupervisorMessage } from './supervisor-messages.ts'

interface ServeOptions {
  readonly port?: number
  readonly observePort?: number | 'off'
  readonly drainSeconds?: number
  readonly role?: ServedRole
  readonly workers?: number | 'auto'
  readonly firstSeal?: boolean
  /** The sandbox's address, or `none`: the process was started by a supervisor. */
  readonly supervised?: string
}

type ConfigOf = (
  command: Command,
  options: Omit<ServeOptions, 'role'> & {
    readonly role: ProcessRole
    readonly fileTexts: Config['fileTexts'] | undefined
  },
) => Config

const noSandbox = 'none'

const secondsOf = (text: string): number => {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('a time is given in whole seconds, up to 9999')
  return Number(text)
}

const observePortOf = (text: string): number | 'off' => (text === 'off' ? text : parsePort(text))

const groupNames = Object.keys(roleGroups) as readonly (keyof typeof roleGroups)[]

const isGroup = (group: readonly RoleName[], names: readonly string[]): boolean =>
  group.length === names.length && group.every((name) => names.includes(name))

/** One role, or several that may share a process, in any order. Throws InvalidArgumentError. */
export const parseRoles = (text: string): ServedRole => {
  const names = text.split(',').map((name) => name.trim())
  const role =
    roleNames.find((name) => text.trim() === name) ?? groupNames.find((name) => isGroup(roleGroups[name], names))
  if (role !== undefined) return role
  const together = groupNames.map((name) => roleGroups[name].join(',')).join(' or ')
  throw new InvalidArgumentError(`the roles are ${roleNames.join(', ')}; together in one process ${together}`)
}

/** Throws InvalidArgumentError. */
export const parseWorkers = (text: string): number | 'auto' => {
  if (text === 'auto') return text
  const workers = Number(text)
  if (!/^\d+$/.test(text) || workers < 1 || workers > cliLimits.workersMax)
    throw new InvalidArgumentError(`workers are a whole number from 1 to ${cliLimits.workersMax}, or auto`)
  return workers
}

/** Null: one process serves all, which two cores do as well in less memory (docs/performance.md). */
export const countWorkers = (workers: number | 'auto' | null, cores: number): number | null => {
  if (workers !== 'auto') return workers
  return cores <= 2 ? null : cores - 1
}

/** How a supervisor starts a process: as it was started itself, but for what it keeps. */
const argumentsFor =
  (command: Command, { port, observePort, drainSeconds, firstSeal }: ServeOptions, workers: number) =>
  (role: ServedRole, sandboxUrl: string | null): readonly string[] => {
    const { config, data } = command.optsWithGlobals<{ readonly config?: string; readonly data?: string }>()
    const options = {
      '--config': config,
      '--data': data,
      '--port': port,
      '--observe-port': observePort === 'off' ? observePort : undefined,
      '--drain-seconds': drainSeconds,
      '--role': (role in roleGroups ? roleGroups[role as keyof typeof roleGroups] : [role]).join(','),
      '--supervised': sandboxUrl ?? noSandbox,
      '--workers': role === 'worker' ? workers : undefined,
    }
    return [
      'serve',
      ...Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)])),
      ...(firstSeal === true && role === 'background' ? ['--first-seal'] : []),
    ]
  }

/** Of the configuration that the supervisor has in force: its files may have become invalid since. */
const receiveFileTexts = async (): Promise<Config['fileTexts'] | undefined> => {
  if (!process.connected) return undefined
  const [message] = (await once(process, 'message')) as [SupervisorMessage]
  return message.type === 'configured' ? new Map(message.files) : undefined
}

/** What requests in flight hold dies young: V8's new generation grows to its maximum at once. A supervisor has none in flight. */
const growNewGeneration = (): void => {
  const name = '--semi-space-growth-factor'
  if (!process.execArgv.some((flag) => flag.startsWith(name))) setFlagsFromString(`${name}=64`)
}

/** What V8 makes in the old generation, since earlier objects lived long, keeps its whole request until a full collection. */
const makeObjectsYoung = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

const serve = async (options: ServeOptions, command: Command, configOf: ConfigOf): Promise<void> => {
  makeObjectsYoung()
  const { role, supervised } = options
  if (role !== undefined && supervised === undefined && options.workers !== undefined)
    throw new UsageError('--workers is of the whole gateway: leave out --role')
  const fileTexts = supervised === undefined ? undefined : await receiveFileTexts()
  const config = configOf(command, { ...options, role: role ?? 'gateway', fileTexts })
  const configured = role === undefined ? config.workers : null
  const workers = countWorkers(options.workers ?? configured, availableParallelism())
  const runtime = createRuntime(config.logLevel, { role: role ?? 'gateway', secrets: listSecrets(config) })
  // The roles are most of the program, and most commands need none.
  if (role !== undefined && supervised !== undefined) {
    const { serveSupervised } = await import('./serve-supervised.ts')
    return serveSupervised(config, runtime, role, {
      sandboxUrl: supervised === noSandbox ? null : supervised,
      workers: workers ?? undefined,
    })
  }
  if (workers === null) growNewGeneration()
  const { serveGateway, serveWorkers } = await import('./serve.ts')
  if (workers !== null)
    return serveWorkers(config, runtime, { workers, argumentsFor: argumentsFor(command, options, workers) })
  return serveGateway(config, runtime, role)
}

export const registerServe = (program: Command, configOf: ConfigOf): void => {
  program
    .command('serve')
    .description('run the gateway, with embedded servers unless external ones are configured')
    .option('--port <port>', 'port to listen on (default: 8787)', parsePort)
    .option('--observe-port <port>', 'port of metrics and health: 0 for any that is free, or off', observePortOf)
    .option(
      '--workers <count>',
      'processes that serve clients, or auto for one less than there are cores, from three on (default: one process for all)',
      parseWorkers,
    )
    .option(
      '--role <roles>',
      `run one role alone, or ${Object.values(roleGroups)
        .map((group) => group.join(','))
        .join(' or ')} together, on servers that run already`,
      parseRoles,
    )
    .option(
      '--drain-seconds <seconds>',
      'how long requests in flight may run after SIGTERM (default: as configured, or 15)',
      secondsOf,
    )
    .option('--first-seal', 'seal a log of which nothing is known to be signed, as it is: one that was made elsewhere')
    .addOption(new Option('--supervised <sandbox>').hideHelp())
    .action((options: ServeOptions, command: Command) => serve(options, command, configOf))
}
