import type { PriceFile } from '../domain/pricing/price-file.ts'
import type { Ejection } from '../domain/routing/deployments.ts'
import type { Catalog } from '../domain/routing/plan.ts'
import { asObject } from '../encoding/json.ts'
import { invalidValue } from '../errors/gateway-error.ts'
import { type AdminRole, type Permission, requirePermission } from '../http/admin-roles.ts'
import { type QueryParameters, readQuery } from '../http/query.ts'
import { readValid } from '../http/validate.ts'
import type { EndUserKeyStore } from '../log/end-users.ts'
import type { EdgeReadModels } from '../read-api/read-models.ts'
import type { Clock } from '../runtime/clock.ts'
import type { KeySource } from './account-changes.ts'
import type { AdminContext } from './admin-context.ts'

interface Party {
  readonly name: string
  readonly address: readonly string[]
  readonly tax_id?: string
}

interface Invoicing {
  readonly seller: Party
  readonly number_prefix?: string
  /** Percent. */
  readonly tax_rate?: string
  /** By the id of a workspace, or of an account. */
  readonly buyers?: Readonly<Record<string, Party & { readonly tax_rate?: string }>>
}

export interface OperationContext extends AdminContext, KeySource {
  readonly role: AdminRole
  readonly readModels: Pick<
    EdgeReadModels,
    | 'listAdminChanges'
    | 'listCalls'
    | 'findTrace'
    | 'readReport'
    | 'listUnfinished'
    | 'readPeriodJournal'
    | 'readInvoiced'
  >
  readonly endUserKeys: EndUserKeyStore
  /** From the configuration; null: no invoices are issued. */
  readonly invoicing: () => Invoicing | null
  /** From the configuration: what another administrator approves is above it; null: nothing. */
  readonly approvalAbovePicos: () => bigint | null
  /** By name, from the configuration. */
  readonly alertDestinations: () => ReadonlyMap<string, { readonly type: 'webhook' | 'slack' | 'email' }>
  /** In this process; null: it calls no providers. */
  readonly ejections: (() => readonly Ejection[]) | null
  /** Of the tags that a request may carry, by the configuration. */
  readonly tagNames: readonly string[]
  /** From the configuration, without the overrides in the log. */
  readonly configured: () => Catalog
  readonly catalog: () => Catalog
  /** For workspaces whose limits do not set one; null for no limit. */
  readonly requestsPerMinute: () => number | null
  readonly clock: Clock
}

export interface CommandOperationContext extends OperationContext {
  /** From the configuration. */
  readonly prices: PriceFile
}

export interface PathIds {
  /** The id in the path; empty where there is none. */
  readonly id: string
  /** The id of a key in the path; empty where there is none. */
  readonly key: string
}

/** As received: `run` validates it. */
interface ReceivedInput extends PathIds {
  readonly body: unknown
  readonly querystring: string
  readonly idempotencyKey?: string | undefined
}

export interface OperationInput<Body = undefined, Query extends QueryParameters = QueryParameters> extends PathIds {
  readonly body: Body
  readonly query: ReturnType<typeof readQuery<Query>>
  readonly idempotencyKey?: string | undefined
}

type Members = Readonly<Record<string, unknown>>

export interface OperationResult {
  readonly body: Members
  /** Instead of the body, where the answer is `html`. */
  readonly html?: string
  /** Whether something was written to the log; absent where nothing is changed. */
  readonly changed?: boolean
  /** Of a change that is done and may be a mistake. */
  readonly warnings?: readonly string[]
  /** The sequence of the log that the body reflects, where it was read from the tables. */
  readonly sequence?: number
}

type Awaitable<T> = T | Promise<T>

interface OperationDescription {
  /** Noun and verb, such as `workspace.open`. */
  readonly name: string
  readonly summary: string
  /** The `$id` of the body's schema; null where no body is read. */
  readonly request: string | null
  readonly query?: QueryParameters
  /** The name of the answered object, or of the objects of a list; `html`: a document. */
  readonly answer: string
  readonly http: {
    readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
    /** `:id` is one segment, `*id` all remaining ones; `:key` is the id of a key. */
    readonly path: string
  }
  readonly permission: Permission
  /** Members of the body that take another permission: a request of these alone takes only theirs. */
  readonly memberPermissions?: Readonly<Record<string, Permission>>
  readonly cli?: CommandDescription
}

/** How a file that an argument names has the value of a member. */
export type MemberFile = 'json' | 'litellm-table' | 'price-file'

export interface MemberDescription {
  /** Such as `--credit <usd>`. Default: from the member's name and schema. */
  readonly flags?: string
  readonly file?: MemberFile
  /** Default: that of the schema. */
  readonly description?: string
  readonly default?: string
  /** Of a flag that takes no argument; null lifts the member. */
  readonly value?: unknown
  /** Of each element, where the member is a list; of some members, where it is an object. */
  readonly parse?: (text: string) => unknown
  readonly required?: true
}

