// Cuts openresponses.schema.json and openai-tools.schema.json out of the descriptions of the responses surface:
//   node test/reference/cut-responses.ts <openresponses-openapi.json> <openai-openapi.json>
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'

type Node = { readonly [key: string]: unknown }

/** What OpenResponses leaves to OpenAI: built-in tools, the items of their calls, and the events that tell of these. */
const openaiRoots = [
  'CodeInterpreterTool',
  'CodeInterpreterToolCall',
  'CustomToolCall',
  'FileSearchToolCall',
  'ImageGenTool',
  'ImageGenToolCall',
  'WebSearchPreviewTool',
  'WebSearchTool',
  'WebSearchToolCall',
  'ResponseCodeInterpreterCallCodeDeltaEvent',
  'ResponseCodeInterpreterCallCodeDoneEvent',
  'ResponseCodeInterpreterCallCompletedEvent',
  'ResponseCodeInterpreterCallInProgressEvent',
  'ResponseCodeInterpreterCallInterpretingEvent',
  'ResponseCustomToolCallInputDeltaEvent',
  'ResponseCustomToolCallInputDoneEvent',
  'ResponseFileSearchCallCompletedEvent',
  'ResponseFileSearchCallInProgressEvent',
  'ResponseFileSearchCallSearchingEvent',
  'ResponseImageGenCallCompletedEvent',
  'ResponseImageGenCallGeneratingEvent',
  'ResponseImageGenCallInProgressEvent',
  'ResponseImageGenCallPartialImageEvent',
  'ResponseReasoningTextDeltaEvent',
  'ResponseReasoningTextDoneEvent',
  'ResponseWebSearchCallCompletedEvent',
  'ResponseWebSearchCallInProgressEvent',
  'ResponseWebSearchCallSearchingEvent',
]

const dropped = new Set(['description', 'example', 'examples', 'default', 'title', 'deprecated', 'discriminator', 'format'])
/** Their members are names, not keywords. */
const maps = new Set(['properties', 'patternProperties', '$defs'])
const values = new Set(['enum', 'const', 'required'])

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (node: Node, change: (value: unknown) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value)]))

const cutValue = (key: string, value: unknown): unknown => {
  if (values.has(key)) return value
  if (key === '$ref') return String(value).replace('#/components/schemas/', '#/$defs/')
  return maps.has(key) && isNode(value) ? mapValues(value, cut) : cut(value)
}

/** One schema without prose. */
const cut = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(cut)
  if (!isNode(node)) return node
  const kept = Object.entries(node).filter(([key]) => !dropped.has(key) && !key.startsWith('x-'))
  return Object.fromEntries(kept.map(([key, value]) => [key, cutValue(key, value)]))
}

const referencesIn = (node: unknown): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap(referencesIn)
  if (!isNode(node)) return []
  const own = typeof node['$ref'] === 'string' ? [node['$ref'].replace('#/$defs/', '')] : []
  return [...own, ...Object.values(node).flatMap(referencesIn)]
}

const reachable = (definitions: Node, roots: readonly string[]): readonly (readonly [string, unknown])[] => {
  const found = new Map<string, unknown>()
  const waiting = [...roots]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    if (!isNode(definitions[name])) throw new Error(`the description has no schema ${name}`)
    found.set(name, cut(definitions[name]))
    waiting.push(...referencesIn(found.get(name)))
  }
  return [...found].sort(([first], [second]) => (first < second ? -1 : 1))
}

const definitionsOf = (source: string): Node => JSON.parse(readFileSync(source, 'utf8')).components.schemas

const write = (name: string, definitions: Node, roots: readonly string[]): void => {
  const lines = reachable(definitions, roots).map(([key, schema]) => `"${key}":${JSON.stringify(schema)}`)
  writeFileSync(
    new URL(`${name}.schema.json`, import.meta.url),
    `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"${name}","$defs":{\n${lines.join(',\n')}\n}}\n`,
  )
}

const [, , openResponses, openai] = argv
if (openResponses === undefined || openai === undefined)
  throw new Error('usage: cut-responses.ts <openresponses-openapi.json> <openai-openapi.json>')
const open = definitionsOf(openResponses)
write('openresponses', open, ['ResponseResource', ...Object.keys(open).filter((name) => name.endsWith('StreamingEvent'))])
write('openai-tools', definitionsOf(openai), openaiRoots)
