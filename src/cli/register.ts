import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Config, readConfig, readPriceFile } from '../config/config.ts'
import { type ProcessRole, type RoleName, roleNames } from '../roles/role.ts'
import {
  type CommandContext,
  changeWorkspace,
  creditWallet,
  issueKey,
  keyRecords,
  openWorkspace,
  revokeKey,
  rotateKey,
  setKeyExpiry,
  workspaceRecord,
} from './accounts.ts'
import { registerArchive } from './archive-command.ts'
import { registerAudit } from './audit-command.ts'
import { callbackSecretRecord } from './callbacks.ts'
import { cliLimits } from './command-limits.ts'
import { registerExplain } from './explain-command.ts'
import { listSecrets } from './faults.ts'
import { type ImportOptions, importPrices, readTable } from './import-prices.ts'
import { registerLimits } from './limits-command.ts'
import { resolveOperator } from './operator.ts'
import { registerPlan } from './plan-command.ts'
import { openTail, type Platform, withPlatform } from './platform.ts'
import { perCallRecords, priceInFull, priceInShort, priceRecords, publishPrices } from './prices.ts'
import { registerProve } from './prove-command.ts'
import { registerReconcile } from './reconcile-command.ts'
import { registerReplay } from './replay-command.ts'
import { printRecords, UsageError } from './report.ts'
import { registerRestore } from './restore-command.ts'
import { registerRouting } from './routing-command.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { runServers } from './servers.ts'
import { parseInstantOption, registerStatement } from './statement-command.ts'
import { printStatus } from './status.ts'
import { registerVerify } from './verify-command.ts'

interface Globals {
  readonly config?: string
  readonly data?: string
  readonly actor?: string
}

const portOf = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('a port is a whole number from 0 to 65535')
  return port
}

const secondsOf = (text: string): number => {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('a time is given in whole seconds, up to 9999')
  return Number(text)
}

const observePortOf = (text: string): number | 'off' => (text === 'off' ? text : portOf(text))

const configOf = (
  command: Command,
  options: {
    readonly port?: number
    readonly observePort?: number | 'off'
    readonly drainSeconds?: number
    readonly role?: ProcessRole
    readonly callbackSecret?: boolean
  } = {},
): Config => {
  const { config, data } = command.optsWithGlobals<Globals>()
  return readConfig(process.env, { role: 'operator', ...options, file: config, dataFolder: data })
}

export interface CommandSession extends CommandContext {
  readonly platform: Platform
  readonly config: Config
  readonly runtime: Runtime
}

export type WithSession = (command: Command, work: (session: CommandSession) => Promise<void>) => Promise<void>

const withSession = async (
  command: Command,
  work: (session: CommandSession) => Promise<void>,
  options: { readonly callbackSecret?: boolean } = {},
): Promise<void> => {
  const config = configOf(command, options)
  const runtime = createRuntime('warn')
  await withPlatform(config, runtime, {}, async (platform) => {
    const tail = await openTail(platform, runtime)
    const actor = resolveOperator(command.optsWithGlobals<Globals>().actor)
    await work({ platform, log: platform.log, tail, actor, config, runtime })
    await tail.stop()
  })
}

/** Throws UsageError for an instant in the past. */
const requireFuture = <Instant extends Date | undefined>(instant: Instant, { runtime }: CommandSession): Instant => {
  if (instant !== undefined && instant.getTime() <= runtime.clock())
    throw new UsageError(`${instant.toISOString()} is over`)
  return instant
}

const parseGrace = (text: string): number => {
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds <= cliLimits.keyGraceSecondsMax))
    throw new InvalidArgumentError(`a grace is a whole number of seconds, 0 to ${cliLimits.keyGraceSecondsMax}`)
  return seconds
}

const json = (): Option => new Option('--json', 'one JSON object a line').default(false)

