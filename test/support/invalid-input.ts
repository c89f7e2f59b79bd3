import { asObject, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Documented, DocumentedParameter, OpenApiClient, Sent } from './openapi-client.ts'

type Random = () => number

/** What is sent instead of something valid. */
export interface Invalid {
  readonly what: string
  readonly sent: Sent
  /** Where the document leaves but one answer. */
  readonly status?: number
  /** The document says that it is wrong, so it must be refused. */
  readonly mustBeRefused?: boolean
}

export interface Credentials {
  readonly right: string
  /** Of another security scheme. */
  readonly others: readonly string[]
}

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)]!

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  'x'.repeat(5_000),
  '\u0000',
  '\ud800',
  '😀',
  '-1',
  '1e400',
  '2026-02-30T00:00:00Z',
  [],
  [[]],
  [null],
  {},
  { a: { b: [] } },
  Array.from({ length: 300 }, () => 'x'),
]

const badTexts = [
  ...[' ', '%', '%00', '%2F', '%2f..%2f', '%F0%28', '%ED%A0%80', "'%20or%201=1", '__proto__', 'constructor', 'null'],
  ...['0', '-1', '1.5', '1e3', '99999999999999999999', '2026-02-30', '2026-13-01T00:00:00Z', '%F0%9F%98%80', '%7B%7D'],
  ...['x'.repeat(300), 'W10', 'WyJ4Il0', 'WyJjaGFyZ2VzIiwxXQ', 'a,b', ','],
].map((text) => text.replaceAll(' ', '%20'))

/** Every place in a value, as the way to it. */
const placesIn = (
  value: unknown,
  way: readonly (string | number)[] = [],
): readonly (readonly (string | number)[])[] => {
  if (Array.isArray(value)) return [way, ...value.flatMap((each, index) => placesIn(each, [...way, index]))]
  if (isObject(value)) return [way, ...Object.entries(value).flatMap(([name, each]) => placesIn(each, [...way, name]))]
  return [way]
}

const without = Symbol('without')

/** The value with another one at the end of the way, or with nothing there. */
const changedAt = (value: unknown, [step, ...rest]: readonly (string | number)[], put: unknown): unknown => {
  if (step === undefined) return put
  if (Array.isArray(value)) {
    const items = value.map((each, index) => (index === step ? changedAt(each, rest, put) : each))
    return items.filter((each) => each !== without)
  }
  const members = { ...asObject(value), [step]: changedAt(asObject(value)[step], rest, put) }
  return Object.fromEntries(Object.entries(members).filter(([, each]) => each !== without))
}

/** A value that a schema's own words make wrong, where they do. */
const beyond = (random: Random, { minimum, maximum, maxLength, maxItems, enum: words }: JsonObject): unknown => {
  const made = [
    ...(typeof minimum === 'number' ? [minimum - 1] : []),
    ...(typeof maximum === 'number' ? [maximum + 1] : []),
    ...(typeof maxLength === 'number' ? ['x'.repeat(maxLength + 1)] : []),
    ...(typeof maxItems === 'number' ? [Array.from({ length: maxItems + 1 }, () => 'x')] : []),
    ...(words === undefined ? [] : ['an unknown word']),
  ]
  return made.length === 0 ? pick(random, strange) : pick(random, made)
}

const memberOf = (client: OpenApiClient, schema: JsonObject, random: Random): readonly [string, JsonObject] => {
  const members = Object.entries(asObject(client.resolved(schema)['properties']))
  const [name, member] = members.length === 0 ? ['unknown', {}] : pick(random, members)
  return [name, client.resolved(asObject(member))]
}

const changedBody = (client: OpenApiClient, schema: JsonObject, valid: unknown, random: Random): unknown => {
  const way = pick(random, placesIn(valid))
  const [name, member] = memberOf(client, schema, random)
  const kinds: readonly (() => unknown)[] = [
    () => changedAt(valid, way, way.length === 0 ? {} : without),
    () => changedAt(valid, way, pick(random, strange)),
    () => changedAt(valid, [name], beyond(random, member)),
    () => changedAt(valid, [name], pick(random, strange)),
    () => changedAt(valid, ['unknown_member'], pick(random, strange)),
  ]
  return pick(random, kinds)()
}

const brokenBodies = (text: string): readonly (string | Buffer)[] => [
  '',
  '{',
  text.slice(0, -1),
  `${text}}`,
  `${'['.repeat(100_000)}`,
  `{"a":1,"a":2}`,
  Buffer.from([0x22, 0xff, 0xfe, 0x22]),
]

