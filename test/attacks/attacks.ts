import {
  type Asked,
  type Connection,
  type Ending,
  freshText,
  requestBytes,
  type Target,
  unendingHead,
} from './connection.ts'

/** Of the attackers' workspaces: one that has credit, one that has none. */
export interface Keys {
  readonly paying: string
  readonly penniless: string
}

export interface Attack {
  readonly name: string
  /** How many connections at once. */
  readonly connections: number
  /** What a try may end with; one that is open when the attack ends has got nothing yet. */
  readonly held: readonly Ending[]
  readonly overTls?: true
  /** What the neighbour asks meanwhile, where it is not the ordinary model or pace. */
  readonly neighbour?: { readonly model?: string; readonly perSecond?: number; readonly keyed?: boolean }
  readonly attempt: (connection: Connection, keys: Keys) => Promise<Ending>
}

const chatPath = '/v1/chat/completions'
const said = [{ role: 'user', content: 'Hello!' }]
const chatOf = (model: string, more: object = {}): string =>
  JSON.stringify({ model, max_tokens: 16, messages: said, ...more })
const asks = (asked: Omit<Asked, 'path'>): Buffer => requestBytes({ path: chatPath, ...asked })

const largeBytes = 19 * 1024 * 1024
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
/** 19 MB of what takes the longest to parse for its size. */
const largeBody = once(() => `{"model":"openai/quick","many":[${'{"a":1},'.repeat(largeBytes / 8)}0]}`)
const deepBody = once(() => `{"model":"openai/quick","deep":${'['.repeat(500_000)}${']'.repeat(500_000)}}`)
const manyMembers = once(() => `{"model":"openai/quick","many":[${'1,'.repeat(200_000)}1]}`)

const geminiPath = '/v1beta/models/openai/quick:generateContent'
const geminiOf = (more: object): string =>
  JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }], ...more })
const tools = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, place) => ({
    type: 'function',
    function: { name: `f${place}`, description: 'd'.repeat(100), parameters: { type: 'object', properties: {} } },
  }))
