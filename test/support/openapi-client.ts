import { request } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'

/** An operation as the document tells it, and nothing that it does not tell. */
export interface Documented {
  readonly name: string
  readonly method: string
  readonly template: string
  readonly parameters: readonly DocumentedParameter[]
  /** Of a JSON body; null where none is taken. */
  readonly bodySchema: JsonObject | null
  /** Whether bodies beyond the schema are taken too. */
  readonly takesMore: boolean
  /** A body that is valid; undefined where the document shows none. */
  readonly bodyExample: unknown
  /** A security scheme by its name; null where anybody may ask. */
  readonly scheme: string | null
  readonly responses: JsonObject
}

export interface DocumentedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: JsonObject
}

/** What is sent. */
export interface Sent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

export interface Received {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

const methods: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete'])

const jsonIn = (holder: unknown): JsonObject => asObject(asObject(asObject(holder)['content'])['application/json'])

const jsonSchemaIn = (holder: unknown): JsonObject | null => {
  const { schema } = jsonIn(holder)
  return isObject(schema) ? schema : null
}

const parameterOf = (value: unknown): DocumentedParameter => {
  const { name, in: place, required, schema } = asObject(value)
  if (place !== 'path' && place !== 'query' && place !== 'header') throw new Error(`a parameter in ${place}`)
  return { name: asText(name), in: place, required: required === true, schema: asObject(schema) }
}

/** The schema that a reference leads to; any other schema itself. */
const resolvedIn = (document: JsonObject, schema: JsonObject): JsonObject => {
  const { $ref: reference } = schema
  if (typeof reference !== 'string') return schema
  const names = reference.slice('#/'.length).split('/')
  return resolvedIn(document, asObject(names.reduce<unknown>((at, name) => asObject(at)[name], document)))
}

const exampleIn = (document: JsonObject, holder: unknown): unknown => {
  const { example, schema } = jsonIn(holder)
  return example ?? asArray(resolvedIn(document, asObject(schema))['examples'])[0]
}

const operationOf = (document: JsonObject, template: string, method: string, value: unknown): Documented => {
  const { parameters, requestBody, security, responses } = asObject(value)
  return {
    name: `${method.toUpperCase()} ${template}`,
    method: method.toUpperCase(),
    template,
    parameters: asArray(parameters).map(parameterOf),
    bodySchema: jsonSchemaIn(requestBody),
    takesMore: asObject(requestBody)['x-takes-more'] === true,
    bodyExample: exampleIn(document, requestBody),
    scheme: Object.keys(asObject(asArray(security)[0]))[0] ?? null,
    responses: asObject(responses),
  }
}

/** A client that knows an API by its OpenAPI document alone. */
export class OpenApiClient {
  readonly operations: readonly Documented[]
  readonly #url: string
  readonly #document: JsonObject
  readonly #ajv = new Ajv2020({ strict: false })
  readonly #validators = new Map<object, ValidateFunction>()

  constructor(url: string, document: JsonObject) {
    this.#url = url
    this.#document = document
    formats.default(this.#ajv)
    this.operations = Object.entries(asObject(document['paths'])).flatMap(([template, here]) =>
      Object.entries(asObject(here))
        .filter(([method]) => methods.has(method))
        .map(([method, operation]) => operationOf(document, template, method, operation)),
    )
  }

  /** The schema that a reference leads to; any other schema itself. */
  resolved(schema: JsonObject): JsonObject {
    return resolvedIn(this.#document, schema)
  }

  /** What is wrong with a value; empty where it fits. */
  problems(schema: JsonObject, value: unknown): string {
    const validate =
      this.#validators.get(schema) ?? this.#ajv.compile({ ...schema, components: this.#document['components'] })
    this.#validators.set(schema, validate)
    return validate(value) ? '' : this.#ajv.errorsText(validate.errors)
  }

  /**
   * Rejects where the answer is not whole within the bound. Paths go out as they are written. Events that are followed have no end:
   * of these the first that comes is the answer.
   */
  send(method: string, { path, headers, body }: Sent, withinMs: number): Promise<Received> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.#url)
      const asked = request({ hostname, port, method, path, headers, agent: false }, (response) => {
        const contentType = response.headers['content-type'] ?? ''
        const chunks: Buffer[] = []
        const answered = (): void =>
          resolve({ status: response.statusCode ?? 0, contentType, text: Buffer.concat(chunks).toString() })
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          if (method !== 'GET' || !contentType.startsWith('text/event-stream')) return
          answered()
          asked.destroy()
        })
        response.on('error', reject).on('end', answered)
      })
      const bound = setTimeout(() => asked.destroy(new Error(`no answer within ${withinMs} ms`)), withinMs)
      asked.on('error', reject).on('close', () => clearTimeout(bound))
      asked.end(body)
    })
  }

  /** What of an answer the document does not tell; empty where it is as documented. A fault of the server's is never right. */
  undocumented({ responses }: Documented, { status, contentType, text }: Received): string {
    if (status === 500) return `500: ${text}`
    const told = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`]
    if (told === undefined) return `${status} is not documented: ${text.slice(0, 300)}`
    const mediaType = contentType.split(';', 1)[0] ?? ''
    const content = asObject(asObject(told)['content'])
    if (text === '' && Object.keys(content).length === 0) return ''
    if (!Object.hasOwn(content, mediaType)) return `${status} as '${contentType}' is not documented`
    if (mediaType !== 'application/json') return ''
    const problems = this.problems(jsonSchemaIn(told) ?? {}, JSON.parse(text))
    return problems === '' ? '' : `${status} differs from its schema (${problems}): ${text.slice(0, 300)}`
  }
}
