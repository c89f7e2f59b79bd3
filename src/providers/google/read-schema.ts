import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'

const camelNames: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  max_items: 'maxItems',
  min_items: 'minItems',
  max_length: 'maxLength',
  min_length: 'minLength',
  max_properties: 'maxProperties',
  min_properties: 'minProperties',
  property_ordering: 'propertyOrdering',
}

/** Written as texts: they are integers of 64 bits. */
const counts: ReadonlySet<string> = new Set([
  'maxItems',
  'minItems',
  'maxLength',
  'minLength',
  'maxProperties',
  'minProperties',
])

/** Google's alone, or read elsewhere. */
const left: ReadonlySet<string> = new Set(['propertyOrdering', 'nullable', 'example', 'type'])

const typeOf = ({ type, nullable }: JsonObject): JsonObject => {
  if (typeof type !== 'string' || type === 'TYPE_UNSPECIFIED') return {}
  const name = type.toLowerCase()
  return { type: nullable === true ? [name, 'null'] : name }
}

const readMap = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, readSchema(each)])) : value

const readMember = (name: string, value: unknown): unknown => {
  if (name === 'properties') return readMap(value)
  if (name === 'items') return readSchema(value)
  if (name === 'anyOf') return asArray(value).map(readSchema)
  return counts.has(name) && typeof value === 'string' ? Number(value) : value
}

const readSchema = (value: unknown): JsonObject => {
  const schema = asObject(value)
  const members = Object.entries(schema)
    .map(([name, member]) => [camelNames[name] ?? name, member] as const)
    .filter(([name]) => !left.has(name) && !(name === 'format' && schema['format'] === 'enum'))
  return { ...typeOf(schema), ...Object.fromEntries(members.map(([name, member]) => [name, readMember(name, member)])) }
}

/** Google's own form of a schema, of OpenAPI 3.0, as JSON Schema. */
export const jsonSchemaOf = (schema: unknown): JsonObject => readSchema(schema)
