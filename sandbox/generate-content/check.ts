import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { assertContents } from './contents.ts'
import { assertGenerateContentMembers, memberOf, refuseGenerateContent } from './refusing.ts'
import { assertSchema } from './schema-check.ts'

const members = [
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'serviceTier',
  'store',
  'labels',
]

const configMembers = [
  'stopSequences',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
  'responseModalities',
  'candidateCount',
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'enableEnhancedCivicAnswers',
  'speechConfig',
  'thinkingConfig',
  'imageConfig',
  'mediaResolution',
]

const toolMembers = [
  'functionDeclarations',
  'googleSearch',
  'googleSearchRetrieval',
  'codeExecution',
  'urlContext',
  'googleMaps',
  'fileSearch',
  'computerUse',
  'mcpServers',
]
const declarationMembers = [
  'name',
  'description',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
  'behavior',
]

const assertDeclaration = (declaration: JsonObject, place: string): void => {
  assertGenerateContentMembers(declaration, declarationMembers, place)
  if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(asText(declaration['name'])))
    throw refuseGenerateContent(
      `${place}.name`,
      'Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
    )
  if (declaration['parameters'] !== undefined) assertSchema(declaration['parameters'], `${place}.parameters`)
}

const assertTools = (body: JsonObject): void => {
  for (const [index, tool] of asArray(body['tools']).map(asObject).entries()) {
    const place = `tools[${index}]`
    assertGenerateContentMembers(tool, toolMembers, place)
    const declarations = asArray(memberOf(tool, 'functionDeclarations')).map(asObject)
    for (const [at, each] of declarations.entries()) assertDeclaration(each, `${place}.function_declarations[${at}]`)
  }
}

const modes = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']

const assertToolConfig = (body: JsonObject): void => {
  const config = asObject(memberOf(body, 'toolConfig'))
  assertGenerateContentMembers(
    config,
    ['functionCallingConfig', 'retrievalConfig', 'includeServerSideToolInvocations'],
    'tool_config',
  )
  const calling = asObject(memberOf(config, 'functionCallingConfig'))
  assertGenerateContentMembers(calling, ['mode', 'allowedFunctionNames'], 'tool_config.function_calling_config')
  const { mode } = calling
  if (mode !== undefined && !modes.includes(asText(mode).toUpperCase()))
    throw new Refusal(`Invalid value at 'tool_config.function_calling_config.mode' (Mode), "${mode}"`)
  if (
    asArray(memberOf(calling, 'allowedFunctionNames')).length > 0 &&
    !['ANY', 'VALIDATED'].includes(asText(mode).toUpperCase())
  )
    throw new Refusal('Please set allowed_function_names only when function calling mode is ANY.')
}

const temperatureMax = 2

const assertRange = (config: JsonObject, name: string, most: number): void => {
  const value = memberOf(config, name)
  if (value === undefined) return
  if (typeof value !== 'number' || value < 0 || value > most)
    throw refuseGenerateContent(`generation_config.${name}`, `${name} must be in the range [0.0, ${most}.0].`)
}

const assertThinking = (config: JsonObject): void => {
  const thinking = memberOf(config, 'thinkingConfig')
  if (!isObject(thinking)) return
  assertGenerateContentMembers(
    thinking,
    ['includeThoughts', 'thinkingBudget', 'thinkingLevel'],
    'generation_config.thinking_config',
  )
  if (memberOf(thinking, 'thinkingBudget') !== undefined && memberOf(thinking, 'thinkingLevel') !== undefined)
    throw new Refusal('You can only set only one of thinking budget and thinking level.')
}

const assertFormat = (config: JsonObject): void => {
  const schema = memberOf(config, 'responseSchema')
  const isJson = asText(memberOf(config, 'responseMimeType')) === 'application/json'
  if ((schema !== undefined || memberOf(config, 'responseJsonSchema') !== undefined) && !isJson)
    throw refuseGenerateContent('generation_config.response_schema', 'response_mime_type must be application/json')
  if (schema !== undefined) assertSchema(schema, 'generation_config.response_schema')
}

const assertConfig = (body: JsonObject): void => {
  const config = asObject(memberOf(body, 'generationConfig'))
  assertGenerateContentMembers(config, configMembers, 'generation_config')
  assertRange(config, 'temperature', temperatureMax)
  assertRange(config, 'topP', 1)
  assertThinking(config)
  assertFormat(config)
  const most = memberOf(config, 'maxOutputTokens')
  if (most !== undefined && (typeof most !== 'number' || most < 1))
    throw refuseGenerateContent('generation_config.max_output_tokens', 'max_output_tokens must be positive.')
  if ((memberOf(config, 'candidateCount') ?? 1) !== 1)
    throw new Refusal('Multiple candidates is not enabled for this model')
}

const assertInstruction = (body: JsonObject): void => {
  const instruction = memberOf(body, 'systemInstruction')
  if (instruction === undefined) return
  assertGenerateContentMembers(asObject(instruction), ['role', 'parts'], 'system_instruction')
  for (const part of asArray(asObject(instruction)['parts']))
    if (typeof asObject(part)['text'] !== 'string') throw new Refusal('System instruction must be text.')
}

export const checkGenerateContent = (body: JsonObject, model: string): void => {
  assertGenerateContentMembers(body, members, '')
  assertTools(body)
  assertToolConfig(body)
  assertConfig(body)
  assertInstruction(body)
  assertContents(body, model)
}
