import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { messagesUpstream } from '../../../src/providers/anthropic/dialect.ts'
import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  Reasoning,
  ToolDefinition,
} from '../../../src/providers/canonical/conversation.ts'
import { asSent } from '../../support/as-sent.ts'
import { conversationOf, sheet, targetOf } from './target.ts'

const write = (given: Partial<Conversation>, model?: string, outputCap: number | null = null): JsonObject =>
  asSent(
    finishSteps(messagesUpstream.writeRequest(conversationOf(given), targetOf(model), { stream: false, outputCap }))
      .body,
  ) as JsonObject

const text = (words: string): ConversationPart => ({ type: 'text', text: words, cached: null })
const user = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'user', parts })
const assistant = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'assistant', parts })
const call = (id: string, given = '{}'): ConversationPart => ({
  type: 'tool_call',
  id,
  name: 'find',
  arguments: given,
  signature: null,
  cached: null,
})
const result = (toolCallId: string): ConversationPart => ({
  type: 'tool_result',
  toolCallId,
  parts: [],
  isError: false,
  cached: null,
})
const tool = (more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'find',
  description: null,
  parameters: null,
  strict: null,
  cached: null,
  ...more,
})

t.test('the least', async (t) => {
  t.strictSame(write({}), {
    model: 'claude-sonnet-4-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hi' }] }],
    service_tier: 'standard_only',
    stream: false,
  })
  const streamed = finishSteps(
    messagesUpstream.writeRequest(conversationOf(), targetOf(), { stream: true, outputCap: null }),
  )
  t.match(streamed, { url: 'https://api.alpha.example/v1/messages', headers: { accept: 'text/event-stream' } })
  t.match(asSent(streamed.body), { stream: true })
})

t.test('the output limit: the caller, the sheet, the wallet', async (t) => {
  t.equal(write({ outputTokensMax: 50 })['max_tokens'], 50)
  t.equal(write({ outputTokensMax: null })['max_tokens'], 64_000)
  t.equal(write({ outputTokensMax: null }, undefined, 70)['max_tokens'], 70)
  t.equal(write({ outputTokensMax: 50 }, undefined, 70)['max_tokens'], 50)
})

t.test('instructions between the messages keep their place, in the words of the user', async (t) => {
  const { messages } = write({
    turns: [user(text('a')), { role: 'system', parts: [text('b')] }, assistant(text('c')), user(text('d'))],
  })
  t.match(messages, [
    { role: 'user', content: [{ text: 'a' }, { text: 'b' }] },
    { role: 'assistant', content: [{ text: 'c' }] },
    { role: 'user', content: [{ text: 'd' }] },
  ])
})

t.test('turns of one role are one, results come first, and what is empty is left out', async (t) => {
  const { messages } = write({
    turns: [
      user(text('a'), text('')),
      user(text('b')),
      assistant({ type: 'thinking', text: 'of another', signature: null }),
      assistant(call('call:1', '{"x":1}'), call('call_2', 'no json')),
      user(text('c'), result('call:1')),
      user(result('call_2')),
    ],
  })
  t.strictSame(messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call_1', name: 'find', input: { x: 1 } },
        { type: 'tool_use', id: 'call_2', name: 'find', input: { INVALID_JSON: 'no json' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: [] },
        { type: 'tool_result', tool_use_id: 'call_2', content: [] },
        { type: 'text', text: 'c' },
      ],
    },
  ])
})

t.test('documents', async (t) => {
  const sourceOf = (source: JsonObject) => {
    const { messages } = write({
      turns: [user({ type: 'document', source, title: null, cached: '1h' } as ConversationPart)],
    }) as { messages: [{ content: [{ source: JsonObject }] }] }
    return messages[0].content[0].source
  }
  t.strictSame(sourceOf({ mediaType: 'application/pdf', base64: 'AA==' }), {
    type: 'base64',
    media_type: 'application/pdf',
    data: 'AA==',
  })
  const plain = { type: 'text', media_type: 'text/plain', data: 'naïve' }
  t.strictSame(sourceOf({ mediaType: 'text/csv', base64: Buffer.from('naïve').toString('base64') }), plain)
  t.strictSame(sourceOf({ text: 'naïve' }), plain)
  t.strictSame(sourceOf({ url: 'https://a.example/b.pdf' }), { type: 'url', url: 'https://a.example/b.pdf' })
  t.throws(() => sourceOf({ mediaType: 'application/zip', base64: '' }), { code: 'unsupported_parameter' })
  const audio: ConversationPart = { type: 'audio', format: 'wav', base64: '' }
  t.throws(() => write({ turns: [user(audio)] }), { code: 'unsupported_parameter', param: 'messages' })
})

