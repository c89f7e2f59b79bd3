import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { AnswerFormat, Conversation, Reasoning, TextPart } from '../canonical/conversation.ts'
import type { Demands } from '../canonical/format.ts'
import { unsupported } from '../canonical/refuse.ts'
import { readContents } from './read-contents.ts'
import { jsonSchemaOf } from './read-schema.ts'
import { hasGeminiFunctions, readGeminiTools } from './read-tools.ts'

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const readSystem = (instruction: unknown): readonly TextPart[] =>
  asArray(asObject(instruction)['parts']).map((part, index) => {
    const { text } = asObject(part)
    if (typeof text !== 'string') throw invalidValue(`systemInstruction.parts[${index}]`, 'a text is required')
    return { type: 'text', text, cached: null }
  })

const schemaOf = ({ responseSchema, responseJsonSchema, _responseJsonSchema }: JsonObject): JsonObject | null => {
  const json = responseJsonSchema ?? _responseJsonSchema
  if (isObject(json)) return json
  return isObject(responseSchema) ? jsonSchemaOf(responseSchema) : null
}

const readFormat = (config: JsonObject): AnswerFormat => {
  const { responseMimeType = 'text/plain' } = config
  if (responseMimeType === 'text/plain') return { type: 'text' }
  if (responseMimeType !== 'application/json')
    throw unsupported(
      'generationConfig.responseMimeType',
      `'${asText(responseMimeType).slice(0, 64)}' is not available for this model`,
    )
  const schema = schemaOf(config)
  if (schema === null) return { type: 'json' }
  return { type: 'schema', name: 'answer', description: null, schema, strict: null }
}

/** Google's own models think where nothing else is asked for, as much as they find right. */
const readReasoning = (thinkingConfig: unknown): Reasoning | null => {
  if (!isObject(thinkingConfig)) return null
  const { includeThoughts, thinkingBudget, thinkingLevel } = thinkingConfig
  const level = asText(thinkingLevel).toLowerCase()
  if (level !== '' && level !== 'thinking_level_unspecified') return { type: 'effort', effort: level }
  if (thinkingBudget === 0) return { type: 'off' }
  if (typeof thinkingBudget === 'number' && thinkingBudget > 0) return { type: 'budget', tokens: thinkingBudget }
  return includeThoughts === true || typeof thinkingBudget === 'number' ? { type: 'adaptive', effort: null } : null
}

const isPlain = (value: unknown): boolean => value === undefined || value === false

const refuseUnsayable = (config: JsonObject): void => {
  const modality = asArray(config['responseModalities']).find((each) => each !== 'TEXT')
  if (modality !== undefined)
    throw unsupported('generationConfig.responseModalities', 'with anything but TEXT is not available for this model')
  for (const name of ['imageConfig', 'responseLogprobs'])
    if (!isPlain(config[name])) throw unsupported(`generationConfig.${name}`, 'is not available for this model')
}

const stopSequencesOf = (config: JsonObject): readonly string[] =>
  asArray(config['stopSequences']).filter((each) => typeof each === 'string')

export const readGeminiDemands = (body: JsonObject): Demands => {
  const config = asObject(body['generationConfig'])
  return {
    hasFunctions: hasGeminiFunctions(body),
    reasoning: readReasoning(config['thinkingConfig']),
    stopSequences: stopSequencesOf(config),
  }
}

/** See ClientFormat. What only tunes Google's own service, or an answer, is left out. */
export function* readGeminiConversation(body: JsonObject, owner: string): Generator<void, Conversation> {
  const config = asObject(body['generationConfig'])
  refuseUnsayable(config)
  const turns = yield* readContents(body['contents'], owner)
  yield
  return {
    system: readSystem(body['systemInstruction']),
    turns,
    ...readGeminiTools(body),
    parallelToolCalls: null,
    outputTokensMax: numberOrNull(config['maxOutputTokens']),
    temperature: numberOrNull(config['temperature']),
    topP: numberOrNull(config['topP']),
    topK: numberOrNull(config['topK']),
    stopSequences: stopSequencesOf(config),
    format: readFormat(config),
    reasoning: readReasoning(config['thinkingConfig']),
    serviceTier: typeof body['serviceTier'] === 'string' ? body['serviceTier'] : null,
    user: null,
  }
}
