import { hash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { JsonObject } from '../../encoding/json.ts'
import type { ErrorCode } from '../../errors/gateway-error.ts'
import { rolesWith } from '../../http/admin-roles.ts'
import type { HttpMiddleware } from '../../http/context.ts'
import { errorTable } from '../../http/error-table.ts'
import { type ErrorFormat, errorFormatAt } from '../../http/errors.ts'
import { httpLimits } from '../../http/limits.ts'
import type { Operation, RequestHeader, ResponseDescription } from '../../http/operation.ts'
import { Components } from './components.ts'

const errorSchemas: { readonly [F in ErrorFormat]: string } = {
  plain: 'responses/error.json',
  messages: 'responses/messages-error.json',
  gemini: 'responses/gemini-error.json',
  video: 'responses/video-error.json',
  nativeVideo: 'responses/native-video-error.json',
}

const requestHeaders: { readonly [H in RequestHeader]: JsonObject } = {
  'Idempotency-Key': {
    description: 'A fresh one for each request: repeated with it, the request is charged once.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: httpLimits.idempotencyKeyCharactersMax,
      pattern: '^[\\x20-\\x7e]+$',
    },
  },
  'anthropic-version': {
    description: 'The version of the format; `api-version` may be sent instead.',
    required: true,
    schema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', examples: ['2023-06-01'] },
  },
  'anthropic-beta': { description: 'Handed on to a provider of the same format.', schema: { type: 'string' } },
  'X-Gateway-Ledger-Sequence': {
    description: 'That of an earlier answer to the same workspace: nothing older is read.',
    schema: { type: 'string' },
  },
}

const securitySchemes = {
  key: { type: 'http', scheme: 'bearer', description: "A workspace's key." },
  keyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: "A workspace's key, as Anthropic's SDKs send it.",
  },
  geminiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-goog-api-key',
    description: "A workspace's key, as Google's SDKs send it.",
  },
  adminToken: { type: 'http', scheme: 'bearer', description: "An administrator's token." },
}

const security: { readonly [S in Operation['security']]: readonly JsonObject[] } = {
  key: [{ key: [] }, { keyHeader: [] }, { geminiKeyHeader: [] }],
  admin: [{ adminToken: [] }],
  optional: [],
}