const budget = (tokens: number) => ({ type: 'enabled', budget_tokens: tokens })
const effort = (word: string): Reasoning => ({ type: 'effort', effort: word })
const adaptive = { type: 'adaptive' }

t.test('thinking, by model', async (t) => {
  const table: readonly [string, Reasoning, unknown, unknown][] = [
    ['claude-sonnet-4-5', effort('low'), budget(1280), undefined],
    ['claude-haiku-4-5-20251001', effort('medium'), budget(2048), undefined],
    ['claude-opus-4-5', effort('high'), budget(4096), undefined],
    ['claude-opus-4-20250514', effort('high'), budget(4096), undefined],
    ['claude-3-7-sonnet-20250219', effort('minimal'), budget(1024), undefined],
    ['claude-sonnet-4-5', { type: 'budget', tokens: 3000 }, budget(3000), undefined],
    ['claude-sonnet-4-5', { type: 'adaptive', effort: null }, budget(4096), undefined],
    ['claude-sonnet-4-5', { type: 'off' }, { type: 'disabled' }, undefined],
    ['claude-sonnet-4-5', effort('none'), { type: 'disabled' }, undefined],
    ['kimi-k2', effort('low'), budget(1280), undefined],
    ['claude-opus-4-6', effort('high'), adaptive, { effort: 'high' }],
    ['claude-opus-4-6', effort('xhigh'), adaptive, { effort: 'high' }],
    ['claude-sonnet-4-6', effort('minimal'), adaptive, { effort: 'low' }],
    ['claude-opus-4-7', effort('xhigh'), adaptive, { effort: 'xhigh' }],
    ['claude-opus-5', { type: 'budget', tokens: 2000 }, adaptive, { effort: 'medium' }],
    ['claude-opus-5', { type: 'off' }, { type: 'disabled' }, undefined],
    ['claude-haiku-5-5', { type: 'adaptive', effort: null }, adaptive, undefined],
    ['claude-opus-5-5', { type: 'off' }, undefined, { effort: 'low' }],
    ['claude-fable-5-1', effort('none'), undefined, { effort: 'low' }],
    ['claude-sonnet-6', effort('max'), adaptive, { effort: 'max' }],
  ]
  for (const [model, reasoning, thinking, config] of table) {
    const written = write({ reasoning, outputTokensMax: 20_000 }, model)
    t.strictSame(
      [written['thinking'], written['output_config']],
      [thinking, config],
      `${model} ${JSON.stringify(reasoning)}`,
    )
  }
  t.throws(() => write({ reasoning: effort('huge') }), { code: 'unsupported_value', param: 'reasoning_effort' })
})

t.test('the budget is below the output limit', async (t) => {
  const thinking = (outputTokensMax: number, cap: number | null = null) =>
    write({ reasoning: effort('high'), outputTokensMax }, undefined, cap)['thinking']
  t.strictSame(thinking(4097), budget(4096))
  t.strictSame(thinking(4096), budget(2048))
  t.strictSame(thinking(1025), budget(1024))
  t.equal(thinking(1024), undefined)
  t.strictSame(thinking(9000, 3000), budget(1500))
})

t.test('sampling', async (t) => {
  const sampling = (given: Partial<Conversation>, model?: string) => {
    const { temperature, top_p, top_k } = write({ outputTokensMax: 9000, ...given }, model)
    return [temperature, top_p, top_k]
  }
  t.strictSame(sampling({ temperature: 1.7, topP: 0.9, topK: 5 }), [1, undefined, 5])
  t.strictSame(sampling({ topP: 0.9 }), [undefined, 0.9, undefined])
  t.strictSame(sampling({ temperature: 0.5, topK: 5, reasoning: effort('low') }), [undefined, undefined, undefined])
  t.strictSame(sampling({ temperature: 0.5, reasoning: { type: 'off' } }), [0.5, undefined, undefined])
  t.strictSame(sampling({ temperature: 0.5 }, 'claude-opus-4-6'), [0.5, undefined, undefined])
  t.strictSame(sampling({ temperature: 0.5 }, 'claude-opus-4-7'), [undefined, undefined, undefined])
})

