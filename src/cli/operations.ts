import type { Command } from 'commander'
import { openEndUserKeys } from '../adapters/nats/end-users/open.ts'
import {
  type AdminOperation,
  type CommandDescription,
  type CommandOperationContext,
  type CommandOutput,
  type CommandPath,
  changesLog,
  type OperationContext,
} from '../administration/operation.ts'
import { adminOperations } from '../administration/operations/table.ts'
import type { Config } from '../config/config.ts'
import { effectiveCatalog } from '../domain/routing/overlay.ts'
import { isObject, type JsonObject } from '../encoding/json.ts'
import { getValidator, readSchema, type SchemaProblem } from '../encoding/schema-validation.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { EndUserKeyStore } from '../log/end-users.ts'
import { createOption, flagsOf, type Member, membersOf, schemaOf, setMember } from './body-members.ts'
import { catchUp } from './catch-up.ts'
import type { CommandContext } from './command-context.ts'
import { parseMonthOption } from './option-values.ts'
import { type Platform, requireTables } from './platform.ts'
import { CommandError, printRecords, printWarnings, UsageError } from './report.ts'
import type { Runtime } from './runtime.ts'

/** What a command on operations works with. */
interface OperationSession extends CommandContext {
  readonly runtime: Runtime
  readonly platform: Platform
  readonly config: Pick<
    Config,
    'requestsPerMinute' | 'catalog' | 'prices' | 'tagNames' | 'invoicing' | 'approvalAbovePicos' | 'alertDestinations'
  >
}

export type WithOperationSession = (
  command: Command,
  work: (session: OperationSession) => Promise<void>,
) => Promise<void>

const tablesOf = ({
  platform,
  runtime,
}: Pick<OperationSession, 'platform' | 'runtime'>): OperationContext['readModels'] => ({
  listAdminChanges: async (wanted) => {
    await catchUp(platform, runtime)
    return requireTables(platform).database.readModels().listAdminChanges(wanted)
  },
  listCalls: () => Promise.reject(new Error('only an edge lists deployments')),
  readReport: () => Promise.reject(new Error('the command report reads the tables by itself')),
  findTrace: (id) =>
    platform.tables === null
      ? Promise.reject(new Error('no database'))
      : platform.tables.database.readModels().findTrace(id),
  listUnfinished: async (month, sequence) => {
    await catchUp(platform, runtime)
    return requireTables(platform).database.readModels().listUnfinished(month, sequence)
  },
  readInvoiced: async (wanted, sequence) => {
    await catchUp(platform, runtime)
    return requireTables(platform).database.readModels().readInvoiced(wanted, sequence)
  },
  readPeriodJournal: async (month, sequence) => {
    await catchUp(platform, runtime)
    return requireTables(platform).database.readModels().readPeriodJournal(month, sequence)
  },
})

/** On a connection of its own, which few commands need. */
const withEndUserKeys = async <T>(
  { connect, endUsers }: OperationSession['platform'],
  work: (store: EndUserKeyStore) => Promise<T>,
): Promise<T> => {
  const connection = await connect('end-users')
  try {
    return await work(await openEndUserKeys({ ...endUsers, connection }))
  } finally {
    await connection.close()
  }
}

const createOperationContext = ({
  platform,
  log,
  tail,
  actor,
  config,
  runtime,
}: OperationSession): CommandOperationContext => ({
  ...runtime,
  role: 'owner',
  ...{ log, tail, readModels: tablesOf({ platform, runtime }) },
  endUserKeys: {
    find: (workspaceId) => withEndUserKeys(platform, (store) => store.find(workspaceId)),
    create: (workspaceId, key) => withEndUserKeys(platform, (store) => store.create(workspaceId, key)),
    erase: (workspaceId) => withEndUserKeys(platform, (store) => store.erase(workspaceId)),
  },
  tagNames: config.tagNames,
  invoicing: () => config.invoicing,
  approvalAbovePicos: () => config.approvalAbovePicos,
  ejections: null,
  alertDestinations: () => config.alertDestinations,
  ...(actor === undefined ? {} : { actor }),
  configured: () => config.catalog,
  catalog: () => effectiveCatalog(config.catalog, tail.ledger.routing),
  prices: config.prices,
  requestsPerMinute: () => config.requestsPerMinute,
})

