import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { sandboxLimits } from './limits.ts'

const optionalDepthMax = 3

const formats: { readonly [format: string]: string } = {
  date: '2026-01-31',
  time: '12:00:00Z',
  'date-time': '2026-01-31T12:00:00Z',
  duration: 'PT1H',
  email: 'sandbox@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057',
}

const numberOr = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

const stringFor = (schema: JsonObject): string => {
  const text = formats[asText(schema['format'])] ?? 'sandbox'
  const atLeast = text.padEnd(Math.min(numberOr(schema['minLength'], 0), sandboxLimits.sandboxOutputTokensMax), ' text')
  return atLeast.slice(0, numberOr(schema['maxLength'], atLeast.length))
}

const leastOf = (schema: JsonObject, step: number): number => {
  const exclusive = schema['exclusiveMinimum']
  if (typeof exclusive === 'number') return exclusive + step
  return numberOr(schema['minimum'], Math.min(1, numberOr(schema['maximum'], 1)))
}

const mostOf = (schema: JsonObject, step: number): number => {
  const exclusive = schema['exclusiveMaximum']
  return Math.min(
    numberOr(schema['maximum'], Number.POSITIVE_INFINITY),
    typeof exclusive === 'number' ? exclusive - step : Number.POSITIVE_INFINITY,
  )
}

const numberFor = (schema: JsonObject, whole: boolean): number => {
  const step = numberOr(schema['multipleOf'], whole ? 1 : 0.5)
  const least = Math.min(leastOf(schema, step), mostOf(schema, step))
  if (whole || schema['multipleOf'] !== undefined) return Math.ceil(least / step) * step
  return least
}

const followReference = (reference: string, root: JsonObject): unknown =>
  reference
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, key) => asObject(node)[key], root)

const typeOf = (schema: JsonObject): string => {
  const types = Array.isArray(schema['type']) ? schema['type'] : [schema['type']]
  const type = asText(types.find((each) => each !== 'null') ?? types[0])
  if (type !== '') return type
  if (isObject(schema['properties'])) return 'object'
  return schema['items'] === undefined ? 'string' : 'array'
}

const objectFor = (schema: JsonObject, root: JsonObject, depth: number): JsonObject => {
  const required = asArray(schema['required'])
  const entries = Object.entries(asObject(schema['properties']))
  const wanted = depth < optionalDepthMax ? entries : entries.filter(([name]) => required.includes(name))
  return Object.fromEntries(wanted.map(([name, member]) => [name, instance(member, root, depth + 1)]))
}

const arrayFor = (schema: JsonObject, root: JsonObject, depth: number): readonly unknown[] => {
  const most = numberOr(schema['maxItems'], Number.POSITIVE_INFINITY)
  const usual = depth < optionalDepthMax ? 1 : 0
  const length = Math.min(numberOr(schema['minItems'], usual), most, sandboxLimits.sandboxEchoWordsMax)
  return Array.from({ length }, () => instance(schema['items'], root, depth + 1))
}

const byType = (schema: JsonObject, root: JsonObject, depth: number): unknown => {
  switch (typeOf(schema)) {
    case 'object':
      return objectFor(schema, root, depth)
    case 'array':
      return arrayFor(schema, root, depth)
    case 'integer':
      return numberFor(schema, true)
    case 'number':
      return numberFor(schema, false)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return stringFor(schema)
  }
}

const merge = (schemas: readonly unknown[], root: JsonObject): JsonObject => {
  const nodes = schemas.map((schema) => resolve(schema, root))
  const properties = Object.assign({}, ...nodes.map((node) => asObject(node['properties'])))
  const required = nodes.flatMap((node) => asArray(node['required']))
  return Object.assign({}, ...nodes, { properties, required })
}

const resolve = (schema: unknown, root: JsonObject): JsonObject => {
  const node = asObject(schema)
  return typeof node['$ref'] === 'string' ? asObject(followReference(node['$ref'], root)) : node
}

/** At depth the alternative that ends the recursion is the right one. */
const alternative = (schemas: readonly unknown[], depth: number): unknown =>
  (depth < optionalDepthMax ? undefined : schemas.find((each) => asObject(each)['type'] === 'null')) ?? schemas[0]

const instance = (schema: unknown, root: JsonObject, depth: number): unknown => {
  if (depth > sandboxLimits.sandboxSchemaDepthMax) return null
  const node = resolve(schema, root)
  if ('const' in node) return node['const']
  if (asArray(node['enum']).length > 0) return asArray(node['enum'])[0]
  if ('default' in node) return node['default']
  const either = [...asArray(node['anyOf']), ...asArray(node['oneOf'])]
  if (either.length > 0) return instance(alternative(either, depth), root, depth + 1)
  if (asArray(node['allOf']).length > 0)
    return byType(merge([...asArray(node['allOf']), { ...node, allOf: [] }], root), root, depth)
  return byType(node, root, depth)
}

/** A value that satisfies a simple JSON schema; always the same one for the same schema. Patterns are ignored. */
export const instanceOf = (schema: unknown): unknown => instance(schema, asObject(schema), 0)
