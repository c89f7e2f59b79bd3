import { isObject, type JsonObject } from '../../encoding/json.ts'

const mapsOfSchemas = ['properties', '$defs', 'definitions']
const schemas = ['items', 'anyOf', 'allOf', 'oneOf']

const closeAll = (value: unknown): unknown => (Array.isArray(value) ? value.map(closeAll) : closeOne(value))

const closeMap = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closeOne(each)])) : value

const closeOne = (value: unknown): unknown => (isObject(value) ? closedSchema(value) : value)

/** The API requires every object closed; an answer without further members fits the open schema too. */
export const closedSchema = (schema: JsonObject): JsonObject => {
  const members = Object.entries(schema).map(([name, value]) => {
    if (mapsOfSchemas.includes(name)) return [name, closeMap(value)] as const
    return [name, schemas.includes(name) ? closeAll(value) : value] as const
  })
  const closed = Object.fromEntries(members)
  return schema['type'] === 'object' ? { additionalProperties: false, ...closed } : closed
}