const describeProblem = (members: readonly Member[], { path, message }: SchemaProblem): string => {
  const member = members.findLast(({ name }) => path.startsWith(name))
  return `${path} ${message}${member === undefined ? '' : ` (${flagsOf(member)}: ${member.description})`}`
}

/** Whether the body names nothing to change. Throws UsageError for a body that is not valid. */
const isEmptyChange = ({ operation: { request }, members }: Call, body: JsonObject): boolean => {
  const problems = request === null ? [] : getValidator(request, { allErrors: true })(body)
  const wrong = problems.filter(({ path, keyword }) => path !== '' || keyword !== 'minProperties')
  if (wrong.length > 0) throw new UsageError(wrong.map((each) => describeProblem(members, each)).join('; '))
  return problems.length > 0
}

const isRefusedForm = ({ param }: GatewayError, members: readonly Member[]): boolean =>
  members.some(({ name, kind }) => name === param && kind.isOfForm)

/** A refusal of what an option names is a wrong use, where it would be refused whatever the log has. */
const commandErrorOf = (fault: unknown, members: readonly Member[]): unknown => {
  if (!(fault instanceof GatewayError) || fault.code !== 'invalid_value') return fault
  if (isRefusedForm(fault, members)) return new UsageError(fault.message, { cause: fault })
  const part = members.find(({ name }) => name.startsWith(`${fault.param}.`))
  return part === undefined ? fault : new CommandError(`${fault.message} ${flagsOf(part)}: ${part.description}`)
}

interface Call {
  readonly operation: AdminOperation
  readonly cli: CommandDescription
  readonly members: readonly Member[]
  readonly path: CommandPath
  /** What the arguments and options name. */
  readonly body: JsonObject
}

const report = (text: string | undefined): void => {
  if (text !== undefined) console.error(text)
}

/** Null and empty members are dropped. */
const changeMembers = (current: JsonObject, change: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries({ ...current, ...change }).filter(
      ([, value]) => value !== null && !(isObject(value) && Object.keys(value).length === 0),
    ),
  )

/** A member that is an object is changed member by member. */
const applyChange = (current: JsonObject, change: JsonObject): JsonObject => {
  const inner = Object.entries(change).map(([name, value]) => [
    name,
    isObject(value) ? changeMembers(schemaOf(current, name), value) : value,
  ])
  return changeMembers(current, Object.fromEntries(inner))
}

/** Prints what is reported on standard error; returns the body of the result. */
const runChange = async (context: CommandOperationContext, call: Call): Promise<Readonly<Record<string, unknown>>> => {
  const { operation, cli, members, path } = call
  const { changed, unchanged, absent } = cli.reports ?? {}
  const body = cli.current === undefined ? call.body : applyChange(await cli.current(context, path), call.body)
  try {
    if (isEmptyChange(call, body)) {
      report(unchanged)
      return {}
    }
    const result = await operation.run(context, { ...path, body })
    report(result.changed === true ? changed : unchanged)
    printWarnings(result.warnings ?? [])
    return result.body
  } catch (fault) {
    if (absent === undefined || !(fault instanceof GatewayError) || fault.code !== 'not_found')
      throw commandErrorOf(fault, members)
    report(absent)
    return {}
  }
}

const runCommand = async (session: OperationSession, call: Call, output: CommandOutput): Promise<void> => {
  const { operation, cli, path, body } = call
  const context = createOperationContext(session)
  const input = { ...path, body }
  if (cli.text !== undefined) {
    process.stdout.write(await cli.text(context, path))
    return
  }
  const result = changesLog(operation) ? await runChange(context, call) : {}
  const records = (await cli.records?.(context, input, result, output)) ?? []
  if (records.length === 0 && !changesLog(operation)) report(cli.reports?.absent)
  printRecords(records, output)
  const details = output.json ? [] : (cli.details?.(context, path) ?? [])
  if (details.length > 0) console.log()
  printRecords(details, output)
  for (const note of cli.notes?.(result, input, output) ?? []) report(note)
}

