/** The largest bodies that are accepted, of every surface, as JSON text: made when they are sent. */
import { listenerLimits } from '../../src/roles/edge/http/limits.ts'
import { surfaceLimits } from '../../src/roles/edge/surfaces/limits.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { worstChats, worstMessages, worstResponses } from '../support/worst-bodies.ts'

export interface Shape {
  readonly surface: string
  readonly name: string
  readonly path: string
  readonly make: (models: readonly string[]) => string
}

const bytesMax = listenerLimits.requestBodyBytesMax - 1_024
/** Less those around them. */
const membersMax = sharedLimits.jsonMembersMax - 500

/** As they stand in JSON: some are slow to read, some to write. */
const texts = {
  words: 'word ',
  'line ends': '\\n',
  'escaped letters': '\\u00e9',
  'Chinese letters': '中',
} as const

type TextKind = keyof typeof texts

const fill = (kind: TextKind, bytes: number): string => {
  const unit = texts[kind]
  return unit.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(unit))))
}

/** As many items as there may be, which share the bytes. */
const listed = (
  membersEach: number,
  kind: TextKind,
  item: (text: string, place: number) => string,
  count = Math.floor(membersMax / membersEach),
): string => {
  const text = fill(kind, Math.floor(bytesMax / count) - Buffer.byteLength(item('', count)) - 1)
  return Array.from({ length: count }, (_, place) => item(text, place)).join()
}

const image = (bytes = bytesMax - 500): string => `data:image/png;base64,${'A'.repeat(bytes - (bytes % 4))}`
const chain = (models: readonly string[]): string => JSON.stringify(models)

const kinds = Object.keys(texts) as readonly TextKind[]
const perKind = (name: string, make: (kind: TextKind) => Shape['make']) =>
  kinds.map((kind) => [`${name} of ${kind}`, make(kind)] as const)

type Makes = readonly (readonly [name: string, make: Shape['make']])[]

const chats: Makes = [
  ...perKind(
    'one message',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"messages":[{"role":"user","content":"${fill(kind, bytesMax - 300)}"}]}`,
  ),
  ...perKind(
    'messages',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"messages":[${listed(3, kind, (text) => `{"role":"user","content":"${text}"}`)}]}`,
  ),
  [
    'an image',
    (models) =>
      `{"model":"x","models":${chain(models)},"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${image()}"}}]}]}`,
  ],
]

const messages: Makes = [
  ...perKind(
    'one message',
    (kind) => (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":"${fill(kind, bytesMax - 300)}"}]}`,
  ),
  ...perKind(
    'messages',
    (kind) => (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[${listed(3, kind, (text) => `{"role":"user","content":"${text}"}`)}]}`,
  ),
  [
    'an image',
    (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${image().slice(22)}"}}]}]}`,
  ],
]

const responses: Makes = [
  ...perKind(
    'one text',
    (kind) => (models) => `{"model":"x","models":${chain(models)},"input":"${fill(kind, bytesMax - 300)}"}`,
  ),
  ...perKind(
    'items',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"input":[${listed(3, kind, (text) => `{"role":"user","content":"${text}"}`)}]}`,
  ),
]

const embeddings: Makes = [
  ...perKind(
    'one text',
    (kind) => (models) => `{"model":"x","models":${chain(models)},"input":"${fill(kind, bytesMax - 300)}"}`,
  ),
  ...perKind(
    'texts',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"input":[${listed(1, kind, (text) => `"${text}"`, surfaceLimits.embeddingInputsMax)}]}`,
  ),
  [
    'token ids',
    (models) =>
      `{"model":"x","models":${chain(models)},"input":[${Array.from({ length: surfaceLimits.embeddingTokenIdsMax }, () => 199_998).join()}]}`,
  ],
  [
    'lists of token ids',
    (models) =>
      `{"model":"x","models":${chain(models)},"input":[${Array.from({ length: 2_000 }, () => `[${Array.from({ length: 150 }, () => 199_998).join()}]`).join()}]}`,
  ],
]

const gemini: Makes = [
  ...perKind(
    'one part',
    (kind) => () => `{"contents":[{"role":"user","parts":[{"text":"${fill(kind, bytesMax - 300)}"}]}]}`,
  ),
  ...perKind(
    'parts',
    (kind) => () => `{"contents":[{"role":"user","parts":[${listed(2, kind, (text) => `{"text":"${text}"}`)}]}]}`,
  ),
  ...perKind(
    'contents',
    (kind) => () => `{"contents":[${listed(5, kind, (text) => `{"role":"user","parts":[{"text":"${text}"}]}`)}]}`,
  ),
  [
    'an image',
    () =>
      `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"${image().slice(22)}"}}]}]}`,
  ],
  [
    'function declarations',
    () =>
      `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[${listed(4, 'words', (text, place) => `{"name":"f${place}","description":"${text}","parameters":{"type":"OBJECT"}}`)}]}]}`,
  ],
]

const withChain = (body: string, models: readonly string[]): string => `{"models":${chain(models)},${body.slice(1)}`

const small = (make: (members: number) => Readonly<Record<string, string>>): Makes =>
  Object.keys(make(1)).map((name) => [`many ${name}`, (models) => withChain(make(membersMax - 20)[name] ?? '', models)])

const shapesOf = (surface: string, path: string, makes: Makes): readonly Shape[] =>
  makes.map(([name, make]) => ({ surface, name, path, make }))

export const shapes: readonly Shape[] = [
  ...shapesOf('chat', '/v1/chat/completions', [...chats, ...small(worstChats)]),
  ...shapesOf('messages', '/v1/messages', [...messages, ...small(worstMessages)]),
  ...shapesOf('responses', '/v1/responses', [...responses, ...small(worstResponses)]),
  ...shapesOf('embeddings', '/v1/embeddings', embeddings),
  ...shapesOf('gemini', '/v1beta/models/MODEL:generateContent', gemini),
]

export const smallBodies: Readonly<Record<string, Shape['make']>> = Object.fromEntries(
  shapes
    .filter(({ name }) => /^one .* of words$/.test(name))
    .map(({ surface, make }) => [surface, (models) => make(models).replace(/(?:word ){2,}/, 'word ')]),
)
