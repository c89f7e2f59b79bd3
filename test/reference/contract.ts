import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import schema from './openai-chat.schema.json' with { type: 'json' }

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: fullFormats })
ajv.addSchema(schema)

const validatorOf = (name: keyof typeof schema.$defs): ValidateFunction => {
  const validate = ajv.getSchema(`openai-chat#/$defs/${name}`)
  if (validate === undefined) throw new Error(`openai-chat.schema.json has no ${name}`)
  return validate
}

const textOf = (error: ErrorObject): string =>
  `${error.instancePath || '/'} ${error.message} ${JSON.stringify(error.params)}`

const problemsBy =
  (validate: ValidateFunction) =>
  (value: unknown): readonly string[] =>
    validate(value) ? [] : (validate.errors ?? []).map(textOf)

/** OpenAI refuses a request with a member that its description does not have. */
const validateKnown = ajv.compile({
  $ref: 'openai-chat#/$defs/CreateChatCompletionRequest',
  unevaluatedProperties: false,
})

/** What OpenAI's description finds wrong, one text a problem; empty where all is right. */
export const problemsOfChatRequest = problemsBy(validatorOf('CreateChatCompletionRequest'))
export const problemsOfKnownChatRequest = problemsBy(validateKnown)
export const problemsOfChatResponse = problemsBy(validatorOf('CreateChatCompletionResponse'))
/** Of one parsed `data:` of a stream, `[DONE]` apart. */
export const problemsOfChatChunk = problemsBy(validatorOf('CreateChatCompletionStreamResponse'))
export const problemsOfModels = problemsBy(validatorOf('ListModelsResponse'))
export const problemsOfError = problemsBy(validatorOf('ErrorResponse'))