const groups: Readonly<Record<string, string>> = {
  workspace: 'open, change, list and show workspaces: who pays',
  key: 'issue, rotate, revoke and list keys: who calls',
  alert: 'what is raised when spend, balance, runway, errors or unreconciled invoices reach a threshold',
  adjustment: 'approve or reject adjustments above the amount that one person may post',
  invoice: 'issue, list and print invoices on closed months',
  alias: 'what bare names resolve to, at every edge at once; an override in the log precedes the configuration',
  limits: 'what a workspace and its keys may spend, ask and use',
  router: 'what gateway/<router> tries, at every edge at once; an override in the log precedes the configuration',
  prices: 'publish, import and show price sheets',
  plan: 'publish plans, and assign them to workspaces',
}

/** The command that has those of a noun. */
export const findGroup = (program: Command, name: string): Command =>
  program.commands.find((command) => command.name() === name) ?? program.command(name).description(groups[name] ?? '')

/** The body that a command's own options describe. Throws UsageError. */
const bodyOfCommand = ({ body }: CommandDescription, path: CommandPath, named: JsonObject): JsonObject => {
  try {
    return { ...(body?.(path, named) ?? named) }
  } catch (fault) {
    throw fault instanceof GatewayError ? new UsageError(fault.message, { cause: fault }) : fault
  }
}

const addArgument = (command: Command, placeholder: string, member: Member | undefined): void => {
  if (placeholder === '<month>') command.argument(placeholder, 'in UTC, such as 2026-11', parseMonthOption)
  else if (member === undefined) command.argument(placeholder)
  else command.argument(placeholder, member.description, member.kind.parse)
}

/** Of the options of a command: their names are as commander has them, `endUser`. */
const queryOf = ({ queryOptions = {} }: CommandDescription, given: JsonObject): string => {
  const query = new URLSearchParams()
  for (const name of Object.keys(queryOptions)) {
    const value = given[name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())]
    if (typeof value === 'string') query.set(name, value)
  }
  return query.toString()
}

const registerOperation = (
  program: Command,
  operation: AdminOperation,
  cli: CommandDescription,
  withSession: WithOperationSession,
): void => {
  const [noun = '', verb] = (cli.words ?? operation.name.replace('.', ' ')).split(' ')
  const command = verb === undefined ? program.command(noun) : findGroup(program, noun).command(verb)
  command.description(cli.summary ?? `${operation.summary[0]?.toLowerCase()}${operation.summary.slice(1)}`)
  const members = operation.request === null ? [] : membersOf(readSchema(operation.request), cli)
  const positional = Object.entries(cli.arguments)
  for (const [name, placeholder] of positional)
    addArgument(
      command,
      placeholder,
      members.find((each) => each.name === name),
    )
  const optional = members.filter(({ name }) => !Object.hasOwn(cli.arguments, name))
  const options = optional.map((member) => ({ name: member.name, option: createOption(member) }))
  for (const { option } of options) command.addOption(option)
  if (cli.keyOption !== undefined) command.option('--key <key>', cli.keyOption)
  for (const [name, [placeholder, description]] of Object.entries(cli.queryOptions ?? {}))
    command.option(
      `--${name.replaceAll('_', '-')} ${placeholder}`,
      description,
      placeholder === '<month>' ? parseMonthOption : String,
    )
  if (cli.allOption !== undefined) command.option('--all', cli.allOption)
  if (cli.records !== undefined) command.option('--json', 'one JSON object a line', false)
  command.action(() => {
    const given = command.opts()
    const values = [
      ...positional.map(([name], index) => [name, command.processedArgs[index]] as const),
      ...options.map(({ name, option }) => [name, given[option.attributeName()]] as const),
    ].filter(([, value]) => value !== undefined)
    const { id = '', key = given['key'] ?? '' } = Object.fromEntries(values)
    const named = values.filter(([name]) => members.some((member) => member.name === name))
    const path = { id, key, querystring: queryOf(cli, given) }
    const body = bodyOfCommand(cli, path, named.reduce(setMember, {}))
    const call: Call = { operation, cli, members, path, body }
    if (cli.current === undefined) isEmptyChange(call, body)
    const output = { json: given['json'] === true, all: given['all'] === true }
    return withSession(command, (session) => runCommand(session, call, output))
  })
}

/** The commands of the operations that have one. */
export const registerOperations = (program: Command, withSession: WithOperationSession): void => {
  for (const operation of adminOperations)
    if (operation.cli !== undefined) registerOperation(program, operation, operation.cli, withSession)
}
