import type { Command } from 'commander'
import { type Config, readConfig } from '../config/config.ts'
import type { ProcessRole } from '../roles/role.ts'
import { registerArchive } from './archive-command.ts'
import { registerAudit } from './audit-command.ts'
import { registerBackup } from './backup-command.ts'
import { callbackSecretRecord } from './callbacks.ts'
import type { CommandContext } from './command-context.ts'
import { registerDoctor } from './doctor-command.ts'
import { registerExplain } from './explain-command.ts'
import { registerExport } from './export-command.ts'
import { registerFindings } from './findings-command.ts'
import { registerMonthReport } from './month-report-command.ts'
import { findGroup, registerOperations } from './operations.ts'
import { resolveOperator } from './operator.ts'
import { parsePort } from './option-values.ts'
import { openTail, type Platform, withPlatform } from './platform.ts'
import { registerProve } from './prove-command.ts'
import { registerProvider } from './provider-command.ts'
import { registerReconcile } from './reconcile-command.ts'
import { registerReplay } from './replay-command.ts'
import { printRecords } from './report.ts'
import { registerRestore } from './restore-command.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { registerServe } from './serve-command.ts'
import { runServers } from './servers.ts'
import { registerStatement } from './statement-command.ts'
import { registerStatus } from './status.ts'
import { registerVerify } from './verify-command.ts'
import { registerWitness } from './witness-command.ts'

interface Globals {
  readonly config?: string
  readonly data?: string
  readonly actor?: string
}

const configOf = (
  command: Command,
  options: {
    readonly port?: number
    readonly observePort?: number | 'off'
    readonly drainSeconds?: number
    readonly role?: ProcessRole
    readonly callbackSecret?: boolean
    readonly withoutKeys?: boolean
    readonly firstSeal?: boolean
    readonly fileTexts?: Config['fileTexts'] | undefined
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

export const registerCommands = (program: Command): void => {
  registerServe(program, configOf)
  program
    .command('servers')
    .description('run the embedded PostgreSQL and NATS alone, for roles that are started one by one')
    .action((_options: object, command: Command) =>
      runServers(configOf(command), createRuntime('info', { role: 'servers' })),
    )
  registerStatus(program, configOf)
  registerDoctor(program, configOf)
  registerOperations(program, withSession)
  registerCallbackSecret(findGroup(program, 'workspace'))
  registerReplay(program, configOf)
  registerAudit(program, configOf)
  registerVerify(program, configOf)
  registerProvider(program, configOf)
  registerProve(program, configOf)
  registerExplain(program, configOf)
  registerFindings(program, configOf)
  registerStatement(program, configOf)
  registerMonthReport(program, configOf)
  registerExport(program, configOf)
  registerArchive(program, configOf)
  registerBackup(program, configOf)
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
