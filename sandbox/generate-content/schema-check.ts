import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { assertGenerateContentMembers, memberOf, refuseGenerateContent } from './refusing.ts'

const members = [
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'anyOf',
  'propertyOrdering',
  'default',
  'items',
  'minimum',
  'maximum',
]

const types = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']
const stringFormats = ['enum', 'date-time']

const assertType = (schema: JsonObject, path: string): void => {
  const { type } = schema
  if (Array.isArray(type))
    throw new Refusal(
      `Invalid JSON payload received. Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`,
    )
  if (type !== undefined && !types.includes(asText(type).toUpperCase()))
    throw new Refusal(
      `Invalid value at '${path}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "${type}"`,
    )
}

const assertString = (schema: JsonObject, place: string): void => {
  if (stringFormats.includes(asText(schema['format'] ?? 'enum'))) return
  throw refuseGenerateContent(`${place}.format`, "only 'enum' and 'date-time' are supported for STRING type")
}

const assertObject = (schema: JsonObject, place: string): void => {
  const names = Object.keys(asObject(schema['properties']))
  if (names.length === 0) throw refuseGenerateContent(`${place}.properties`, 'should be non-empty for OBJECT type')
  for (const [index, name] of asArray(schema['required']).entries())
    if (!names.includes(asText(name)))
      throw refuseGenerateContent(`${place}.required[${index}]`, 'property is not defined')
}

const assertByType = (schema: JsonObject, place: string): void => {
  const type = asText(schema['type']).toUpperCase()
  if (type !== 'STRING' && schema['enum'] !== undefined)
    throw refuseGenerateContent(`${place}.enum`, 'only allowed for STRING type')
  if (type === 'STRING') assertString(schema, place)
  if (type === 'OBJECT') assertObject(schema, place)
  if (type === 'ARRAY' && !isObject(schema['items'])) throw refuseGenerateContent(`${place}.items`, 'missing field')
}

/** Throws Refusal for a schema outside the part of OpenAPI that the service reads. `place` names it with snake_case. */
export const assertSchema = (schema: unknown, place: string): void => {
  if (!isObject(schema))
    throw new Refusal(`Invalid value at '${place}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema)`)
  assertGenerateContentMembers(schema, members, place)
  assertType(schema, place)
  assertByType(schema, place)
  for (const [name, property] of Object.entries(asObject(schema['properties'])))
    assertSchema(property, `${place}.properties[${name}]`)
  if (schema['items'] !== undefined) assertSchema(schema['items'], `${place}.items`)
  for (const [index, each] of asArray(memberOf(schema, 'anyOf')).entries())
    assertSchema(each, `${place}.any_of[${index}]`)
}