/** `key` is that of the option `--key`; the query, of the options for it. */
export interface CommandPath extends PathIds {
  readonly querystring: string
}

interface CommandInput extends CommandPath {
  readonly body: Members
}

export interface CommandOutput {
  readonly json: boolean
  /** Whether `--all` was given. */
  readonly all: boolean
}

type Records = readonly Members[]

/** How the command line renders an operation: the members of the body are options, unless they are arguments. */
export interface CommandDescription {
  /** Default: the operation's name, `workspace.open` as `workspace open`. */
  readonly words?: string
  /** Default: that of the operation. */
  readonly summary?: string
  /** In their order, `id` and `key` of the path and members of the body: `{ id: '<workspace>', amount: '<usd>' }`. */
  readonly arguments: Readonly<Record<string, string>>
  /** Describes `--key`, which is the path's `key`; absent: there is no such option. */
  readonly keyOption?: string
  /** Describes the options that are parameters of the query, `--end-user <id>` for `end_user`: `['<id>', 'Of …']`. */
  readonly queryOptions?: Readonly<Record<string, readonly [placeholder: string, description: string]>>
  /** Describes `--all`; absent: there is no such option. */
  readonly allOption?: string
  /** What their schema does not have; `spend.day` is a member of a member. Several are several options of one member. */
  readonly members?: Readonly<Record<string, MemberDescription | readonly MemberDescription[]>>
  /** The body, where it is not what the options name. Throws `invalid_value`. */
  readonly body?: (path: PathIds, named: Members) => Members
  /** The body without any option, where options change it in part; `none` lifts a member. */
  readonly current?: (context: CommandOperationContext, path: CommandPath) => Awaitable<Members>
  /** What is printed, and with `--json` as one object a line. Absent: `reports` alone. */
  readonly records?: (
    context: OperationContext,
    input: CommandInput,
    body: Members,
    output: CommandOutput,
  ) => Awaitable<Records>
  /** Printed as it is, instead. */
  readonly text?: (context: OperationContext, path: PathIds) => Awaitable<string>
  /** A second table, without `--json`. */
  readonly details?: (context: OperationContext, path: PathIds) => Records
  /** On standard error; `absent` where there is nothing of the kind, which is no refusal then. */
  readonly reports?: { readonly changed?: string; readonly unchanged?: string; readonly absent?: string }
  /** On standard error, after what is printed. */
  readonly notes?: (body: Members, input: CommandInput, output: CommandOutput) => readonly string[]
}

/** One row of the table of operations: HTTP, OpenAPI and command line render it. */
export interface AdminOperation extends OperationDescription {
  /** Throws `missing_required_parameter`, `invalid_value` or `unsupported_parameter` for input that is not valid. */
  readonly run: (context: OperationContext, input: ReceivedInput) => Awaitable<OperationResult>
}

interface OperationDefinition<Body, Query extends QueryParameters> extends Omit<OperationDescription, 'request'> {
  readonly request?: string
  readonly query?: Query
  readonly run: (context: OperationContext, input: OperationInput<Body, Query>) => Awaitable<OperationResult>
}

const requireMembers = (
  role: AdminRole,
  { permission, memberPermissions = {} }: Pick<OperationDescription, 'permission' | 'memberPermissions'>,
  received: unknown,
): void => {
  const taken = Object.keys(asObject(received)).map((member) => memberPermissions[member] ?? permission)
  for (const each of taken.length === 0 ? [permission] : taken) requirePermission(role, each)
}

export const defineOperation = <Body = undefined, Query extends QueryParameters = Record<never, never>>({
  request,
  query,
  run,
  ...description
}: OperationDefinition<Body, Query>): AdminOperation => ({
  ...description,
  request: request ?? null,
  ...(query === undefined ? {} : { query }),
  run: (context, { body, querystring, ...input }) => {
    if (description.memberPermissions !== undefined) requireMembers(context.role, description, body)
    return run(context, {
      ...input,
      body: request === undefined ? (body as Body) : readValid<Body>(request, body),
      query: (query === undefined ? {} : readQuery({ querystring }, query)) as ReturnType<typeof readQuery<Query>>,
    })
  },
})

/** Whether it writes to the log. */
export const changesLog = ({ http }: AdminOperation): boolean => http.method !== 'get'

/** A POST with a body creates. */
export const successStatus = ({ http, request }: AdminOperation, changed: boolean): 200 | 201 =>
  http.method === 'post' && request !== null && changed ? 201 : 200

/** Milliseconds since the epoch. Throws `invalid_value` for an instant in the past. */
export const futureMs = (text: string, param: string, { clock }: Pick<OperationContext, 'clock'>): number => {
  const ms = Date.parse(text)
  if (!(ms > clock())) throw invalidValue(param, 'it is over')
  return ms
}
