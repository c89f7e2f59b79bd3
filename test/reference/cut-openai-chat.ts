// Cuts openai-chat.schema.json out of OpenAI's OpenAPI description:
//   node test/reference/cut-openai-chat.ts <openai-openapi.json>
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'

type Node = { readonly [key: string]: unknown }

const roots = [
  'CreateChatCompletionRequest',
  'CreateChatCompletionResponse',
  'CreateChatCompletionStreamResponse',
  'ListModelsResponse',
  'ErrorResponse',
]

/** Nulls that the service itself sends though the description forbids them: definition, then member. */
const alsoNull: readonly (readonly [string, string])[] = [
  ['CreateChatCompletionResponse', 'system_fingerprint'],
  ['CreateChatCompletionStreamResponse', 'system_fingerprint'],
]

const dropped = new Set(['description', 'example', 'examples', 'default', 'title', 'deprecated', 'discriminator'])
const keptFormats = new Set(['uri', 'date', 'date-time'])
/** Their members are names or values, not keywords. */
const maps = new Set(['properties', 'patternProperties', '$defs'])
const values = new Set(['enum', 'const', 'required'])

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const isDropped = (key: string, value: unknown): boolean =>
  dropped.has(key) ||
  key.startsWith('x-') ||
  key === 'nullable' ||
  (key === 'format' && !keptFormats.has(String(value)))

const cutValue = (key: string, value: unknown): unknown => {
  if (values.has(key)) return value
  if (key === '$ref') return String(value).replace('#/components/schemas/', '#/$defs/')
  if (maps.has(key) && isNode(value)) return mapValues(value, cut)
  return Array.isArray(value) ? value.map(cut) : cut(value)
}

const mapValues = (node: Node, change: (value: unknown) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value)]))

const isPlainString = (node: unknown): boolean =>
  isNode(node) && node['type'] === 'string' && Object.keys(node).length === 1

/** Any string, or one of these strings: any string. */
const withoutNeedlessEnums = (node: Node): Node => {
  const { anyOf } = node
  if (!Array.isArray(anyOf) || !anyOf.some(isPlainString)) return node
  return { ...node, anyOf: anyOf.filter((each) => !(isNode(each) && each['type'] === 'string' && 'enum' in each)) }
}

const orNull = (node: Node): Node => ({ anyOf: [node, { type: 'null' }] })

/** One schema without prose. `nullable`, a keyword of OpenAPI 3.0 that the description still uses, becomes a choice. */
const cut = (node: unknown): unknown => {
  if (!isNode(node)) return node
  const kept = Object.entries(node).filter(([key, value]) => !isDropped(key, value))
  const schema = withoutNeedlessEnums(Object.fromEntries(kept.map(([key, value]) => [key, cutValue(key, value)])))
  return node['nullable'] === true ? orNull(schema) : schema
}

const referencesIn = (node: unknown): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap(referencesIn)
  if (!isNode(node)) return []
  const own = typeof node['$ref'] === 'string' ? [node['$ref'].replace('#/$defs/', '')] : []
  return [...own, ...Object.values(node).flatMap(referencesIn)]
}

const reachable = (definitions: Node): Node => {
  const found = new Map<string, unknown>()
  const waiting = [...roots]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    const definition = cut(definitions[name])
    if (!isNode(definition)) throw new Error(`the description has no schema ${name}`)
    found.set(name, definition)
    waiting.push(...referencesIn(definition))
  }
  return Object.fromEntries([...found].sort(([first], [second]) => (first < second ? -1 : 1)))
}

const relaxed = (definitions: Node): Node => {
  const changed = new Map(Object.entries(definitions))
  for (const [name, member] of alsoNull) {
    const definition = changed.get(name)
    if (!isNode(definition) || !isNode(definition['properties']) || !isNode(definition['properties'][member]))
      throw new Error(`the description has no ${name}.${member}`)
    const properties = { ...definition['properties'], [member]: orNull(definition['properties'][member]) }
    changed.set(name, { ...definition, properties })
  }
  return Object.fromEntries(changed)
}

const [, , source] = argv
if (source === undefined) throw new Error('usage: cut-openai-chat.ts <openai-openapi.json>')
const description = JSON.parse(readFileSync(source, 'utf8'))
const definitions = relaxed(reachable(description.components.schemas))
const lines = Object.entries(definitions).map(([name, schema]) => `"${name}":${JSON.stringify(schema)}`)
writeFileSync(
  new URL('openai-chat.schema.json', import.meta.url),
  `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"openai-chat","$defs":{\n${lines.join(',\n')}\n}}\n`,
)
