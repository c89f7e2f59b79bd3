import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  WebSearch,
} from '../../../src/providers/canonical/conversation.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { writeConversation } from '../../../src/providers/openai/write-conversation.ts'
import { asSent } from '../../support/as-sent.ts'
import { assistant, conversation, image, text, toolCall, toolResult, user } from '../canonical/parts.ts'
import { sheet, targetOf } from './target.ts'

interface Options {
  readonly profile?: Profile
  readonly stream?: boolean
  readonly cap?: number
  readonly model?: string
  readonly prices?: PriceSheet
  /** Its name. */
  readonly provider?: string
  /** Where the model has another name there. */
  readonly deployment?: string
}

const priced: PriceSheet = { ...sheet, per_call: { web_search_low: '0.03', web_search_medium: '0.035' } }

const request = (
  given: Partial<Conversation>,
  { profile, stream = false, cap, model, prices = priced, provider: name = 'alpha', deployment }: Options = {},
) => {
  const target = targetOf(profile, model, prices)
  const named = {
    ...target,
    provider: { ...target.provider, name },
    upstreamModel: deployment ?? target.upstreamModel,
  }
  return finishSteps(writeConversation(conversation(given), named, { stream, outputCap: cap ?? null }))
}

const sent = (given: Partial<Conversation>, options: Options = {}): JsonObject =>
  asSent(request(given, options).body) as JsonObject

const hi = { role: 'user', content: 'Hi' }
const messagesOf = (turns: readonly ConversationTurn[], profile?: Profile): unknown =>
  sent({ turns }, profile === undefined ? {} : { profile })['messages']

const call = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'find', arguments: '{}' } })

t.test('the least', async (t) => {
  t.strictSame(sent({}), { model: 'gpt-4o-mini', messages: [hi] })
  t.strictSame(sent({}, { stream: true }), {
    model: 'gpt-4o-mini',
    messages: [hi],
    stream: true,
    stream_options: { include_usage: true },
  })
  const { url, headers } = request({}, { stream: true })
  t.equal(url, 'https://api.alpha.example/v1/chat/completions')
  t.equal(headers['authorization'], 'Bearer sk-provider-key-123456')
  t.equal(headers['accept'], 'text/event-stream')
})

t.test('the smaller limit, under the name that the provider knows', async (t) => {
  const table: readonly [number | null, number | undefined, Profile, JsonObject][] = [
    [null, undefined, 'openai', {}],
    [100, undefined, 'openai', { max_completion_tokens: 100 }],
    [100, 50, 'openai', { max_completion_tokens: 50 }],
    [10, 50, 'xai', { max_tokens: 10 }],
    [null, 50, 'gemini', { max_tokens: 50 }],
  ]
  for (const [outputTokensMax, cap, profile, expected] of table) {
    const {
      model: _model,
      messages: _messages,
      ...rest
    } = sent({ outputTokensMax }, { profile, ...(cap === undefined ? {} : { cap }) })
    t.strictSame(rest, expected)
  }
})

const search: WebSearch = {
  contextSize: 'low',
  usesMax: 3,
  allowedDomains: [],
  blockedDomains: [],
  userLocation: { city: 'Bern' },
}

t.test('settings', async (t) => {
  const schema = { type: 'object' }
  const tool = { name: 'find', description: 'd', parameters: schema, strict: true, cached: '5m' } as const
  const bare = { name: 'now', description: null, parameters: null, strict: null, cached: null }
  const reasoner = { model: 'gpt-5.1' }
  const toolOnWire = {
    type: 'function',
    function: { name: 'find', description: 'd', parameters: schema, strict: true },
  }
  const table: readonly [Partial<Conversation>, JsonObject, Options?][] = [
    [
      { temperature: 0, topP: 1, topK: 40 },
      { temperature: 0, top_p: 1 },
    ],
    [{ stopSequences: ['a', 'b', 'c', 'd'] }, { stop: ['a', 'b', 'c', 'd'] }],
    [{ format: { type: 'json' } }, { response_format: { type: 'json_object' } }],
    [
      { format: { type: 'schema', name: 'n', description: 'd', schema, strict: true } },
      { response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'd', schema, strict: true } } },
    ],
    [
      { format: { type: 'schema', name: 'n', description: null, schema, strict: null } },
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
    ],
    [{ reasoning: { type: 'effort', effort: 'xhigh' } }, { reasoning_effort: 'xhigh' }, reasoner],
    [{ reasoning: { type: 'off' } }, {}],
    [{ reasoning: { type: 'off' } }, { reasoning_effort: 'none' }, { model: 'gpt-5.4-mini' }],
    [{ reasoning: { type: 'off' } }, { reasoning_effort: 'none' }, { model: 'gpt-5.4-mini', deployment: 'ours' }],
    [{ reasoning: { type: 'adaptive', effort: 'max' } }, { reasoning_effort: 'max' }, reasoner],
    [{ reasoning: { type: 'adaptive', effort: null } }, {}, reasoner],
    [{ reasoning: { type: 'budget', tokens: 1_024 } }, { reasoning_effort: 'low' }, reasoner],
    [{ reasoning: { type: 'budget', tokens: 1_280 } }, { reasoning_effort: 'low' }, reasoner],
    [{ reasoning: { type: 'budget', tokens: 1_281 } }, { reasoning_effort: 'medium' }, reasoner],
    [{ reasoning: { type: 'budget', tokens: 2_048 } }, { reasoning_effort: 'medium' }, reasoner],
    [{ reasoning: { type: 'budget', tokens: 2_049 } }, { reasoning_effort: 'high' }, reasoner],
    [{ user: 'u' }, { user: 'u' }],
    [{ user: 'u' }, {}, { profile: 'gemini' }],
    [{ user: 'u'.repeat(64) }, { user: 'u'.repeat(64) }],
    [{ user: 'u'.repeat(65) }, {}],
    [{ toolChoice: { type: 'auto' }, parallelToolCalls: false }, {}],
    [
      { tools: [tool, bare], toolChoice: { type: 'tool', name: 'find' }, parallelToolCalls: false },
      {
        tools: [toolOnWire, { type: 'function', function: { name: 'now' } }],
        tool_choice: { type: 'function', function: { name: 'find' } },
        parallel_tool_calls: false,
      },
    ],
    [
      { tools: [tool], toolChoice: { type: 'required' } },
      {
        tools: [{ type: 'function', function: { name: 'find', description: 'd', parameters: schema } }],
        tool_choice: 'required',
      },
      { profile: 'gemini' },
    ],
    [
      { webSearch: search },
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Bern' } },
        },
      },
      { model: 'gpt-4o-search-preview' },
    ],
  ]
  for (const [given, expected, options] of table) {
    const { model: _model, messages: _messages, ...rest } = sent(given, options)
    t.strictSame(rest, expected, JSON.stringify(given))
  }
})