t.test('a model that must call a tool, or whose thinking was lost, does not think', async (t) => {
  const thinkingIn = (given: Partial<Conversation>, model?: string) =>
    write({ tools: [tool()], reasoning: effort('low'), outputTokensMax: 9000, ...given }, model)['thinking']
  t.equal(thinkingIn({ toolChoice: { type: 'required' } }), undefined)
  t.equal(thinkingIn({ toolChoice: { type: 'tool', name: 'find' } }, 'claude-opus-4-6'), undefined)
  t.strictSame(thinkingIn({ toolChoice: { type: 'auto' } }), budget(1280))
  const looped = [user(text('a')), assistant(call('c')), user(result('c'))]
  t.equal(thinkingIn({ turns: looped }), undefined)
  t.strictSame(thinkingIn({ turns: looped }, 'claude-opus-4-6'), adaptive)
  const thought: ConversationPart = { type: 'thinking', text: 'hm', signature: 's' }
  t.strictSame(thinkingIn({ turns: [user(text('a')), assistant(thought, call('c')), user(result('c'))] }), budget(1280))
})

t.test('tools', async (t) => {
  t.strictSame(write({ tools: [tool(), tool({ name: 'g', parameters: { properties: {} }, strict: true })] })['tools'], [
    { name: 'find', input_schema: { type: 'object', properties: {} } },
    { name: 'g', input_schema: { additionalProperties: false, type: 'object', properties: {} }, strict: true },
  ])
  t.strictSame(write({ tools: [tool({ strict: true })] }, 'claude-sonnet-4-0')['tools'], [
    { name: 'find', input_schema: { type: 'object', properties: {} } },
  ])
  const choice = (given: Partial<Conversation>) => write({ tools: [tool()], ...given })['tool_choice']
  t.strictSame(choice({ toolChoice: { type: 'required' } }), { type: 'any' })
  t.strictSame(choice({ parallelToolCalls: false }), { type: 'auto', disable_parallel_tool_use: true })
  t.strictSame(choice({ toolChoice: { type: 'none' }, parallelToolCalls: false }), { type: 'none' })
  t.equal(choice({ tools: [], toolChoice: { type: 'auto' } }), undefined, 'nothing to choose')
})

t.test('web search', async (t) => {
  const webSearch = {
    contextSize: 'high' as const,
    usesMax: 3,
    allowedDomains: ['a.example'],
    blockedDomains: [],
    userLocation: { city: 'Rome' },
  }
  t.strictSame(write({ webSearch })['tools'], [
    {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 3,
      allowed_domains: ['a.example'],
      user_location: { type: 'approximate', city: 'Rome' },
    },
  ])
  const forced = write({ tools: [tool()], webSearch: { ...webSearch, isForced: true }, reasoning: effort('low') })
  t.strictSame(forced['tool_choice'], { type: 'tool', name: 'web_search' })
  t.notOk('thinking' in forced, 'a forced call excludes thinking')
  const { per_call: _none, ...unpriced } = sheet
  const asked = conversationOf({ webSearch })
  const target = targetOf('claude-sonnet-4-5', unpriced)
  t.throws(() => finishSteps(messagesUpstream.writeRequest(asked, target, { stream: false, outputCap: null })), {
    code: 'unsupported_parameter',
    param: 'tools',
  })
})

t.test('the format of the answer', async (t) => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'object' } }, type: { anyOf: [{ type: 'object' }] } },
    $defs: { d: { type: 'object', additionalProperties: true } },
  }
  const format = { type: 'schema' as const, name: 'n', description: null, schema, strict: null }
  const closed = { additionalProperties: false, type: 'object' }
  t.strictSame(write({ format })['output_config'], {
    format: {
      type: 'json_schema',
      schema: {
        additionalProperties: false,
        type: 'object',
        properties: { a: { type: 'array', items: closed }, type: { anyOf: [closed] } },
        $defs: { d: { type: 'object', additionalProperties: true } },
      },
    },
  })
  t.match(write({ format, reasoning: effort('low') }, 'claude-opus-5')['output_config'], {
    effort: 'low',
    format: { type: 'json_schema' },
  })
  const refused = { code: 'unsupported_parameter', param: 'response_format' }
  t.throws(() => write({ format }, 'claude-sonnet-4-20250514'), refused)
  t.throws(() => write({ format: { type: 'json' } }), refused)
})