const withBody = (sent: Sent, body: string | Buffer, type = 'application/json'): Sent => ({
  ...sent,
  headers: { ...sent.headers, 'content-type': type },
  body,
})

const withHeader = (sent: Sent, name: string, text: string | null): Sent => {
  const { [name]: _before, ...headers } = sent.headers
  return { ...sent, headers: text === null ? headers : { ...headers, [name]: text } }
}

const ofBody = (
  client: OpenApiClient,
  { takesMore }: Documented,
  schema: JsonObject,
  valid: Sent,
  random: Random,
): Invalid => {
  const text = String(valid.body)
  const kind = random()
  if (kind < 0.1) return { what: 'broken JSON', sent: withBody(valid, pick(random, brokenBodies(text))), status: 400 }
  if (kind < 0.15) return { what: 'wrong type', sent: withBody(valid, text, 'text/plain'), status: 415 }
  const body = changedBody(client, schema, JSON.parse(text), random)
  const changed = JSON.stringify(body)
  const mustBeRefused = !takesMore && client.problems(schema, JSON.parse(changed)) !== ''
  return { what: changed.slice(0, 300), sent: withBody(valid, changed), mustBeRefused }
}

const ofCredential = (valid: Sent, { right, others }: Credentials, random: Random): Invalid => {
  const wrong = pick(random, [
    null,
    '',
    'Bearer',
    'Basic x',
    right.slice(0, -1),
    `${right}x`,
    'Bearer sk-\u00ff',
    ...others,
  ])
  return { what: `authorization: ${wrong}`, sent: withHeader(valid, 'authorization', wrong), status: 401 }
}

const ofPath = ({ template }: Documented, valid: Sent, random: Random): Invalid => {
  const text = pick(random, badTexts)
  const path = template.replaceAll(/\{\w+\}/g, () => text)
  return { what: path, sent: { ...valid, path } }
}

/** Whether the document says that a parameter has no such text; what cannot be decoded is left open. */
const isNoValue = (client: OpenApiClient, { schema }: DocumentedParameter, text: string): boolean => {
  if (/%(?![0-9A-F]{2})|%[89A-F]/i.test(text)) return false
  const value = decodeURIComponent(text)
  return client.problems(schema, schema['type'] === 'integer' ? Number(value) : value) !== ''
}

const ofQuery = (client: OpenApiClient, { parameters }: Documented, valid: Sent, random: Random): Invalid => {
  const parameter = pick(
    random,
    parameters.filter((each) => each.in === 'query'),
  )
  const text = pick(random, badTexts)
  const again = random() < 0.2 ? `&${parameter.name}=1` : ''
  const path = `${valid.path}?${parameter.name}=${text}${again}`
  return { what: path, sent: { ...valid, path }, mustBeRefused: isNoValue(client, parameter, text) }
}

const ofHeader = ({ parameters }: Documented, valid: Sent, random: Random): Invalid => {
  const { name } = pick(
    random,
    parameters.filter((each) => each.in === 'header'),
  )
  const text = pick(random, [null, '', 'x', 'x'.repeat(300), '\u00e9', '2023-13-45', '0', '"quoted"'])
  return { what: `${name}: ${text}`, sent: withHeader(valid, name, text) }
}

/** One way in which a valid request can be wrong, or at least strange. */
export const invalidOf = (
  client: OpenApiClient,
  operation: Documented,
  valid: Sent,
  credentials: Credentials | null,
  random: Random,
): Invalid => {
  const { bodySchema, parameters } = operation
  const has = (place: string): boolean => parameters.some((each) => each.in === place)
  const body =
    bodySchema === null
      ? []
      : Array.from({ length: 6 }, () => () => ofBody(client, operation, bodySchema, valid, random))
  const kinds: readonly (() => Invalid)[] = [
    ...body,
    ...(credentials === null ? [] : [() => ofCredential(valid, credentials, random)]),
    ...(has('path') ? [() => ofPath(operation, valid, random), () => ofPath(operation, valid, random)] : []),
    ...(has('query') ? Array.from({ length: 3 }, () => () => ofQuery(client, operation, valid, random)) : []),
    ...(has('header') ? [() => ofHeader(operation, valid, random)] : []),
    () => ({ what: 'an unknown query', sent: { ...valid, path: `${valid.path}?unknown=%00` } }),
  ]
  return pick(random, kinds)()
}
