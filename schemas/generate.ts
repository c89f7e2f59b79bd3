// Writes the TypeScript types of every schema, so that the schema stays the one contract, and docs/log-events.md. Run by `make generate`.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { metricDefinitions } from '../src/adapters/prometheus/definitions.ts'
import { createProgram } from '../src/cli/run.ts'
import { openapiDocument } from '../src/roles/edge/operations.ts'
import { logEvents } from '../src/runtime/log-events.ts'
import { renderLogEventsPage } from './log-events-page.ts'
import { renderMetricsPage } from './reference/metrics-page.ts'
import {
  type OpenApiDocument,
  renderApiPages,
  renderCommandPages,
  renderConfigurationPages,
  renderEventPages,
} from './reference/pages.ts'
import type { SchemaDocument } from './reference/schema-tables.ts'

const banner = '// Generated from schemas/ by `make generate`. Do not edit.\n'
const options = {
  bannerComment: '',
  style: { semi: false, singleQuote: true, printWidth: 120 },
  declareExternallyReferenced: true,
  additionalProperties: false,
}

const readSchema = (path: string): JSONSchema => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))

const eventTypes = readdirSync(new URL('events/', import.meta.url))
  .filter((file) => file.endsWith('.v1.json'))
  .map((file) => file.replace('.v1.json', ''))
  .sort()

/** Without the types that are declared already; adds the others to them. */
const withoutKnown = (source: string, declared: Set<string>): string =>
  source
    .split(/\n(?=\/\*\*|(?<! \*\/\n)export (?:interface|type))/)
    .filter((block) => {
      const name = /export (?:interface|type) (\w+)/.exec(block)?.[1]
      if (name === undefined) return true
      if (declared.has(name)) return false
      declared.add(name)
      return true
    })
    .join('\n')

const readonly = (source: string): string =>
  source
    .replace(/^(\s+)(?!export|readonly|\*|\/)([A-Za-z_0-9]+\??: )/gm, '$1readonly $2')
    .replace(/^(\s+)(\[k: string\]: )/gm, '$1readonly $2')
    .replace(/^( +)(readonly \w+\??:) ('.* \| .*')$/gm, breakWhereLong)

/** The word `readonly` makes some unions longer than a line. */
const breakWhereLong = (line: string, indent: string, name: string, union: string): string =>
  line.length <= options.style.printWidth
    ? line
    : [indent + name, ...union.split(' | ').map((member) => `${indent}  | ${member}`)].join('\n')

const checkOnly = process.argv.includes('--check')

/** Writes a generated file, or with `--check` only says that it differs. */
const put = (target: string, source: string): void => {
  const url = new URL(target, import.meta.url)
  if (!checkOnly) {
    writeFileSync(url, source)
    return
  }
  if (existsSync(url) && readFileSync(url, 'utf8') === source) return
  console.error(`${target} differs from its source: run \`make generate\``)
  process.exitCode = 1
}

const shared = new Set<string>()
const bodies: string[] = []
for (const type of eventTypes) {
  const schema = readSchema(`events/${type}.v1.json`)
  bodies.push(
    withoutKnown(await compile(schema, type, { ...options, maxItems: -1, ignoreMinAndMaxItems: true }), shared),
  )
}
const map = eventTypes.map((type) => `  readonly ${type}: ${type}`).join('\n')
put(
  '../src/events/types.ts',
  `${banner}\n${readonly(bodies.join('\n'))}\n/** The data of every event, by type. */\nexport interface EventData {\n${map}\n}\n`,
)

