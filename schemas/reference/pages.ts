import type { Argument, Command, Option } from 'commander'
import {
  code,
  descriptionOf,
  inCell,
  memberRow,
  membersOf,
  type Resolve,
  resolveIn,
  row,
  type Schema,
  type SchemaDocument,
  tableHead,
  typeOf,
} from './schema-tables.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Operation {
  readonly operationId?: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const generated = (source: string): string => `<!-- Generated from ${source} by \`make generate\`. Do not edit. -->\n\n`

const levelsOfConfiguration = 8

const renderSettings = (title: string, members: readonly [string, Schema][], resolve: Resolve): string => {
  const sections = members.map(([name, schema]) => {
    const inner = membersOf(schema, resolve, levelsOfConfiguration, `${name}.`)
    const rows = [{ path: name, schema, required: false }, ...inner].map((each) => memberRow(each, resolve))
    return `\n## ${name}\n\n${tableHead('setting', 'type', '')}${rows.join('')}`
  })
  return `${generated('schemas/config.json')}# ${title}

Members of \`gateway.yaml\`. [Configuration](../configuration.md) explains the file, the environment, and what changes without a
restart.
${sections.join('')}`
}

const settingsOfModels: ReadonlySet<string> = new Set(['providers', 'models', 'aliases', 'routers', 'prices'])

export const renderConfigurationPages = (document: SchemaDocument): ReadonlyMap<string, string> => {
  const resolve = resolveIn(document.definitions ?? {})
  const { models = [], others = [] } = Object.groupBy(Object.entries(document.properties ?? {}), ([name]) =>
    settingsOfModels.has(name) ? 'models' : 'others',
  )
  return new Map([
    ['configuration', renderSettings('Configuration reference', others, resolve)],
    ['configuration-providers', renderSettings('Configuration reference: providers and models', models, resolve)],
  ])
}

const leavesOf = (command: Command, path: string): readonly { path: string; command: Command }[] =>
  command.commands.flatMap((each) => {
    const name = `${path} ${each.name()}`
    return each.commands.length > 0 ? leavesOf(each, name) : [{ path: name, command: each }]
  })

const optionRow = ({ flags, description, argChoices, defaultValue, mandatory }: Option): string => {
  const choices = argChoices === undefined ? '' : ` One of ${argChoices.map(code).join(', ')}.`
  const isShown = defaultValue !== undefined && defaultValue !== false && typeof defaultValue !== 'object'
  const fallback = isShown ? ` Default ${code(defaultValue)}.` : ''
  return row(code(flags), `${mandatory ? 'Required: ' : ''}${description}${choices}${fallback}`)
}

