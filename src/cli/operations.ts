import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AdminOperation,
  type CommandDescription,
  changesLog,
  type OperationContext,
} from '../administration/operation.ts'
import { adminOperations } from '../administration/operations/table.ts'
import type { Config } from '../config/config.ts'
import { isObject, type JsonObject } from '../encoding/json.ts'
import { getValidator, readSchema, type SchemaProblem } from '../encoding/schema-validation.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { resolveCatalog } from './catalog.ts'
import type { CommandContext } from './command-context.ts'
import { parseInstantOption, parseUsdOption } from './option-values.ts'
import { printRecords, printWarnings, UsageError } from './report.ts'
import type { Runtime } from './runtime.ts'

/** What a command on operations works with. */
export interface OperationSession extends CommandContext {
  readonly runtime: Runtime
  readonly config: Pick<Config, 'requestsPerMinute' | 'catalog'>
}

export type WithOperationSession = (
  command: Command,
  work: (session: OperationSession) => Promise<void>,
) => Promise<void>

const noTables: OperationContext['readModels'] = {
  listAdminChanges: () => Promise.reject(new Error('commands read no tables')),
}

export const createOperationContext = ({ log, tail, actor, config, runtime }: OperationSession): OperationContext => ({
  ...runtime,
  ...{ log, tail, readModels: noTables },
  ...(actor === undefined ? {} : { actor }),
  configured: config.catalog,
  catalog: () => resolveCatalog({ config, tail }),
  requestsPerMinute: config.requestsPerMinute,
})

const parseCount = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number')
  return Number(text)
}

interface ValueKind {
  readonly placeholder: string
  readonly parse: (text: string, before: unknown) => unknown
  /** Whether a value that the operation refuses is wrong whatever the log has. */
  readonly isOfForm: boolean
}

const usdPattern = '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,12})?$'
const usd: ValueKind = { placeholder: '<usd>', parse: parseUsdOption, isOfForm: true }
const instant: ValueKind = {
  placeholder: '<instant>',
  parse: (text) => parseInstantOption(text).toISOString(),
  isOfForm: true,
}
const count: ValueKind = { placeholder: '<n>', parse: parseCount, isOfForm: true }
const words: ValueKind = { placeholder: '<text>', parse: (text) => text, isOfForm: false }

const listOf = (parse: (text: string) => unknown): ValueKind => ({
  placeholder: '<text>',
  parse: (text, before) => [...(Array.isArray(before) ? before : []), parse(text)],
  isOfForm: false,
})

const kindOf = (property: JsonObject): ValueKind => {
  const [alternative] = Array.isArray(property['anyOf']) ? property['anyOf'] : []
  const { type, pattern, format } = isObject(alternative) ? alternative : property
  if (pattern === usdPattern) return usd
  if (format === 'date-time') return instant
  return type === 'integer' ? count : words
}

interface Member extends NonNullable<Required<CommandDescription>['members'][string]> {
  readonly name: string
  readonly description: string
  readonly kind: ValueKind
}

/** The members of an operation's body, by its schema and its command. */
const listMembers = ({ request }: AdminOperation, { members = {} }: CommandDescription): readonly Member[] => {
  if (request === null) return []
  const { properties, required } = readSchema(request)
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const property = isObject(schema) ? schema : {}
    const isRequired = Array.isArray(required) && required.includes(name)
    const description = String(property['description'] ?? '')
    const { parse, ...described } = members[name] ?? {}
    const kind = parse === undefined ? kindOf(property) : listOf(parse)
    return { name, description, ...(isRequired ? { required: true } : {}), ...described, kind }
  })
}

const unitPattern = /_(?:at|seconds)$/

/** `credit_limit` as `--credit-limit <usd>`; a unit at the end is the placeholder: `grace_seconds` as `--grace <seconds>`. */
const flagsOf = ({ name, kind }: Member): string => {
  const placeholder = name.endsWith('_seconds') ? '<seconds>' : kind.placeholder
  return `--${name.replace(unitPattern, '').replaceAll('_', '-')} ${placeholder}`
}

const createOption = (member: Member): Option => {
  const { flags = flagsOf(member), description, required = false, kind } = member
  const option = new Option(flags, description)
  if (member.value !== undefined) return option.preset(member.value)
  option.argParser(kind.parse)
  return member.default === undefined ? option.makeOptionMandatory(required) : option.default(member.default)
}

const describeProblem = (members: readonly Member[], { path, message }: SchemaProblem): string => {
  const description = members.find(({ name }) => name === path)?.description ?? ''
  return `${path} ${message}${description === '' ? '' : ` (${description})`}`
}