const registerWorkspace = (program: Command): void => {
  const workspace = program.command('workspace').description('open, change, list and show workspaces: who pays')
  workspace
    .command('open <workspace>')
    .description('open a workspace; opening it again does nothing')
    .option('--name <name>', 'display name (default: the id)')
    .option('--credit-limit <usd>', 'how far below zero the balance may go', '0')
    .addOption(json())
    .action((id: string, options: { name?: string; creditLimit: string; json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        await openWorkspace(session, id, options.name ?? id, options.creditLimit)
        printRecords([workspaceRecord(session, id)], options)
      }),
    )
  workspace
    .command('change <workspace>')
    .description('change its name or credit limit; every later hold obeys it')
    .option('--name <name>', 'display name')
    .option('--credit-limit <usd>', 'how far below zero the balance may go')
    .addOption(json())
    .action((id: string, options: { name?: string; creditLimit?: string; json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const changed = await changeWorkspace(session, id, options)
        if (!changed) console.error('nothing was changed')
        printRecords([workspaceRecord(session, id)], options)
      }),
    )
  workspace
    .command('list')
    .description('every workspace with its wallet')
    .addOption(json())
    .action((options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const ids = [...session.tail.ledger.accounts.workspaces.keys()].sort()
        printRecords(
          ids.map((id) => workspaceRecord(session, id)),
          options,
        )
      }),
    )
  workspace
    .command('show <workspace>')
    .description("one workspace's wallet, exactly, as the log has it now")
    .addOption(json())
    .action((id: string, options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => printRecords([workspaceRecord(session, id)], options)),
    )
  workspace
    .command('callback-secret <workspace>')
    .description('show what a workspace verifies its callbacks with')
    .addOption(json())
    .action((id: string, options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => printRecords([callbackSecretRecord(session, id)], options), {
        callbackSecret: true,
      }),
    )
}

interface CreditOptions {
  readonly reference: string
  readonly note: string
  readonly expires?: Date
  readonly json: boolean
}

const registerCredit = (program: Command): void => {
  program
    .command('credit <workspace> <usd>')
    .description('add money to a wallet, once for each reference')
    .requiredOption(
      '--reference <text>',
      'what the money is for, such as an invoice number; repeated, it credits nothing',
    )
    .option('--note <text>', 'a remark for the statement', '')
    .option(
      '--expires <instant>',
      'when what is left of it lapses, such as 2027-01-01 (default: never)',
      parseInstantOption,
    )
    .addOption(json())
    .action((id: string, usd: string, options: CreditOptions, command: Command) =>
      withSession(command, async (session) => {
        const { reference, note, expires } = options
        const fresh = await creditWallet(session, id, usd, reference, note, requireFuture(expires, session))
        if (!fresh) console.error(`the reference ${options.reference} was credited before; nothing was added`)
        printRecords([workspaceRecord(session, id)], options)
      }),
    )
}

const registerKey = (program: Command): void => {
  const key = program.command('key').description('issue, rotate, revoke and list keys: who calls')
  key
    .command('issue <workspace>')
    .description('issue a key and show it, this once')
    .option('--name <name>', 'what the key is for; a workspace has one working key of a name', 'default')
    .option('--expires <instant>', 'when it stops (default: never)', parseInstantOption)
    .addOption(json())
    .action((id: string, options: { name: string; expires?: Date; json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const { newId, randomText } = session.runtime
        const expiresAtMs = requireFuture(options.expires, session)?.getTime() ?? null
        const { keyId, secret } = await issueKey(session, id, options.name, newId, randomText, expiresAtMs)
        printRecords([{ key: keyId, workspace: id, name: options.name, secret }], options)
      }),
    )
  key
    .command('rotate <key>')
    .description('put a fresh key in the place of one, under its name, and show it, this once')
    .requiredOption('--grace <seconds>', 'how long the one that is replaced goes on; 0 ends it at once', parseGrace)
    .option(
      '--expires <instant>',
      'when the fresh one stops (default: when the one it replaces would have)',
      parseInstantOption,
    )
    .addOption(json())
    .action((keyId: string, options: { grace: number; expires?: Date; json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const { grace, expires } = options
        const graceEndsAtMs = grace === 0 ? null : session.runtime.clock() + grace * 1_000
        const rotation = { graceEndsAtMs, expiresAtMs: requireFuture(expires, session)?.getTime() }
        const fresh = await rotateKey(session, keyId, rotation, session.runtime)
        printRecords([{ key: fresh.keyId, replaces: keyId, secret: fresh.secret }], options)
      }),
    )
  key
    .command('expire <key>')
    .description('set when a key stops')
    .argument('<instant>', 'such as 2027-01-31T12:00:00Z', parseInstantOption)
    .action((keyId: string, at: Date, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const expiresAtMs = requireFuture(at, session).getTime()
        const isNews = await setKeyExpiry(session, keyId, expiresAtMs)
        console.error(isNews ? 'set' : 'it was so before')
      }),
    )
  key
    .command('revoke <key>')
    .description('end a key by its id; ending it again does nothing')
    .action((keyId: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const worked = await revokeKey(session, keyId)
        console.error(worked ? 'revoked' : 'it was revoked before')
      }),
    )
  key
    .command('list [workspace]')
    .description('keys by id and prefix; secrets are kept nowhere')
    .addOption(json())
    .action((id: string | undefined, options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => printRecords(keyRecords(session, id, session.runtime.clock()), options)),
    )
}

