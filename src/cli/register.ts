import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Config, readConfig } from '../config/config.ts'
import { type ProcessRole, type RoleName, roleNames } from '../roles/role.ts'
import { registerArchive } from './archive-command.ts'
import { registerAudit } from './audit-command.ts'
import { callbackSecretRecord } from './callbacks.ts'
import type { CommandContext } from './command-context.ts'
import { registerExplain } from './explain-command.ts'
import { listSecrets } from './faults.ts'
import { registerFindings } from './findings-command.ts'
import { findGroup, registerOperations } from './operations.ts'
import { resolveOperator } from './operator.ts'
import { parsePort } from './option-values.ts'
import { openTail, type Platform, withPlatform } from './platform.ts'
import { registerProve } from './prove-command.ts'
import { registerReconcile } from './reconcile-command.ts'
import { registerReplay } from './replay-command.ts'
import { printRecords } from './report.ts'
import { registerRestore } from './restore-command.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { runServers } from './servers.ts'
import { registerStatement } from './statement-command.ts'
import { printStatus } from './status.ts'
import { registerVerify } from './verify-command.ts'
import { registerWitness } from './witness-command.ts'

interface Globals {
  readonly config?: string
  readonly data?: string
  readonly actor?: string
}

const secondsOf = (text: string): number => {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('a time is given in whole seconds, up to 9999')
  return Number(text)
}

const observePortOf = (text: string): number | 'off' => (text === 'off' ? text : parsePort(text))

const configOf = (
  command: Command,
  options: {
    readonly port?: number
    readonly observePort?: number | 'off'
    readonly drainSeconds?: number
    readonly role?: ProcessRole
    readonly callbackSecret?: boolean
    readonly firstSeal?: boolean
  } = {},
): Config => {
  const { config, data } = command.optsWithGlobals<Globals>()
  return readConfig(process.env, { role: 'operator', ...options, file: config, dataFolder: data })
}

interface CommandSession extends CommandContext {
  readonly platform: Platform
  readonly config: Config
  readonly runtime: Runtime
}

const withSession = async (
  command: Command,
  work: (session: CommandSession) => Promise<void>,
  options: { readonly callbackSecret?: boolean } = {},
): Promise<void> => {
  const config = configOf(command, options)
  const runtime = createRuntime('warn')
  await withPlatform(config, runtime, {}, async (platform) => {
    const tail = await openTail(platform)
    const actor = resolveOperator(command.optsWithGlobals<Globals>().actor)
    await work({ platform, log: platform.log, tail, actor, config, runtime })
    await tail.stop()
  })
}

const registerCallbackSecret = (workspace: Command): void => {
  workspace
    .command('callback-secret <workspace>')
    .description('show what a workspace verifies its callbacks with')
    .option('--json', 'one JSON object a line', false)
    .action((id: string, options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => printRecords([callbackSecretRecord(session, id)], options), {
        callbackSecret: true,
      }),
    )
}

interface ServeOptions {
  readonly port?: number
  readonly observePort?: number | 'off'
  readonly drainSeconds?: number
  readonly role?: RoleName
  readonly firstSeal?: boolean
}

export const registerCommands = (program: Command): void => {
  program
    .command('serve')
    .description('run the gateway, with embedded servers unless external ones are configured')
    .option('--port <port>', 'port to listen on (default: 8787)', parsePort)
    .option('--observe-port <port>', 'port of metrics and health: 0 for any that is free, or off', observePortOf)
    .addOption(new Option('--role <role>', 'run one role alone, on servers that run already').choices(roleNames))
    .option(
      '--drain-seconds <seconds>',
      'how long requests in flight may run after SIGTERM (default: as configured, or 15)',
      secondsOf,
    )
    .option('--first-seal', 'seal a log of which nothing is known to be signed, as it is: one that was made elsewhere')
    .action(async (options: ServeOptions, command: Command) => {
      const config = configOf(command, { role: 'gateway', ...options })
      const { serveGateway } = await import('./serve.ts') // The roles are most of the program, and most commands need none.
      const source = { role: options.role ?? 'gateway', secrets: listSecrets(config) }
      return serveGateway(config, createRuntime(config.logLevel, source), options.role)
    })
  program
    .command('servers')
    .description('run the embedded PostgreSQL and NATS alone, for roles that are started one by one')
    .action((_options: object, command: Command) =>
      runServers(configOf(command), createRuntime('info', { role: 'servers' })),
    )
  program
    .command('status')
    .description('how much the log holds, and how far behind the tables are')
    .option('--json', 'one JSON object a line', false)
    .action((options: { json: boolean }, command: Command) =>
      printStatus(configOf(command), createRuntime('warn'), options),
    )
  registerOperations(program, withSession)
  registerCallbackSecret(findGroup(program, 'workspace'))
  registerReplay(program, configOf)
  registerAudit(program, configOf)
  registerVerify(program, configOf)
  registerProve(program, configOf)
  registerExplain(program, configOf)
  registerFindings(program, configOf)
  registerStatement(program, configOf)
  registerArchive(program, configOf)
  registerRestore(program, configOf)
  registerReconcile(program, configOf)
  registerWitness(program, configOf)
  program
    .command('openapi')
    .description('print the OpenAPI document of everything that the gateway serves')
    .action(async () => {
      const { openapiDocument } = await import('../roles/edge/operations.ts')
      console.log(JSON.stringify(openapiDocument(), null, 2))
    })
  program
    .command('sandbox')
    .description('run the sandbox provider alone')
    .option('--port <port>', 'port to listen on', parsePort, 8788)
    .action(async (options: { port: number }) => {
      const { serveSandbox } = await import('./serve-sandbox.ts')
      return serveSandbox(options.port, createRuntime('info', { role: 'sandbox' }))
    })
}
