import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { signatureOf } from '../answers/signature.ts'
import { assertGenerateContentMembers, memberOf, refuseGenerateContent } from './refusing.ts'

export interface Content {
  readonly role: string
  readonly parts: readonly JsonObject[]
}

const dataMembers = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
]
const partMembers = [...dataMembers, 'thought', 'thoughtSignature', 'videoMetadata', 'mediaResolution', 'partMetadata']

const callOf = (part: JsonObject): JsonObject | undefined => {
  const call = memberOf(part, 'functionCall')
  return isObject(call) ? call : undefined
}

const responseOf = (part: JsonObject): JsonObject | undefined => {
  const response = memberOf(part, 'functionResponse')
  return isObject(response) ? response : undefined
}

const assertData = (part: JsonObject, place: string): void => {
  const data = dataMembers.filter((name) => memberOf(part, name) !== undefined)
  if (data.length === 0)
    throw refuseGenerateContent(`${place}.data`, "required oneof field 'data' must have one initialized field")
  if (data.length > 1)
    throw new Refusal(`Invalid value at '${place}' (oneof), oneof field 'data' is already set. Cannot set '${data[1]}'`)
}

const assertInline = (part: JsonObject, place: string): void => {
  const inline = memberOf(part, 'inlineData')
  if (!isObject(inline)) return
  assertGenerateContentMembers(inline, ['mimeType', 'data', 'displayName'], `${place}.inline_data`)
  if (asText(memberOf(inline, 'mimeType')) === '')
    throw refuseGenerateContent(`${place}.inline_data.mime_type`, 'mime_type must be set')
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(asText(inline['data'])))
    throw new Refusal(`Invalid value at '${place}.inline_data.data' (TYPE_BYTES), Base64 decoding failed`)
}

const assertFunctions = (part: JsonObject, place: string): void => {
  const [call, response] = [callOf(part), responseOf(part)]
  if (call !== undefined) {
    assertGenerateContentMembers(call, ['id', 'name', 'args'], `${place}.function_call`)
    if (asText(call['name']) === '') throw refuseGenerateContent(`${place}.function_call.name`, 'Name cannot be empty.')
    if (call['args'] !== undefined && !isObject(call['args'])) throw structAt(`${place}.function_call.args`)
  }
  if (response === undefined) return
  assertGenerateContentMembers(
    response,
    ['id', 'name', 'response', 'parts', 'willContinue', 'scheduling'],
    `${place}.function_response`,
  )
  if (asText(response['name']) === '')
    throw refuseGenerateContent(`${place}.function_response.name`, 'Name cannot be empty.')
  if (!isObject(response['response'])) throw structAt(`${place}.function_response.response`)
}

const structAt = (place: string): Refusal =>
  new Refusal(`Invalid value at '${place}' (type.googleapis.com/google.protobuf.Struct)`)

const assertPart = (part: JsonObject, place: string): void => {
  assertGenerateContentMembers(part, partMembers, place)
  assertData(part, place)
  assertInline(part, place)
  assertFunctions(part, place)
}

export const contentsIn = (body: JsonObject): readonly Content[] =>
  asArray(body['contents'])
    .map(asObject)
    .map((content) => ({ role: asText(content['role'] ?? 'user'), parts: asArray(content['parts']).map(asObject) }))

const assertTurn = (content: unknown, place: string): void => {
  const value = asObject(content)
  assertGenerateContentMembers(value, ['role', 'parts'], place)
  if (!['user', 'model', 'function'].includes(asText(value['role'] ?? 'user')))
    throw new Refusal('Please use a valid role: user, model.')
  const parts = asArray(value['parts']).map(asObject)
  if (parts.length === 0) throw refuseGenerateContent(`${place}.parts`, 'contents.parts must not be empty.')
  for (const [index, part] of parts.entries()) assertPart(part, `${place}.parts[${index}]`)
}

const namesOf = (content: Content | undefined, find: (part: JsonObject) => JsonObject | undefined): readonly string[] =>
  (content?.parts ?? []).flatMap((part) => {
    const found = find(part)
    return found === undefined ? [] : [asText(found['name'])]
  })

const sameNames = (some: readonly string[], others: readonly string[]): boolean =>
  some.toSorted().join('\n') === others.toSorted().join('\n')

const assertAnswered = (called: readonly string[], answered: readonly string[]): void => {
  if (called.length !== answered.length)
    throw new Refusal(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
  if (!sameNames(called, answered))
    throw new Refusal(
      `Please ensure that function response parts have the names of the function call parts: ${called.join(', ')}, not ${answered.join(', ')}.`,
    )
}

const assertPairs = (contents: readonly Content[]): void => {
  for (const [index, content] of contents.entries()) {
    const called = namesOf(content, callOf)
    const answered = namesOf(content, responseOf)
    if (called.length > 0 && (index === 0 || contents[index - 1]?.role === 'model'))
      throw new Refusal(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (called.length > 0) assertAnswered(called, namesOf(contents[index + 1], responseOf))
    if (answered.length > 0 && namesOf(contents[index - 1], callOf).length === 0)
      throw new Refusal('Please ensure that function response turn comes immediately after a function call turn.')
  }
}

/** What callers may send where they have no signature. */
const anySignatures = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

const assertSignature = (part: JsonObject, isNeeded: boolean): void => {
  const signature = memberOf(part, 'thoughtSignature')
  const name = asText(callOf(part)?.['name'])
  if (signature === undefined) {
    if (isNeeded)
      throw new Refusal(`Function call is missing a thought_signature in functionCall parts. Function: ${name}`)
    return
  }
  if (!anySignatures.includes(asText(signature)) && signature !== signatureOf(name))
    throw new Refusal('Corrupted thought signature.')
}

const firstOfCurrentTurn = (contents: readonly Content[]): number =>
  contents.findLastIndex(({ role, parts }) => role !== 'model' && parts.some((part) => responseOf(part) === undefined))

/** The models from Gemini 3 on want the signature of each turn's first call back while they use tools. */
const assertSignatures = (contents: readonly Content[], isStrict: boolean): void => {
  const from = firstOfCurrentTurn(contents)
  for (const [index, { parts }] of contents.entries())
    for (const [at, part] of parts.filter((each) => callOf(each) !== undefined).entries())
      assertSignature(part, isStrict && index > from && at === 0)
}

export const assertContents = (body: JsonObject, model: string): void => {
  const list = asArray(body['contents'])
  if (list.length === 0) throw refuseGenerateContent('contents', 'contents is not specified')
  for (const [index, content] of list.entries()) assertTurn(content, `contents[${index}]`)
  const contents = contentsIn(body)
  assertPairs(contents)
  assertSignatures(contents, /^gemini-(?:[3-9]|\d\d)/.test(model))
}
