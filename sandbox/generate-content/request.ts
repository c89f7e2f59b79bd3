import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import {
  answerSchema,
  calledOf,
  type FunctionTool,
  type Prompt,
  reasoningTokensOf,
  reasoningTokensOfBudget,
} from '../answers/output.ts'
import { audioTokens, imageTokens } from '../answers/tokens.ts'
import { countWords, joinTexts } from '../answers/words.ts'
import { type Content, contentsIn } from './contents.ts'
import { memberOf } from './refusing.ts'

export interface ContentRequest extends Prompt {
  readonly showsThoughts: boolean
  readonly searches: number
  readonly words: number
  readonly images: number
  readonly audios: number
}

const mediaIn = (parts: readonly JsonObject[], kind: string): number =>
  parts.filter((part) => {
    const data = asObject(memberOf(part, 'inlineData') ?? memberOf(part, 'fileData'))
    return asText(memberOf(data, 'mimeType')).startsWith(kind)
  }).length

const wordsIn = (parts: readonly JsonObject[]): number =>
  parts.reduce((words, part) => words + countWords(asText(part['text'])), 0)

const textIn = ({ parts }: Content): string => joinTexts(parts.map((part) => asText(part['text'])))

const isQuestion = (last: Content | undefined): boolean =>
  last !== undefined &&
  last.role !== 'model' &&
  !last.parts.some((part) => memberOf(part, 'functionResponse') !== undefined)

const functionsIn = (body: JsonObject): readonly FunctionTool[] =>
  asArray(body['tools'])
    .flatMap((tool) => asArray(memberOf(asObject(tool), 'functionDeclarations')).map(asObject))
    .map((each) => ({
      name: asText(each['name']),
      parameters: lowered(each['parameters'] ?? memberOf(each, 'parametersJsonSchema') ?? { type: 'object' }),
    }))

/** Google writes `STRING` where JSON Schema has `string`. */
const lowered = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(lowered)
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).map(([name, value]) => [
    name,
    name === 'type' && typeof value === 'string' ? value.toLowerCase() : lowered(value),
  ])
  return Object.fromEntries(entries)
}

const callsOf = (body: JsonObject, directives: Directives): readonly FunctionTool[] => {
  const calling = asObject(memberOf(asObject(memberOf(body, 'toolConfig')), 'functionCallingConfig'))
  if (asText(calling['mode']).toUpperCase() === 'NONE') return []
  const allowed = asArray(memberOf(calling, 'allowedFunctionNames'))
  const tools = functionsIn(body).filter(({ name }) => allowed.length === 0 || allowed.includes(name))
  return calledOf(tools, false, directives)
}

const declaresSearch = (body: JsonObject): boolean =>
  asArray(body['tools']).some((tool) =>
    ['googleSearch', 'googleSearchRetrieval'].some((name) => memberOf(asObject(tool), name) !== undefined),
  )

const jsonSchemaOf = (config: JsonObject): unknown => {
  if (memberOf(config, 'responseMimeType') !== 'application/json') return undefined
  return lowered(memberOf(config, 'responseSchema') ?? memberOf(config, 'responseJsonSchema') ?? answerSchema)
}

const usualEffort = 'medium'

const thoughtsOf = (thinking: unknown): number => {
  if (!isObject(thinking)) return 0
  const budget = memberOf(thinking, 'thinkingBudget')
  if (typeof budget === 'number' && budget >= 0) return reasoningTokensOfBudget(budget)
  return reasoningTokensOf(asText(memberOf(thinking, 'thinkingLevel')).toLowerCase() || usualEffort)
}

export const readContentRequest = (body: JsonObject, directives: Directives): ContentRequest => {
  const contents = contentsIn(body)
  const parts = contents.flatMap((content) => content.parts)
  const config = asObject(memberOf(body, 'generationConfig'))
  const most = memberOf(config, 'maxOutputTokens')
  const asks = isQuestion(contents.at(-1))
  const instruction = asArray(asObject(memberOf(body, 'systemInstruction'))['parts']).map(asObject)
  const texts = contents.filter(({ role }) => role !== 'model').map(textIn)
  return {
    userText: texts.findLast((text) => text !== '') ?? '',
    calls: asks ? callsOf(body, directives) : [],
    preface: '',
    jsonSchema: jsonSchemaOf(config),
    audio: false,
    stop: asArray(memberOf(config, 'stopSequences')).map(asText),
    outputTokensMax: typeof most === 'number' ? most : Number.POSITIVE_INFINITY,
    reasoningTokens: thoughtsOf(memberOf(config, 'thinkingConfig')),
    showsThoughts: memberOf(asObject(memberOf(config, 'thinkingConfig')), 'includeThoughts') === true,
    searches: asks && declaresSearch(body) ? (directives.searches ?? 1) : 0,
    words: wordsIn(instruction) + wordsIn(parts),
    images: mediaIn(parts, 'image/') * imageTokens,
    audios: mediaIn(parts, 'audio/') * audioTokens,
  }
}