const argumentRow = (argument: Argument): string =>
  row(code(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`), argument.description)

const renderCommand = ({ path, command }: { path: string; command: Command }): string => {
  const described = command.registeredArguments.filter(({ description }) => description !== '').map(argumentRow)
  const rows = [
    ...described,
    ...command.options.filter(({ long, hidden }) => long !== '--json' && !hidden).map(optionRow),
  ]
  const json = command.options.some(({ long }) => long === '--json') ? ' `--json` prints one JSON object a line.' : ''
  const usage = command.usage().replace('[options]', '').trim()
  const table = rows.length === 0 ? '' : `\n${tableHead('', '')}${rows.join('')}`
  return `\n## ${path}\n\n${code(`${path} ${usage}`.trim())}: ${inCell(command.description())}.${json}\n${table}`
}

/** First words of commands, by name and title of the page. */
const commandPages: Readonly<Record<string, { readonly title: string; readonly words: readonly string[] }>> = {
  'cli-service': {
    title: 'Commands: the service, prices, routing',
    words:
      'serve servers status doctor provider backup restore sandbox openapi prices alias router route upgrade'.split(
        ' ',
      ),
  },
  'cli-customers': {
    title: 'Commands: customers',
    words: 'workspace credit adjust adjustment key limits plan alert'.split(' '),
  },
  'cli-books': { title: 'Commands: audit and month-end', words: [] },
}

/** By name of the page: what no page lists is on the last one. */
export const renderCommandPages = (program: Command): ReadonlyMap<string, string> => {
  const listed = Object.entries(commandPages)
  const pageOf = (path: string): string | undefined =>
    (listed.find(([, { words }]) => words.includes(path.split(' ')[1] ?? '')) ?? listed.at(-1))?.[0]
  const commands = Map.groupBy(leavesOf(program, program.name()), ({ path }) => pageOf(path))
  return new Map(
    listed.map(([page, { title }]) => [
      page,
      `${generated('the commands')}# ${title}

\`gateway <command> --help\` prints the same. Every command takes these options before its name:

${tableHead('', '')}${program.options.map(optionRow).join('')}
Exit codes: 0 done, 1 failed or a check found something, 2 used wrongly.
${(commands.get(page) ?? []).map(renderCommand).join('')}`,
    ]),
  )
}

const levelsOfRequests = 2
/** What is in the parts of a request to a model is explained where its vendor does. */
const levelsOfModelRequests = 1

const jsonSchemaOf = ({ content }: Content): Schema | undefined => content?.['application/json']?.schema

const titleOf = (schema: Schema | undefined): string => schema?.$ref?.split('/').at(-1) ?? ''

const answerOf = ({ responses }: Operation): string =>
  Object.entries(responses)
    .filter(([status]) => /^[23]/.test(status))
    .map(([status, response]) => {
      const title = titleOf(jsonSchemaOf(response))
      return title === '' ? status : `${status} ${code(title)}`
    })
    .join(', ')

const refusalsOf = ({ responses }: Operation): string =>
  Object.keys(responses)
    .filter((status) => /^[45]/.test(status))
    .join(', ')

/** Operations that have the same members are described once. */
const renderOperation = (names: readonly string[], operation: Operation, document: OpenApiDocument): string => {
  const resolve = resolveIn(document.components.schemas)
  const body = operation.requestBody === undefined ? undefined : jsonSchemaOf(operation.requestBody)
  const parameters = operation.parameters.map(({ name, in: place, schema, description, required }) =>
    row(
      code(name),
      place,
      schema === undefined ? '' : typeOf(schema, resolve),
      `${required === true && place !== 'path' ? 'Required. ' : ''}${description ?? ''}`,
    ),
  )
  const members =
    body === undefined
      ? []
      : membersOf(body, resolve, operation.tags.includes('administration') ? levelsOfRequests : levelsOfModelRequests)
  const inBody = members.map(({ path, schema, required }) =>
    row(
      code(path),
      'body',
      typeOf(schema, resolve),
      `${required ? 'Required. ' : ''}${descriptionOf(schema, resolve)}`,
    ),
  )
  const rows = [...parameters, ...inBody]
  const roles = operation.description === undefined ? '' : ` ${operation.description}`
  const table = rows.length === 0 ? '' : `\n${tableHead('', 'in', 'type', '')}${rows.join('')}`
  return `\n## ${names.join(', ')}\n\n${inCell(operation.summary)}.${roles} Answers ${answerOf(operation)}; refuses with ${refusalsOf(operation)}.\n${table}`
}

interface ApiPage {
  readonly title: string
  readonly about: string
  readonly has: (operation: Operation, path: string) => boolean
}

const ledgerOfWorkspace = '/admin/v1/workspaces/{workspace}/ledger'
const ledgerOfAll = '/admin/v1/ledger'
const customers = /^\/admin\/v1\/(?:workspaces|keys)/
const terms = /\/(?:limits|plans|subscription|alert-)/

/** By name of the page. */
const apiPages: Readonly<Record<string, ApiPage>> = {
  'api-requests': {
    title: 'API reference: requests to models',
    about: 'Explained in [surfaces](../surfaces.md).',
    has: ({ tags }) =>
      tags.some((tag) => ['chat', 'messages', 'responses', 'embeddings', 'gemini', 'models'].includes(tag)),
  },
  'api-videos': {
    title: 'API reference: videos',
    about: 'Explained in [videos](../video.md).',
    has: ({ tags }) => tags.includes('videos'),
  },
  'api-ledger': {
    title: 'API reference: ledger',
    about: `Explained in [ledger API](../ledger-api.md). An administrator reads the same of any workspace, with ${code(ledgerOfWorkspace)} in place of ${code('/v1/ledger')}, and requests, outcomes, refusals, findings, health and tail of all together with ${code(ledgerOfAll)}.`,
    has: ({ tags }, path) =>
      tags.some((tag) => ['ledger', 'billing', 'health'].includes(tag)) &&
      !path.startsWith(ledgerOfWorkspace) &&
      !path.startsWith(ledgerOfAll),
  },
  'api-customers': {
    title: 'API reference: workspaces and keys',
    about: 'Explained in [administration](../administration.md).',
    has: ({ tags }, path) => tags.includes('administration') && customers.test(path) && !terms.test(path),
  },
  'api-limits': {
    title: 'API reference: limits, plans and alerts',
    about: 'Explained in [limits](../limits.md), [plans](../plans.md) and [alerts](../alerts.md).',
    has: ({ tags }, path) => tags.includes('administration') && terms.test(path),
  },
  'api-administration': {
    title: 'API reference: prices, routing, months',
    about: 'Explained in [administration](../administration.md).',
    has: ({ tags }, path) => tags.includes('administration') && !customers.test(path) && !terms.test(path),
  },
}

const renderApiPage = (document: OpenApiDocument, { title, about, has }: ApiPage): string => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => has(operation, path))
      .map(([method, operation]) => ({ name: code(`${method.toUpperCase()} ${path}`), operation })),
  )
  const alike = Map.groupBy(operations, ({ operation: { operationId: _own, ...same } }) => JSON.stringify(same))
  const sections = [...alike.values()].map((each) =>
    renderOperation(
      each.map(({ name }) => name),
      (each[0] as (typeof operations)[number]).operation,
      document,
    ),
  )
  return `${generated('the OpenAPI document')}# ${title}

${about} ${code('GET /openapi.json')} and ${code('gateway openapi')} give the whole as OpenAPI 3.1.
${sections.join('')}`
}

