/** The largest bodies that are accepted, of every surface, as JSON text: made when they are sent. */
import { providerLimits } from '../../src/providers/dialect/limits.ts'
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

const argumentsText = (kind: TextKind): string =>
  JSON.stringify(`{"a":"${fill(kind, providerLimits.argumentCharactersMax - 100)}"}`)
const namedArguments = JSON.stringify(
  `{${Array.from({ length: sharedLimits.jsonDifferentNamesMax - 100 }, (_, place) => `"k${place}":1`).join()}}`,
)

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

const chatCall = (models: readonly string[], given: string): string =>
  `{"model":"x","models":${chain(models)},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${given}}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`

const chatsInOne: Makes = [
  ...perKind(
    'parts of one message',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"messages":[{"role":"user","content":[${listed(3, kind, (text) => `{"type":"text","text":"${text}"}`)}]}]}`,
  ),
  ...perKind('arguments', (kind) => (models) => chatCall(models, argumentsText(kind))),
  ['arguments of many names', (models) => chatCall(models, namedArguments)],
  [
    'tools of words',
    (models) =>
      `{"model":"x","models":${chain(models)},"messages":[{"role":"user","content":"hi"}],"tools":[${listed(6, 'words', (text, place) => `{"type":"function","function":{"name":"f${place}","description":"${text}","parameters":{}}}`)}]}`,
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

const messagesCall = (models: readonly string[], input: string): string =>
  `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]}`

const messagesInOne: Makes = [
  ...perKind(
    'blocks of one message',
    (kind) => (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":[${listed(3, kind, (text) => `{"type":"text","text":"${text}"}`)}]}]}`,
  ),
  ...perKind('input', (kind) => (models) => messagesCall(models, JSON.parse(argumentsText(kind)))),
  ['input of many names', (models) => messagesCall(models, JSON.parse(namedArguments))],
  [
    'images of one result',
    (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[${listed(6, 'words', () => '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}')}]}]}]}`,
  ],
  [
    'tools of words',
    (models) =>
      `{"model":"x","max_tokens":16,"models":${chain(models)},"messages":[{"role":"user","content":"hi"}],"tools":[${listed(5, 'words', (text, place) => `{"name":"f${place}","description":"${text}","input_schema":{}}`)}]}`,
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

const responsesInOne: Makes = [
  ...perKind(
    'parts of one item',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"input":[{"role":"user","content":[${listed(3, kind, (text) => `{"type":"input_text","text":"${text}"}`)}]}]}`,
  ),
  ...perKind(
    'arguments',
    (kind) => (models) =>
      `{"model":"x","models":${chain(models)},"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":${argumentsText(kind)}},{"type":"function_call_output","call_id":"c","output":"x"}]}`,
  ),
  [
    'tools of words',
    (models) =>
      `{"model":"x","models":${chain(models)},"input":"hi","tools":[${listed(4, 'words', (text, place) => `{"type":"function","name":"f${place}","description":"${text}"}`)}]}`,
  ],
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
    'an image in the other alphabet',
    () =>
      `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"${'-_'.repeat((bytesMax - 500) / 2)}"}}]}]}`,
  ],
  [
    'results in the opposite order',
    () => {
      const count = Math.floor(membersMax / 10)
      const calls = Array.from({ length: count }, (_, place) => `{"functionCall":{"id":"c${place}","name":"f"}}`)
      const results = calls.map(
        (_, place) => `{"functionResponse":{"id":"c${count - 1 - place}","name":"f","response":{}}}`,
      )
      return `{"contents":[{"role":"model","parts":[${calls.join()}]},{"role":"user","parts":[${results.join()}]}]}`
    },
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
  ...shapesOf('chat', '/v1/chat/completions', [...chats, ...chatsInOne, ...small(worstChats)]),
  ...shapesOf('messages', '/v1/messages', [...messages, ...messagesInOne, ...small(worstMessages)]),
  ...shapesOf('responses', '/v1/responses', [...responses, ...responsesInOne, ...small(worstResponses)]),
  ...shapesOf('embeddings', '/v1/embeddings', embeddings),
  ...shapesOf('gemini', '/v1beta/models/MODEL:generateContent', gemini),
]

export const smallBodies: Readonly<Record<string, Shape['make']>> = Object.fromEntries(
  shapes
    .filter(({ name }) => /^one .* of words$/.test(name))
    .map(({ surface, make }) => [surface, (models) => make(models).replace(/(?:word ){2,}/, 'word ')]),
)