const responseHeaders = {
  RequestId: { description: 'The id of this request.', schema: { type: 'string' } },
  LedgerSequence: {
    description:
      'What the answer reflects: an opaque token for keys, the position in the log for administrators. A request that sends it reads nothing older.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Whole seconds, where asking again is of use.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
}
const positionHeader = { 'X-Gateway-Ledger-Sequence': { $ref: '#/components/headers/LedgerSequence' } }
const requestIdHeader = { 'X-Gateway-Request-Id': { $ref: '#/components/headers/RequestId' } }
const retryHeader = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
const retried: ReadonlySet<number> = new Set([409, 429, 503])

const parameterPattern = /(?<!\\)([:*])(\w+)/g

/** `/v1/models/*id` as `/v1/models/{id}`; an escaped colon is one. */
const templateOf = (path: string): string => path.replaceAll(parameterPattern, '{$2}').replaceAll('\\', '')

const idOf = ({ method, path }: Operation): string =>
  method + path.replaceAll(/[^A-Za-z0-9]+(\w)/g, (_separator, letter: string) => letter.toUpperCase())

const pathParameters = (path: string): readonly JsonObject[] =>
  [...path.matchAll(parameterPattern)].map(([, kind, name]) => ({
    name,
    in: 'path',
    required: true,
    ...(kind === '*' ? { description: 'Its slashes may be written as they are.' } : {}),
    schema: { type: 'string', minLength: 1 },
  }))

const parametersOf = ({ path, query = {}, headers = [] }: Operation): readonly JsonObject[] => [
  ...pathParameters(path),
  ...Object.entries(query).map(([name, { form, schema }]) => ({ name, in: 'query', description: form, schema })),
  ...headers.map((name) => ({ name, in: 'header', ...requestHeaders[name] })),
]

const bodyOf = ({ request, example, takesMore, takesForm }: Operation, components: Components): JsonObject => {
  if (request === null) return {}
  const schema = components.resolved({ $ref: request })
  const json = { schema, ...(example === undefined ? {} : { example }) }
  const form = takesForm === true ? { 'multipart/form-data': { schema: { type: 'object' } } } : {}
  const more = takesMore === undefined ? {} : { description: `Taken as well: ${takesMore}`, 'x-takes-more': true }
  return { requestBody: { ...more, required: true, content: { 'application/json': json, ...form } } }
}

const contentOf = ({ schema, streams, isHtml }: ResponseDescription, components: Components): JsonObject => {
  if (isHtml === true) return { content: { 'text/html': { schema: { type: 'string' } } } }
  const events = streams === true ? { 'text/event-stream': { schema: { type: 'string' } } } : {}
  if (schema === null) return streams === true ? { content: events } : {}
  return { content: { 'application/json': { schema: components.resolved(schema) }, ...events } }
}

const answersOf = ({ answers, showsPosition = false }: Operation, components: Components): JsonObject =>
  Object.fromEntries(
    Object.entries(answers).map(([status, shown]) => [
      status,
      {
        description: STATUS_CODES[status] ?? status,
        headers: showsPosition ? { ...requestIdHeader, ...positionHeader } : requestIdHeader,
        ...contentOf(shown, components),
      },
    ]),
  )

const refusalsOf = (operation: Operation, components: Components): JsonObject => {
  const schema = components.resolved({ $ref: errorSchemas[errorFormatAt(operation.path)] })
  const refusal = (description: string, headers: JsonObject): JsonObject => ({
    description,
    headers,
    content: { 'application/json': { schema } },
  })
  const byStatus = Map.groupBy(operation.refusals, (code: ErrorCode) => errorTable[code].status)
  const documented = [...byStatus].map(([status, codes]) => [
    status,
    refusal(
      codes.map((code) => `\`${code}\``).join(', '),
      retried.has(status) ? { ...requestIdHeader, ...retryHeader } : requestIdHeader,
    ),
  ])
  const passedOn = operation.passesRefusalsOn ? { '4XX': refusal('What the provider refused.', requestIdHeader) } : {}
  return { ...Object.fromEntries(documented), ...passedOn }
}

const rolesOf = ({ permission, memberPermissions = {} }: Operation): JsonObject => {
  if (permission === undefined) return {}
  const ofMembers = Object.entries(memberPermissions).map(
    ([member, each]) => ` \`${member}\` is for ${rolesWith(each).join(', ')}.`,
  )
  return {
    description: `For the roles ${rolesWith(permission).join(', ')}.${ofMembers.join('')}`,
    'x-permission': permission,
  }
}

const documented = (operation: Operation, components: Components): JsonObject => ({
  operationId: idOf(operation),
  tags: [operation.tag],
  summary: operation.summary,
  ...rolesOf(operation),
  security: security[operation.security],
  parameters: parametersOf(operation),
  ...bodyOf(operation, components),
  responses: { ...answersOf(operation, components), ...refusalsOf(operation, components) },
})

const pathsOf = (operations: readonly Operation[], components: Components): JsonObject =>
  Object.fromEntries(
    [...Map.groupBy(operations, ({ path }) => templateOf(path))].map(([path, here]) => [
      path,
      Object.fromEntries(here.map((operation) => [operation.method, documented(operation, components)])),
    ]),
  )

const interfaceVersion = '2026.04'

/** `read` returns the schema file of an id. Throws for one that does not exist. */
export const openapiDocumentOf = (operations: readonly Operation[], read: (id: string) => JsonObject): JsonObject => {
  const components = new Components(read)
  const paths = pathsOf(operations, components)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Model gateway',
      version: interfaceVersion,
      description:
        'Every answer names its request in `X-Gateway-Request-Id`. A path that is not here and no page of `/dashboard`, to which `/` leads, is answered 404, another method 405, what is ' +
        'not HTTP 400, 408 or 431, each with the Error object.',
    },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: components.schemas, headers: responseHeaders, securitySchemes },
  }
}

const cacheControl = 'public, max-age=300'

export const showOpenapi = (makeDocument: () => JsonObject): HttpMiddleware => {
  let shown: { readonly text: string; readonly tag: string } | null = null
  const makeShown = () => {
    const text = JSON.stringify(makeDocument())
    return { text, tag: hash('sha256', text).slice(0, 32) }
  }
  return (ctx) => {
    shown ??= makeShown()
    const { text, tag } = shown
    ctx.set('Cache-Control', cacheControl)
    ctx.set('Content-Type', 'application/json')
    ctx.etag = tag
    ctx.status = 200
    if (ctx.fresh) ctx.status = 304
    else ctx.body = text
  }
}