export const renderApiPages = (document: OpenApiDocument): ReadonlyMap<string, string> =>
  new Map(Object.entries(apiPages).map(([page, described]) => [page, renderApiPage(document, described)]))

/** First words of the names of events, by name and title of the page. */
const eventPages: Readonly<Record<string, { readonly title: string; readonly names: RegExp }>> = {
  'events-requests': {
    title: 'Events of the log: requests and money',
    names: /^(?:Request|Usage|Hold|Adjustment|Credit|WalletCredited)/,
  },
  'events-videos': { title: 'Events of the log: videos', names: /^(?:Task|LateVerdict|Callback)/ },
  'events-accounts': {
    title: 'Events of the log: workspaces, keys, limits, plans',
    names: /^(?:Workspace|Key|Limits|Plan)/,
  },
  'events-months': { title: 'Events of the log: months, invoices, alerts', names: /^(?:Period|Invoice|Alert)/ },
  'events-books': { title: 'Events of the log: prices, routing, audit', names: /^/ },
}

const renderEventsPage = (title: string, schemas: readonly SchemaDocument[]): string => {
  const sections = schemas.map((schema) => {
    const resolve = resolveIn(schema.definitions ?? {})
    const members = membersOf(schema, resolve, levelsOfRequests).map((each) => memberRow(each, resolve))
    return `\n## ${schema.title}\n\n${inCell(schema.description ?? '')}\n\n${tableHead('member', 'type', '')}${members.join('')}`
  })
  return `${generated('schemas/events')}# ${title}

Amounts are USD as decimal texts. [Architecture](../architecture.md) explains how the log is made of them.
${sections.join('')}`
}

/** By name of the page: what no page lists is on the last one. */
export const renderEventPages = (schemas: readonly SchemaDocument[]): ReadonlyMap<string, string> => {
  const pages = Object.entries(eventPages)
  const pageOf = ({ title = '' }: SchemaDocument) => pages.find(([, { names }]) => names.test(title))?.[0]
  const events = Map.groupBy(schemas, pageOf)
  return new Map(pages.map(([page, { title }]) => [page, renderEventsPage(title, events.get(page) ?? [])]))
}
