import { Ajv2020 } from 'ajv/dist/2020.js'
import schema from './gemini.schema.json' with { type: 'json' }

const ajv = new Ajv2020({ strict: false, allErrors: true })
const validate = ajv.addSchema(schema).getSchema('gemini#/$defs/GenerateContentResponse')

/** What Google's description finds wrong with an answer, or with one event of a stream, one text a problem. */
export const problemsOfGenerateContent = (value: unknown): readonly string[] => {
  if (validate === undefined) throw new Error('gemini.schema.json has no GenerateContentResponse')
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  )
}
