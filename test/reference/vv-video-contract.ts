import { Ajv2020 } from 'ajv/dist/2020.js'
import vvVideo from './vv-video.schema.json' with { type: 'json' }

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(vvVideo)

const problemsBy = (name: keyof typeof vvVideo.$defs, value: unknown): readonly string[] => {
  const validate = ajv.getSchema(`vv-video#/$defs/${name}`)
  if (validate === undefined) throw new Error(`there is no schema ${name}`)
  if (validate(value)) return []
  return (validate.errors ?? []).map((error) => `${error.instancePath || '/'} ${error.message}`)
}

/** What the description finds wrong with the answer to a submit, one text a problem; empty where all is right. */
export const problemsOfMade = (value: unknown): readonly string[] => problemsBy('createResponse', value)

/** The same, with the answer to a query. */
export const problemsOfTask = (value: unknown): readonly string[] => problemsBy('taskResponse', value)

/** The same, with an error. */
export const problemsOfVendorError = (value: unknown): readonly string[] => problemsBy('error', value)
