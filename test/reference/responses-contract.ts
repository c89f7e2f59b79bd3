import { Ajv2020 } from 'ajv/dist/2020.js'
import openaiTools from './openai-tools.schema.json' with { type: 'json' }
import openresponses from './openresponses.schema.json' with { type: 'json' }

type Json = { readonly [key: string]: unknown }

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(openresponses)
ajv.addSchema(openaiTools)

const problemsBy = (schema: string, value: unknown): readonly string[] => {
  const validate = ajv.getSchema(schema)
  if (validate === undefined) throw new Error(`there is no schema ${schema}`)
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath || '/'} ${error.message} ${JSON.stringify(error.params)}`,
  )
}

/** What OpenResponses leaves to OpenAI. */
const builtInSchemas: { readonly [type: string]: string } = {
  web_search: 'WebSearchTool',
  web_search_2025_08_26: 'WebSearchTool',
  web_search_preview: 'WebSearchPreviewTool',
  code_interpreter: 'CodeInterpreterTool',
  image_generation: 'ImageGenTool',
  web_search_call: 'WebSearchToolCall',
  file_search_call: 'FileSearchToolCall',
  code_interpreter_call: 'CodeInterpreterToolCall',
  custom_tool_call: 'CustomToolCall',
  image_generation_call: 'ImageGenToolCall',
}

const isBuiltIn = ({ type }: Json): boolean => Object.hasOwn(builtInSchemas, String(type))

const problemsOfBuiltIn = (value: Json): readonly string[] =>
  isBuiltIn(value) ? problemsBy(`openai-tools#/$defs/${builtInSchemas[String(value['type'])]}`, value) : []

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : [])

const withoutBuiltIns = (response: Json): Json => ({
  ...response,
  output: listOf(response['output']).filter((item) => !isBuiltIn(item)),
  tools: listOf(response['tools']).filter((tool) => !isBuiltIn(tool)),
})

/** What the descriptions find wrong with a whole response, one text a problem; empty where all is right. */
export const problemsOfResponse = (response: Json): readonly string[] => [
  ...problemsBy('openresponses#/$defs/ResponseResource', withoutBuiltIns(response)),
  ...[...listOf(response['output']), ...listOf(response['tools'])].flatMap(problemsOfBuiltIn),
]

const eventsOf = (file: string, definitions: Json): readonly (readonly [unknown, string])[] =>
  Object.entries(definitions)
    .filter(([name]) => name.endsWith('Event'))
    .map(([name, schema]) => [(schema as { properties: { type: { enum: string[] } } }).properties.type.enum[0], name])
    .map(([type, name]) => [type, `${file}#/$defs/${name}`])

const schemaByEvent = new Map([
  ...eventsOf('openai-tools', openaiTools.$defs),
  ...eventsOf('openresponses', openresponses.$defs),
])

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Of one parsed `data:` of a stream; an event that neither description knows has no problems. */
export const problemsOfResponsesEvent = (event: Json): readonly string[] => {
  const schema = schemaByEvent.get(String(event['type']))
  const { response, item } = event
  if (schema === undefined) return []
  if (isJson(item) && isBuiltIn(item)) return problemsOfBuiltIn(item)
  const checked = isJson(response) ? { ...event, response: withoutBuiltIns(response) } : event
  const within = isJson(response) ? listOf(response['output']).flatMap(problemsOfBuiltIn) : []
  return [...problemsBy(schema, checked), ...within]
}