/** Whether the body names nothing to change. Throws UsageError for a body that is not valid. */
const isEmptyChange = ({ request }: AdminOperation, body: JsonObject, members: readonly Member[]): boolean => {
  const problems = request === null ? [] : getValidator(request, { allErrors: true })(body)
  const wrong = problems.filter(({ keyword }) => keyword !== 'minProperties')
  if (wrong.length > 0) throw new UsageError(wrong.map((each) => describeProblem(members, each)).join('; '))
  return problems.length > 0
}

const isRefusedForm = (fault: unknown, members: readonly Member[]): fault is GatewayError =>
  fault instanceof GatewayError &&
  fault.code === 'invalid_value' &&
  members.some(({ name, kind }) => name === fault.param && kind.isOfForm)

interface Call {
  readonly operation: AdminOperation
  readonly cli: CommandDescription
  readonly members: readonly Member[]
  readonly path: { readonly id: string; readonly key: string }
  readonly body: JsonObject
}

const report = (text: string | undefined): void => {
  if (text !== undefined) console.error(text)
}

/** Prints what is reported on standard error; returns the body of the result. */
const runChange = async (
  context: OperationContext,
  { operation, cli, members, path, body }: Call,
): Promise<Readonly<Record<string, unknown>>> => {
  const { changed, unchanged, absent } = cli.reports ?? {}
  try {
    if (isEmptyChange(operation, body, members)) {
      report(unchanged)
      return {}
    }
    const result = await operation.run(context, { ...path, body, querystring: '' })
    report(result.changed === true ? changed : unchanged)
    printWarnings(result.warnings ?? [])
    return result.body
  } catch (fault) {
    if (isRefusedForm(fault, members)) throw new UsageError(fault.message, { cause: fault })
    if (absent === undefined || !(fault instanceof GatewayError) || fault.code !== 'not_found') throw fault
    report(absent)
    return {}
  }
}

const runCommand = async (session: OperationSession, call: Call, output: { readonly json: boolean }): Promise<void> => {
  const context = createOperationContext(session)
  const body = changesLog(call.operation) ? await runChange(context, call) : {}
  const records = call.cli.records?.(context, call.path, body, output) ?? []
  if (records.length === 0 && !changesLog(call.operation)) report(call.cli.reports?.absent)
  printRecords(records, output)
}

const groups: Readonly<Record<string, string>> = {
  workspace: 'open, change, list and show workspaces: who pays',
  key: 'issue, rotate, revoke and list keys: who calls',
  alias: 'what bare names resolve to, at every edge at once; an override in the log precedes the configuration',
  limits: 'what a workspace and its keys may spend, ask and use',
  router: 'what gateway/<router> tries, at every edge at once; an override in the log precedes the configuration',
  plan: 'publish plans, and assign them to workspaces',
}

/** The command that has those of a noun. */
export const findGroup = (program: Command, name: string): Command =>
  program.commands.find((command) => command.name() === name) ?? program.command(name).description(groups[name] ?? '')

const registerOperation = (
  program: Command,
  operation: AdminOperation,
  cli: CommandDescription,
  withSession: WithOperationSession,
): void => {
  const [noun = '', verb] = (cli.words ?? operation.name.replace('.', ' ')).split(' ')
  const command = verb === undefined ? program.command(noun) : findGroup(program, noun).command(verb)
  command.description(`${operation.summary[0]?.toLowerCase()}${operation.summary.slice(1)}`)
  const members = listMembers(operation, cli)
  const positional = Object.entries(cli.arguments)
  for (const [name, placeholder] of positional) {
    const member = members.find((each) => each.name === name)
    if (member === undefined) command.argument(placeholder)
    else command.argument(placeholder, member.description, member.kind.parse)
  }
  const optional = members.filter(({ name }) => !Object.hasOwn(cli.arguments, name))
  const options = optional.map((member) => ({ name: member.name, option: createOption(member) }))
  for (const { option } of options) command.addOption(option)
  if (cli.keyOption !== undefined) command.option('--key <key>', cli.keyOption)
  if (cli.records !== undefined) command.option('--json', 'one JSON object a line', false)
  command.action(() => {
    const given = command.opts()
    const values = Object.fromEntries([
      ...positional.map(([name], index) => [name, command.processedArgs[index]]),
      ...options.map(({ name, option }) => [name, given[option.attributeName()]]),
    ])
    const { id = '', key = given['key'] ?? '' } = values
    const named = members.filter(({ name }) => values[name] !== undefined).map(({ name }) => [name, values[name]])
    const call = { operation, cli, members, path: { id, key }, body: Object.fromEntries(named) }
    return withSession(command, (session) => runCommand(session, call, { json: given['json'] === true }))
  })
}

/** The commands of the operations that have one. */
export const registerOperations = (program: Command, withSession: WithOperationSession): void => {
  for (const operation of adminOperations)
    if (operation.cli !== undefined) registerOperation(program, operation, operation.cli, withSession)
}