t.test(
  'OpenAI is asked for no effort that it refuses: of no model that does not reason, and beside functions',
  async (t) => {
    const tools = [{ name: 'now', description: null, parameters: null, strict: null, cached: null }]
    const high = { type: 'adaptive', effort: 'high' } as const
    const table: readonly [
      string,
      alone: string | undefined,
      withTools: string | undefined,
      untold: string | undefined,
    ][] = [
      ['gpt-4o-mini', undefined, undefined, undefined],
      ['gpt-4.1', undefined, undefined, undefined],
      ['gpt-5-chat-latest', undefined, undefined, undefined],
      ['gpt-5-mini', 'high', 'high', undefined],
      ['gpt-5.1', 'high', 'high', undefined],
      ['gpt-5.4', 'high', 'none', 'none'],
      ['gpt-5.6-sol-2026-09-01', 'high', 'none', 'none'],
      ['gpt-6-luna', 'high', 'none', 'none'],
      ['gpt-6-astra', 'high', 'high', undefined],
      ['o3', 'high', 'high', undefined],
      ['someones-model', 'high', 'high', undefined],
    ]
    for (const [model, ...efforts] of table)
      t.same(
        [
          sent({ reasoning: high }, { model }),
          sent({ reasoning: high, tools }, { model }),
          sent({ tools }, { model }),
        ].map(({ reasoning_effort }) => reasoning_effort),
        efforts,
        model,
      )
    const routed = { model: 'gpt-5.4', deployment: 'openai/gpt-5.4' }
    t.equal(sent({ reasoning: high, tools }, routed)['reasoning_effort'], 'high', 'a router is asked as it was')
    t.notOk('reasoning_effort' in sent({ tools }, routed))
  },
)

t.test('one system message', async (t) => {
  const { messages } = sent({ system: [text('One'), { ...text('Two'), cached: '1h' }] })
  t.strictSame(messages, [{ role: 'system', content: 'One\n\nTwo' }, hi])
})

t.test('instructions keep their place; Gemini’s endpoint knows none after the first message', async (t) => {
  const turns: readonly ConversationTurn[] = [
    user(text('Hi')),
    { role: 'system', parts: [text('One'), text('Two')] },
    assistant(toolCall('c', 'find')),
    { role: 'system', parts: [text('Three')] },
    user(toolResult('c', text('x')), text('And?')),
    { role: 'system', parts: [] },
  ]
  const expected = (role: string) => [
    hi,
    { role, content: 'One\n\nTwo' },
    { role: 'assistant', content: null, tool_calls: [call('c')] },
    { role: 'tool', tool_call_id: 'c', content: 'x' },
    { role, content: 'Three' },
    { role: 'user', content: 'And?' },
  ]
  t.strictSame(messagesOf(turns), expected('system'))
  t.strictSame(messagesOf(turns, 'xai'), expected('system'))
  t.strictSame(messagesOf(turns, 'gemini'), expected('user'))
})

const document = (
  source: Extract<ConversationPart, { type: 'document' }>['source'],
  title: string | null = null,
): ConversationPart => ({
  type: 'document',
  source,
  title,
  cached: null,
})
const picture = image({ mediaType: 'image/png', base64: 'AAAA' })
const pictureOnWire = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const pdf = { mediaType: 'application/pdf', base64: 'DDDD' }