/** For a single model also the prices of its tools, those in force. */
const printPrices = (records: ReturnType<typeof priceRecords>, model: string | undefined): void => {
  const asText = { json: false }
  printRecords(records.map(priceInShort), asText)
  const calls = records.filter(({ inForce }) => inForce && model !== undefined).flatMap(perCallRecords)
  if (calls.length > 0) console.log()
  printRecords(calls, asText)
}

const registerPrices = (program: Command): void => {
  const prices = program.command('prices').description('publish, import and show price sheets')
  prices
    .command('publish [file]')
    .description('publish a price file (default: the configured one); what stands already is not published again')
    .addOption(json())
    .action((file: string | undefined, options: { json: boolean }, command: Command) => {
      const named = file === undefined ? undefined : readPriceFile(file)
      return withSession(command, async (session) => {
        const fresh = await publishPrices(session, named ?? session.config.prices)
        printRecords(
          fresh.map(({ model, effectiveFrom, version }) => ({ model, effective_from: effectiveFrom, version })),
          options,
        )
        console.error(`${fresh.length} published`)
      })
    })
  prices
    .command('import <file>')
    .description(
      'compare another table of prices with what is in force, tell every difference, and publish what is asked',
    )
    .addOption(new Option('--format <format>', 'whose table it is').choices(['litellm']).default('litellm'))
    .option('--dry-run', 'publish nothing', false)
    .option(
      '--model <models...>',
      'publish these alone, as they are named here (default: all that were added or changed)',
    )
    .option('--from <instant>', 'from when on the prices count (default: now)', parseInstantOption)
    .option('--all', 'also show what is of providers that are not configured', false)
    .addOption(json())
    .action((file: string, options: ImportOptions, command: Command) => {
      const table = readTable(file)
      return withSession(command, (session) => importPrices(session, table, options))
    })
  prices
    .command('show [model]')
    .description('every sheet, by model and instant; USD per million tokens, and per call of a tool; whole with --json')
    .addOption(json())
    .action((model: string | undefined, options: { json: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const records = priceRecords(session, model, session.runtime.clock())
        if (options.json) printRecords(records.map(priceInFull), options)
        else printPrices(records, model)
      }),
    )
}

interface ServeOptions {
  readonly port?: number
  readonly observePort?: number | 'off'
  readonly drainSeconds?: number
  readonly role?: RoleName
}

export const registerCommands = (program: Command): void => {
  program
    .command('serve')
    .description('run the gateway, with embedded servers unless external ones are configured')
    .option('--port <port>', 'port to listen on (default: 8787)', portOf)
    .option('--observe-port <port>', 'port of metrics and health: 0 for any that is free, or off', observePortOf)
    .addOption(new Option('--role <role>', 'run one role alone, on servers that run already').choices(roleNames))
    .option(
      '--drain-seconds <seconds>',
      'how long requests in flight may go on at SIGTERM (default: as configured, or 15)',
      secondsOf,
    )
    .action(async (options: ServeOptions, command: Command) => {
      const config = configOf(command, { role: 'gateway', ...options })
      const { serveGateway } = await import('./serve.ts') // The roles are most of the program, and most commands need none.
      return serveGateway(config, createRuntime(config.logLevel, listSecrets(config)), options.role)
    })
  program
    .command('servers')
    .description('run the embedded PostgreSQL and NATS alone, for roles that are started one by one')
    .action((_options: object, command: Command) => runServers(configOf(command), createRuntime('info')))
  program
    .command('status')
    .description('how much the log holds, and how far behind the tables are')
    .addOption(json())
    .action((options: { json: boolean }, command: Command) =>
      printStatus(configOf(command), createRuntime('warn'), options),
    )
  registerWorkspace(program)
  registerCredit(program)
  registerKey(program)
  registerLimits(program, withSession)
  registerPrices(program)
  registerRouting(program, withSession, json)
  registerPlan(program, withSession)
  registerReplay(program, configOf)
  registerAudit(program, configOf)
  registerVerify(program, configOf)
  registerProve(program, configOf)
  registerExplain(program, configOf)
  registerStatement(program, configOf)
  registerArchive(program, configOf)
  registerRestore(program, configOf)
  registerReconcile(program, configOf)
  program
    .command('openapi')
    .description('print the OpenAPI document of everything that the gateway serves')
    .action(async () => {
      const { openapiDocument } = await import('../roles/edge/surfaces/openapi/openapi.ts')
      console.log(JSON.stringify(openapiDocument(), null, 2))
    })
  program
    .command('sandbox')
    .description('run the sandbox provider alone')
    .option('--port <port>', 'port to listen on', portOf, 8788)
    .action(async (options: { port: number }) => {
      const { serveSandbox } = await import('./serve-sandbox.ts')
      return serveSandbox(options.port, createRuntime('info'))
    })
}
