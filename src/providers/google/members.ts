import { isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { refuseProviderState, unsupported } from '../canonical/refuse.ts'

/**
 * `free`: a value that is not looked into. `account`: names an object of the gateway's account, or makes the provider
 * fetch with it. `unpriced`: costs money beside the tokens, or has no counterpart here.
 */
type Rule = 'free' | 'account' | 'unpriced' | Members | readonly [Rule]

interface Members {
  readonly [member: string]: Rule
}

const free = (...names: readonly string[]): Members => Object.fromEntries(names.map((name) => [name, 'free']))

const blob = free('mimeType', 'data', 'displayName')

const part: Members = {
  ...free('text', 'thought', 'thoughtSignature', 'partMetadata'),
  inlineData: blob,
  fileData: 'account',
  functionCall: free('id', 'name', 'args'),
  functionResponse: {
    ...free('id', 'name', 'response', 'willContinue', 'scheduling'),
    parts: [{ inlineData: blob, fileData: 'account' }],
  },
  executableCode: free('id', 'language', 'code'),
  codeExecutionResult: free('id', 'outcome', 'output'),
  videoMetadata: free('startOffset', 'endOffset', 'fps'),
  mediaResolution: free('level', 'numTokens'),
}

const content: Members = { role: 'free', parts: [part] }

const tool: Members = {
  functionDeclarations: [
    free('name', 'description', 'parameters', 'parametersJsonSchema', 'response', 'responseJsonSchema', 'behavior'),
  ],
  googleSearch: free('timeRangeFilter'),
  codeExecution: {},
  urlContext: {},
  fileSearch: 'account',
  retrieval: 'account',
  googleSearchRetrieval: 'unpriced',
  googleMaps: 'unpriced',
  computerUse: 'unpriced',
  enterpriseWebSearch: 'unpriced',
  mcpServers: 'unpriced',
}

const generationConfig: Members = {
  ...free('candidateCount', 'stopSequences', 'maxOutputTokens', 'temperature', 'topP', 'topK', 'seed'),
  ...free('presencePenalty', 'frequencyPenalty', 'responseLogprobs', 'logprobs', 'enableEnhancedCivicAnswers'),
  ...free('responseMimeType', 'responseSchema', 'responseJsonSchema', '_responseJsonSchema'),
  ...free('responseModalities', 'mediaResolution'),
  thinkingConfig: free('includeThoughts', 'thinkingBudget', 'thinkingLevel'),
  imageConfig: free('aspectRatio', 'imageSize'),
  speechConfig: 'unpriced',
}

const request: Members = {
  ...free('model', 'serviceTier', 'models', 'route', 'extra_body'),
  contents: [content],
  systemInstruction: content,
  tools: [tool],
  toolConfig: {
    functionCallingConfig: free('mode', 'allowedFunctionNames'),
    retrievalConfig: free('latLng', 'languageCode'),
  },
  safetySettings: [free('category', 'threshold')],
  generationConfig,
  cachedContent: 'account',
}

/** Google takes each member in two spellings. */
const camelCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])_([a-z])/g, (_matched, letter: string) => letter.toUpperCase())

const spelled = (name: string, members: Members): string =>
  Object.hasOwn(members, name) || name.length > shownCharactersMax ? name : camelCase(name)

const shownCharactersMax = 64

/** Most parts are, of which a request may have thousands: they are not copied. */
const isAsItIs = (value: JsonObject, members: Members): boolean => {
  for (const name in value) if (members[name] !== 'free') return false
  return true
}

const readMembers = (value: JsonObject, members: Members, path: string): JsonObject => {
  if (isAsItIs(value, members)) return value
  const read: Record<string, unknown> = {}
  for (const [written, member] of Object.entries(value)) {
    const name = spelled(written, members)
    const memberPath = path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(members, name))
      throw unsupported(memberPath.slice(-shownCharactersMax), 'is not known here, and so not passed on')
    if (Object.hasOwn(read, name)) throw invalidValue(memberPath, 'it is given twice')
    read[name] = readByRule(member, members[name]!, memberPath)
  }
  return read
}

const isList = (rule: Exclude<Rule, string>): rule is readonly [Rule] => Array.isArray(rule)

const readByRule = (value: unknown, rule: Rule, path: string): unknown => {
  if (rule === 'free') return value
  if (rule === 'account') throw refuseProviderState(path)
  if (rule === 'unpriced') throw unsupported(path, 'is not available: it has no price here')
  if (!isList(rule)) return isObject(value) ? readMembers(value, rule, path) : value
  return Array.isArray(value) ? value.map((each, index) => readByRule(each, rule[0], `${path}[${index}]`)) : value
}

/**
 * A request of Google's format with every member in its one spelling. Throws
 * `unsupported_parameter` with the path of a member that is not known, that names an object of the provider's account,
 * or that has no price; `invalid_value` for one that is given twice.
 */
export const readGeminiMembers = (value: unknown): unknown => readByRule(value, request, '')

/** As `readGeminiMembers`, of the question how many tokens a request has: contents, or a wrapped request in their place. */
export const readCountMembers = (value: unknown): unknown => {
  if (!isObject(value)) return value
  const { generateContentRequest, generate_content_request: wrapped = generateContentRequest, ...plain } = value
  if (wrapped === undefined) return readGeminiMembers(plain)
  if (!isObject(wrapped)) throw invalidValue('generateContentRequest', 'an object is expected')
  const { contents: _replaced, ...beside } = plain
  return readGeminiMembers({ ...beside, ...wrapped })
}