const manyTools = once(() => chatOf('anthropic/quick', { tools: tools(8_000) }))
const manyDeclarations = once(() => {
  const functionDeclarations = Array.from({ length: 20_000 }, (_, place) => ({ name: `f${place}`, description: 'd' }))
  return geminiOf({ tools: [{ functionDeclarations }] })
})
const manyItems = once(() => {
  const input = Array.from({ length: 30_000 }, () => ({ role: 'user', content: 'Hello!' }))
  return JSON.stringify({ model: 'anthropic/quick', input })
})
/** Each was compared with all others, since one of them must be called. */
const unpricedTools = once(() => {
  const tools = [...Array(40_000).fill({ type: 'bank_search' }), { type: 'function', name: 'f' }]
  return JSON.stringify({ model: 'openai/quick', input: 'Hello!', tool_choice: 'required', tools })
})
const longName = once(() => chatOf('openai/quick', { [`${'_knowledge'.repeat(150_000)}-`]: 1 }))
const tokenIds = once(() => JSON.stringify({ model: 'openai/vectors', input: Array(300_000).fill(199_998) }))
const tokenIdLists = once(() =>
  JSON.stringify({ model: 'openai/vectors', input: Array(2_000).fill(Array(150).fill(199_998)) }),
)
const manyTexts = once(() => JSON.stringify({ model: 'openai/vectors', input: Array(2_048).fill('word '.repeat(100)) }))
const countPath = '/v1/messages/count_tokens'
const versioned = { 'anthropic-version': '2023-06-01' }
const unfundedBytes = 250_000
const countBody = once(() =>
  JSON.stringify({ model: 'openai/quick', messages: [{ role: 'user', content: '中文字'.repeat(unfundedBytes / 9) }] }),
)
const manyParts = once(() => '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(3_000))

const bytesFor = (make: (keys: Keys) => Buffer): ((keys: Keys) => Buffer) => {
  let made: Buffer | undefined
  return (keys) => {
    made ??= make(keys)
    return made
  }
}

/** The same bytes at each try. */
const repeats = (make: (keys: Keys) => Buffer): Attack['attempt'] => {
  const bytes = bytesFor(make)
  return (connection, keys) => connection.exchange(bytes(keys))
}

export const attacks: readonly Attack[] = [
  {
    name: 'nothing, for comparison',
    connections: 0,
    held: [],
    attempt: async () => 'closed',
  },
  {
    name: 'large bodies, no key',
    connections: 8,
    held: [401, 'closed'],
    attempt: repeats(() => asks({ key: 'sk-unknown', body: largeBody() })),
  },
  {
    name: 'large bodies, no money',
    connections: 8,
    held: [402, 413, 'closed'],
    attempt: repeats(({ penniless }) => asks({ key: penniless, body: largeBody() })),
  },
  {
    name: 'large bodies, paid for',
    connections: 8,
    held: [413, 429, 503, 'closed'],
    attempt: repeats(({ paying }) => asks({ key: paying, body: largeBody() })),
  },
  {
    name: 'deep bodies',
    connections: 8,
    held: [400],
    attempt: repeats(({ paying }) => asks({ key: paying, body: deepBody() })),
  },
  {
    name: 'bodies of many members',
    connections: 8,
    held: [413],
    attempt: repeats(({ paying }) => asks({ key: paying, body: manyMembers() })),
  },
  {
    name: 'unknown keys',
    connections: 16,
    held: [401],
    attempt: (connection) => connection.exchange(asks({ key: `sk-${freshText()}`, body: chatOf('openai/quick') })),
  },
  {
    name: 'unknown models',
    connections: 16,
    held: [404, 429],
    attempt: (connection, { paying }) =>
      connection.exchange(asks({ key: paying, body: chatOf(`openai/${freshText()}`) })),
  },
  {
    name: 'unknown paths',
    connections: 16,
    held: [404],
    attempt: (connection) => connection.exchange(requestBytes({ method: 'GET', path: `/${freshText()}` })),
  },
  {
    name: 'penniless callers',
    connections: 16,
    held: [402, 429],
    attempt: repeats(({ penniless }) => asks({ key: penniless, body: chatOf('openai/quick') })),
  },
  {
    name: 'refused requests',
    connections: 16,
    held: [400, 429],
    attempt: repeats(({ paying }) => asks({ key: paying, body: '{"model":"openai/quick"}' })),
  },
  {
    name: 'slow headers',
    connections: 500,
    held: [408, 'closed'],
    attempt: (connection) => connection.trickle(Buffer.from(`GET ${chatPath} HTTP/1.1\r\nX: `), 500),
  },
  {
    name: 'slow bodies',
    connections: 500,
    held: [408, 429, 'closed'],
    attempt: (connection, { paying }) =>
      connection.trickle(unendingHead({ path: chatPath, key: paying }, 1_000_000), 500),
  },
  {
    name: 'slow readers',
    connections: 200,
    held: [429, 'closed'],
    attempt: (connection, { paying }) =>
      connection.neverRead(asks({ key: paying, body: chatOf('openai/endless', { stream: true }) })),
  },
  {
    name: 'open and leave',
    connections: 16,
    held: ['closed'],
    attempt: (connection, { paying }) =>
      connection.leave(asks({ key: paying, body: chatOf('openai/endless', { stream: true }) })),
  },
  {
    name: 'idempotency keys, large answers',
    connections: 8,
    held: [200, 429, 503],
    neighbour: { keyed: true },
    attempt: (connection, { paying }) =>
      connection.exchange(
        asks({ key: paying, headers: { 'Idempotency-Key': freshText() }, body: chatOf('openai/large') }),
      ),
  },
  {
    name: 'idempotency keys, refused',
    connections: 16,
    held: [400, 402, 429],
    neighbour: { keyed: true },
    attempt: (connection, { penniless }) =>
      connection.exchange(
        asks({ key: penniless, headers: { 'Idempotency-Key': freshText() }, body: chatOf('openai/quick') }),
      ),
  },
  {
    name: "a hog of a provider's limit",
    connections: 64,
    held: [200, 429, 502, 503],
    neighbour: { model: 'shared/limited', perSecond: 4 },
    attempt: repeats(({ paying }) => asks({ key: paying, body: chatOf('shared/limited') })),
  },
  {
    name: 'gemini: unknown keys in the address',
    connections: 16,
    held: [401],
    attempt: (connection) =>
      connection.exchange(requestBytes({ path: `${geminiPath}?key=sk-${freshText()}`, body: geminiOf({}) })),
  },
  {
    name: 'gemini: deep arguments',
    connections: 8,
    held: [400, 429],
    attempt: repeats(({ paying }) => requestBytes({ path: geminiPath, key: paying, body: deepBody() })),
  },
  {
    name: 'gemini: many function declarations',
    connections: 4,
    held: [200, 400, 413, 429],
    attempt: repeats(({ paying }) => requestBytes({ path: geminiPath, key: paying, body: manyDeclarations() })),
  },
  {
    name: 'chat: many tools, translated',
    connections: 4,
    held: [200, 400, 413, 429, 502, 503],
    attempt: repeats(({ paying }) => asks({ key: paying, body: manyTools() })),
  },
  {
    name: 'responses: many items, translated',
    connections: 4,
    held: [200, 400, 413, 429, 502, 503],
    attempt: repeats(({ paying }) => requestBytes({ path: '/v1/responses', key: paying, body: manyItems() })),
  },
  {
    name: 'responses: many tools without a price',
    connections: 4,
    held: [200, 400, 404, 413, 429, 502, 503],
    attempt: repeats(({ paying }) => requestBytes({ path: '/v1/responses', key: paying, body: unpricedTools() })),
  },
  {
    name: 'chat: an unknown member with a long name',
    connections: 4,
    held: [400, 413, 429],
    attempt: repeats(({ paying }) => asks({ key: paying, body: longName() })),
  },
  ...[tokenIds, tokenIdLists, manyTexts].map((body, place) => ({
    name: `embeddings: ${['300,000 token ids', '2,000 lists of token ids', '2,048 texts'][place]}`,
    connections: 4,
    held: [200, 429],
    attempt: repeats(({ paying }) => requestBytes({ path: '/v1/embeddings', key: paying, body: body() })),
  })),
  {
    name: 'messages: counts of tokens, no money',
    connections: 16,
    held: [200, 429],
    attempt: repeats(({ penniless }) =>
      requestBytes({ path: countPath, key: penniless, headers: versioned, body: countBody() }),
    ),
  },
  {
    name: 'messages: counts of tokens, 19 MB',
    connections: 4,
    held: [200, 413, 429],
    attempt: repeats(({ paying }) =>
      requestBytes({
        path: countPath,
        key: paying,
        headers: versioned,
        body: JSON.stringify({
          model: 'openai/quick',
          messages: [{ role: 'user', content: '中文字'.repeat(largeBytes / 9) }],
        }),
      }),
    ),
  },
  {
    name: 'video: submits, no money',
    connections: 16,
    held: [402, 429],
    attempt: repeats(({ penniless }) =>
      requestBytes({ path: '/v1/video/generations', key: penniless, body: '{"model":"vv/v3","prompt":"A cat."}' }),
    ),
  },
  {
    name: 'video: forms of many parts',
    connections: 8,
    held: [400, 413, 429],
    attempt: repeats(({ paying }) =>
      requestBytes({
        path: '/v1/videos',
        key: paying,
        headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
        body: manyParts(),
      }),
    ),
  },
  {
    name: 'fresh tags and end users',
    connections: 8,
    held: [200, 429],
    attempt: (connection, { paying }) =>
      connection.exchange(
        asks({
          key: paying,
          headers: { 'X-Gateway-Tags': `team=${freshText()}` },
          body: chatOf('openai/quick', { user: freshText() }),
        }),
      ),
  },
  {
    name: 'tags that are refused',
    connections: 16,
    held: [400, 429],
    attempt: repeats(({ paying }) =>
      asks({ key: paying, headers: { 'X-Gateway-Tags': 'team=a,'.repeat(1_500) }, body: chatOf('openai/quick') }),
    ),
  },
  ...['large-event', 'many-events'].map((model) => ({
    name: `translated streams: ${model}`,
    connections: 4,
    held: [200, 429, 502, 503],
    attempt: (connection: Connection, { paying }: Keys) =>
      connection.readWhole(
        asks({
          key: paying,
          headers: { Connection: 'close' },
          body: chatOf(`anthropic/${model}`, { stream: true }),
        }),
      ),
  })),
  {
    name: 'statements, one after another',
    connections: 8,
    held: [200, 429],
    attempt: repeats(({ penniless }) => requestBytes({ method: 'GET', path: '/v1/ledger/statement', key: penniless })),
  },
  {
    // Last of those on this gateway: its requests stay open, so that the attacker is refused all else.
    name: 'hung upstreams',
    connections: 2_500,
    held: [429, 503],
    attempt: repeats(({ paying }) => asks({ key: paying, body: chatOf('openai/hung') })),
  },
  {
    name: 'handshakes, whole',
    connections: 8,
    held: ['closed'],
    overTls: true,
    attempt: (connection) => connection.leave(requestBytes({ method: 'GET', path: '/healthz' })),
  },
  {
    name: 'handshakes that do not end',
    connections: 1_000,
    held: ['closed'],
    overTls: true,
    attempt: (connection) => connection.beginHandshake(),
  },
]

export const targetOf = (url: string): Target => {
  const { port, protocol } = new URL(url)
  return { port: Number(port), isTls: protocol === 'https:' }
}
