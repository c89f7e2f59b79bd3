// Cuts gemini.schema.json out of Google's discovery document of Vertex AI:
//   node test/reference/cut-gemini.ts <aiplatform.v1beta1.json>
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'

type Node = { readonly [key: string]: unknown }

const prefix = 'GoogleCloudAiplatformV1beta1'
const root = `${prefix}GenerateContentResponse`
const kept = new Set(['type', 'enum', 'items', 'properties', 'additionalProperties'])

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const nameOf = (id: unknown): string => String(id).replace(prefix, '')

const mapValues = (node: Node, change: (value: unknown) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value)]))

/** `any` is no type of JSON Schema; integers of 64 bits are texts there already. */
const cut = (value: unknown): unknown => {
  if (!isNode(value)) return value
  if ('$ref' in value) return { $ref: `#/$defs/${nameOf(value['$ref'])}` }
  const { type, properties } = value
  const members = Object.entries(value).filter(([key]) => kept.has(key) && key !== 'properties')
  const node = mapValues(Object.fromEntries(members.filter(([key]) => key !== 'type' || type !== 'any')), cut)
  return isNode(properties)
    ? { ...node, properties: mapValues(properties, cut), additionalProperties: false }
    : node
}

const refsIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(refsIn)
  if (!isNode(value)) return []
  return [...(typeof value['$ref'] === 'string' ? [value['$ref']] : []), ...Object.values(value).flatMap(refsIn)]
}

const [, , file] = argv
if (file === undefined) throw new Error('usage: cut-gemini.ts <aiplatform.v1beta1.json>')
const { schemas, revision } = JSON.parse(readFileSync(file, 'utf8'))
const names = new Set([root])
for (const name of names) for (const ref of refsIn(schemas[name])) names.add(ref)
const $defs = Object.fromEntries([...names].toSorted().map((name) => [nameOf(name), cut(schemas[name])]))
const lines = Object.entries($defs).map(([name, schema]) => `"${name}":${JSON.stringify(schema)}`)
writeFileSync(
  new URL('gemini.schema.json', import.meta.url),
  `{"$id":"gemini","$comment":"Vertex AI v1beta1, revision ${revision}","$defs":{\n${lines.join(',\n')}\n}}\n`,
)
