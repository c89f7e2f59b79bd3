import t from 'tap'
import { surfaceLimits } from '../../../../../src/roles/edge/surfaces/limits.ts'
import type { MessagesRequest } from '../../../../../src/roles/edge/surfaces/messages/request.types.ts'
import { boundMessagesUsage } from '../../../../../src/roles/edge/surfaces/messages/usage-bounds.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'

const ask = (change: object = {}): MessagesRequest => ({
  model: 'anthropic/plain',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Grüezi 👋' }],
  ...change,
})
const bytesOf = (request: object): number => Buffer.byteLength(JSON.stringify(request))
const demandFor = (request: MessagesRequest): ReturnType<typeof boundMessagesUsage> =>
  boundMessagesUsage(request, bytesOf(request))
const withBlock = (block: { type: string; [member: string]: unknown }): MessagesRequest =>
  ask({ messages: [{ role: 'user', content: [block] }] })

t.test('text counts by its bytes, the answer by its limit', async (t) => {
  t.same(demandFor(ask()), {
    inputTokensMax: bytesOf(ask()),
    unmeasured: false,
    outputTokensMax: 100,
    choices: 1,
    audio: false,
    image: false,
    toolCallsMax: { web_search_medium: 1 },
  })
  const thinking = ask({ thinking: { type: 'enabled', budget_tokens: 4_000 }, max_tokens: 5_000 })
  t.equal(demandFor(thinking).outputTokensMax, 5_000, 'what it thinks is within its limit')
})

const png = { type: 'base64', media_type: 'image/png' }
const nested = (block: object): MessagesRequest =>
  withBlock({ type: 'tool_result', tool_use_id: 'a', content: [block] })

t.test('an image counts as an image, wherever it stands', async (t) => {
  const data = 'A'.repeat(100_000)
  for (const [place, empty] of [
    [
      withBlock({ type: 'image', source: { ...png, data } }),
      withBlock({ type: 'image', source: { ...png, data: '' } }),
    ],
    [nested({ type: 'image', source: { ...png, data } }), nested({ type: 'image', source: { ...png, data: '' } })],
  ] as const) {
    t.equal(demandFor(place).inputTokensMax, bytesOf(empty) + surfaceLimits.imageTokensMax)
    t.match(demandFor(place), { image: true, unmeasured: false })
  }
  const linked = withBlock({ type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } })
  t.equal(demandFor(linked).inputTokensMax, bytesOf(linked) + surfaceLimits.imageTokensMax)
})

t.test('what cannot be measured here', async (t) => {
  const table: readonly (readonly [what: string, request: MessagesRequest, unmeasured: boolean])[] = [
    [
      'a PDF',
      withBlock({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } }),
      true,
    ],
    ['a linked PDF', withBlock({ type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } }), true],
    ['a file by its id', withBlock({ type: 'document', source: { type: 'file', file_id: 'file_1' } }), true],
    ['an image by its id', withBlock({ type: 'image', source: { type: 'file', file_id: 'file_1' } }), true],
    ['a document of text', withBlock({ type: 'document', source: { type: 'text', data: 'x' } }), false],
    [
      'a document of blocks',
      withBlock({ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] } }),
      false,
    ],
    ['a PDF in a result', nested({ type: 'document', source: { type: 'base64', data: 'AA==' } }), true],
    ['what is fetched', ask({ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }), true],
    ['what other servers say', ask({ mcp_servers: [{ type: 'url', url: 'https://x.example' }] }), true],
    ['a tool of the caller', ask({ tools: [{ name: 'f', input_schema: { type: 'object' } }] }), false],
  ]
  for (const [what, request, unmeasured] of table) t.equal(demandFor(request).unmeasured, unmeasured, what)
})

t.test('searches: as many as the caller allows, else as many as we reserve for', async (t) => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  t.match(demandFor(ask({ tools: [{ ...search, max_uses: 3 }] })).toolCallsMax, { web_search: 3, grounded_prompt: 1 })
  t.match(demandFor(ask({ tools: [search] })).toolCallsMax, {
    web_search: sharedLimits.webSearchesMax,
    grounded_prompt: 1,
    grounding_query: sharedLimits.webSearchesMax,
  })
})

t.test('a bound on searches that is none is refused, not reserved', async (t) => {
  for (const uses of [Number.POSITIVE_INFINITY, -1, 0, 1.5, '3'])
    t.throws(() => demandFor(ask({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: uses }] })), {
      code: 'invalid_value',
      param: 'tools',
    })
})