const requests: [string, string, string][] = [
  ['chat-completion-request', 'ChatCompletionRequest', '../src/roles/edge/surfaces/chat/request.types.ts'],
  ['messages-request.v1', 'MessagesRequest', '../src/roles/edge/surfaces/messages/request.types.ts'],
  ['responses-request.v1', 'ResponsesRequest', '../src/roles/edge/surfaces/responses/request.types.ts'],
  ['embeddings-request', 'EmbeddingsRequest', '../src/roles/edge/surfaces/embeddings/request.types.ts'],
  ['gemini-request.v1', 'GeminiRequest', '../src/roles/edge/surfaces/gemini/request.types.ts'],
  ['video-request.v1', 'VideoGenerationRequest', '../src/roles/edge/surfaces/video/request.types.ts'],
  ['native-video-request.v1', 'NativeVideoRequest', '../src/roles/edge/surfaces/tasks/native-request.types.ts'],
]
for (const [file, name, target] of requests) {
  const source = await compile(readSchema(`requests/${file}.json`), name, {
    ...options,
    additionalProperties: true,
    ignoreMinAndMaxItems: true,
  })
  put(target, `${banner}\n${readonly(source)}`)
}

const adminRequests = readdirSync(new URL('requests/admin/', import.meta.url)).sort()
const adminTypes: string[] = []
for (const file of adminRequests) {
  const schema = readSchema(`requests/admin/${file}`)
  adminTypes.push(await compile(schema, schema.title ?? file, { ...options, ignoreMinAndMaxItems: true }))
}
put('../src/administration/requests.types.ts', `${banner}\n${readonly(adminTypes.join('\n'))}`)

/** Types are named after the titles of their schemas. `declared` are those that the file imports. */
const compileResponses = async (folder: string, files: readonly string[], declared: ReadonlySet<string>) => {
  const seen = new Set(declared)
  const sources: string[] = []
  for (const file of files) {
    const { $id: _id, ...schema } = readSchema(`${folder}${file}`)
    const source = await compile(schema, file, {
      ...options,
      ignoreMinAndMaxItems: true,
      cwd: new URL(folder, import.meta.url).pathname,
      customName: ({ title }, definition) =>
        title === undefined ? definition : title.endsWith('Request') ? title : `${title}Response`,
    })
    sources.push(withoutKnown(source.replaceAll('SetLimitsRequest1', 'SetLimitsRequest'), seen).trim())
  }
  // Aliases, unlike interfaces, can be assigned to records.
  return `${readonly(sources.filter((source) => source !== '').join('\n\n'))}\n`
    .replaceAll(/export interface (\w+) \{/g, 'export type $1 = {')
    .replaceAll(/\{\}(?=$|\[\]| \|)/gm, 'object')
    .replaceAll(/(\w+\[\])/g, 'readonly $1')
}

const ledgerResponses = readdirSync(new URL('responses/', import.meta.url))
  .filter((file) => file.startsWith('ledger-'))
  .sort()
put(
  '../src/read-api/responses.types.ts',
  `${banner}\n${await compileResponses('responses/', ledgerResponses, new Set())}`,
)

const adminResponses = readdirSync(new URL('responses/admin/', import.meta.url)).sort()
const declaredElsewhere = new Set(['SetLimitsRequest', 'StandingLimitsResponse', 'PriceSheet', 'Rates', 'VideoSheet'])
put(
  '../src/administration/responses.types.ts',
  `${banner}import type { PriceSheet, VideoSheet } from '../events/types.ts'\nimport type { SetLimitsRequest } from '../read-api/responses.types.ts'\n\n` +
    (await compileResponses('responses/admin/', adminResponses, declaredElsewhere)),
)

put(
  '../src/config/config-file.types.ts',
  `${banner}\n${readonly(await compile(readSchema('config.json'), 'ConfigFile', { ...options, ignoreMinAndMaxItems: true }))}`,
)

put('../docs/log-events.md', renderLogEventsPage(logEvents))
put('../docs/reference/metrics.md', renderMetricsPage(metricDefinitions))

const referencePages = new Map([
  ...renderConfigurationPages(readSchema('config.json') as SchemaDocument),
  ...renderCommandPages(createProgram()),
  ...renderApiPages(openapiDocument() as unknown as OpenApiDocument),
  ...renderEventPages(eventTypes.map((type) => readSchema(`events/${type}.v1.json`) as SchemaDocument)),
])
for (const [page, text] of referencePages) put(`../docs/reference/${page}.md`, text)