t.test('parts of a user turn', async (t) => {
  const table: readonly [ConversationPart, unknown][] = [
    [picture, [pictureOnWire]],
    [
      { ...image({ url: 'https://x.test/i' }), detail: 'high' },
      [{ type: 'image_url', image_url: { url: 'https://x.test/i', detail: 'high' } }],
    ],
    [
      { type: 'audio', format: 'wav', base64: 'CCCC' },
      [{ type: 'input_audio', input_audio: { data: 'CCCC', format: 'wav' } }],
    ],
    [document({ text: 'plain' }, 'Title'), [{ type: 'text', text: 'Title\n\nplain' }]],
    [
      document(pdf, 'a.pdf'),
      [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,DDDD' } }],
    ],
    [
      document(pdf),
      [{ type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,DDDD' } }],
    ],
  ]
  for (const [part, content] of table) t.strictSame(messagesOf([user(part)]), [{ role: 'user', content }])
  t.strictSame(messagesOf([user(text('a'), text('b'))]), [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
  ])
})

t.test('answers of the model: thinking is dropped, signatures go to Gemini alone', async (t) => {
  const thinking: readonly ConversationPart[] = [
    { type: 'thinking', text: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'x' },
  ]
  t.strictSame(messagesOf([assistant(...thinking, text('a'), text('b'), toolCall('c', 'find'))]), [
    { role: 'assistant', content: 'ab', tool_calls: [call('c')] },
  ])
  t.strictSame(messagesOf([assistant(...thinking)]), [])
  const signed = [assistant(toolCall('c', 'find', '{}', 'sig'))]
  t.strictSame(messagesOf(signed), [{ role: 'assistant', content: null, tool_calls: [call('c')] }])
  t.strictSame(messagesOf(signed, 'gemini'), [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ ...call('c'), extra_content: { google: { thought_signature: 'sig' } } }],
    },
  ])
})

t.test('results follow their calls at once, what is no text behind them', async (t) => {
  const turns = [
    assistant(text('a'), toolCall('c', 'find')),
    assistant(text('b'), toolCall('d', 'find')),
    user(text('And?')),
    user(toolResult('c', text('x'), text('y')), toolResult('d', picture), text('Now?')),
  ]
  t.strictSame(messagesOf(turns), [
    { role: 'assistant', content: 'a\n\nb', tool_calls: [call('c'), call('d')] },
    { role: 'tool', tool_call_id: 'c', content: 'x\n\ny' },
    { role: 'tool', tool_call_id: 'd', content: 'The result is in the next user message.' },
    { role: 'user', content: [{ type: 'text', text: 'Result of the tool call d:' }, pictureOnWire] },
    { role: 'user', content: 'And?' },
    { role: 'user', content: 'Now?' },
  ])
  t.strictSame(messagesOf([assistant(toolCall('c', 'find')), user(toolResult('c'))]), [
    { role: 'assistant', content: null, tool_calls: [call('c')] },
    { role: 'tool', tool_call_id: 'c', content: '' },
  ])
})

const fiveStops = ['a', 'b', 'c', 'd', 'e']

t.test('only OpenAI and xAI bound the stop sequences', async (t) => {
  t.match(sent({ stopSequences: fiveStops }), { stop: fiveStops })
  t.match(sent({ stopSequences: fiveStops.slice(1) }, { provider: 'openai' }), { stop: fiveStops.slice(1) })
})

t.test('what chat has no words for is refused', async (t) => {
  const table: readonly [Partial<Conversation>, Options, string][] = [
    [{ webSearch: search }, {}, 'tools'],
    [{ webSearch: search }, { model: 'gpt-4o-search-preview', prices: sheet }, 'tools'],
    [{ webSearch: { ...search, contextSize: 'high' } }, { model: 'gpt-4o-search-preview' }, 'tools'],
    [{}, { model: 'gpt-4o-search-preview', prices: sheet }, 'model'],
    [{ webSearch: { ...search, allowedDomains: ['a.test'] } }, { model: 'gpt-4o-search-preview' }, 'tools'],
    [{ webSearch: { ...search, blockedDomains: ['a.test'] } }, { model: 'gpt-4o-search-preview' }, 'tools'],
    [{ turns: [user(document({ url: 'https://x.test/a.pdf' }))] }, {}, 'messages'],
    [{ turns: [user(document(pdf))] }, { profile: 'xai' }, 'messages'],
    [{ turns: [user(document(pdf))] }, { profile: 'gemini' }, 'messages'],
    [{ turns: [assistant(picture)] }, {}, 'messages'],
    [{ stopSequences: fiveStops }, { profile: 'xai', provider: 'xai' }, 'stop_sequences'],
    [{ stopSequences: fiveStops }, { provider: 'openai' }, 'stop_sequences'],
  ]
  for (const [given, options, param] of table) {
    const refuse = () => request(given, options)
    t.throws(refuse, { code: 'unsupported_parameter', param })
    t.throws(refuse, GatewayError)
  }
})
