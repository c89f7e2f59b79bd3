import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import type { Conversation } from '../../../src/providers/canonical/conversation.ts'
import { readConversation } from '../../../src/providers/openai/read-conversation.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { assistant, conversation, image, text, toolCall, toolResult, user } from '../canonical/parts.ts'

const hi = { role: 'user', content: 'Hi' }
const bodyOf = (more: JsonObject = {}): JsonObject => ({ model: 'm', messages: [hi], ...more })
const readChat = (body: JsonObject): Conversation => finishSteps(readConversation(body))
const readMessages = (...messages: readonly JsonObject[]): Conversation => readChat(bodyOf({ messages }))

const call = (id: string, name = 'find', given = '{"a":1}'): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: given },
})
const calling = (...calls: readonly JsonObject[]): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
})
const result = (id: string, content: unknown = 'found'): JsonObject => ({ role: 'tool', tool_call_id: id, content })

const refusalOf = (body: JsonObject): (Pick<GatewayError, 'code' | 'param'> & { readonly status: number }) | null => {
  try {
    readChat(body)
    return null
  } catch (fault) {
    if (!(fault instanceof GatewayError)) throw fault
    return { code: fault.code, param: fault.param, status: errorStatusOf(fault) }
  }
}

t.test('the least', async (t) => {
  t.strictSame(readChat(bodyOf()), conversation())
})

t.test('settings', async (t) => {
  const table: readonly [JsonObject, Partial<Conversation>][] = [
    [
      { temperature: 0.5, top_p: 0.25 },
      { temperature: 0.5, topP: 0.25 },
    ],
    [{ temperature: null, top_p: null, stop: null }, {}],
    [{ stop: 'END' }, { stopSequences: ['END'] }],
    [{ stop: ['a', '', 'b'] }, { stopSequences: ['a', 'b'] }],
    [{ max_tokens: 7 }, { outputTokensMax: 7 }],
    [{ max_completion_tokens: 9 }, { outputTokensMax: 9 }],
    [{ max_tokens: 7, max_completion_tokens: 9 }, { outputTokensMax: 7 }],
    [{ max_tokens: null, max_completion_tokens: 9 }, { outputTokensMax: 9 }],
    [{ reasoning_effort: 'low' }, { reasoning: { type: 'effort', effort: 'low' } }],
    [{ reasoning_effort: 'colossal' }, { reasoning: { type: 'effort', effort: 'colossal' } }],
    [{ reasoning_effort: 'none' }, { reasoning: { type: 'off' } }],
    [{ reasoning_effort: null }, {}],
    [{ response_format: { type: 'text' } }, {}],
    [{ response_format: { type: 'json_object' } }, { format: { type: 'json' } }],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } },
      { format: { type: 'schema', name: 'n', description: null, schema: { type: 'object' }, strict: null } },
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'd', strict: true } } },
      { format: { type: 'schema', name: 'n', description: 'd', schema: {}, strict: true } },
    ],
    [{ service_tier: 'flex' }, { serviceTier: 'flex' }],
    [{ user: 'u' }, { user: 'u' }],
    [{ safety_identifier: 's' }, { user: 's' }],
    [{ user: 'u', safety_identifier: 's' }, { user: 'u' }],
    [{ n: 1, logprobs: false, modalities: ['text'] }, {}],
  ]
  for (const [more, expected] of table)
    t.strictSame(readChat(bodyOf(more)), conversation(expected), JSON.stringify(more))
})

t.test('what only tunes is dropped, but for what is OpenAI’s or unknown, which is kept apart', async (t) => {
  const tuning = {
    prediction: { type: 'content', content: 'x' },
    logit_bias: { 1: 2 },
    seed: 3,
    presence_penalty: 1,
    frequency_penalty: 1,
    verbosity: 'low',
    metadata: { a: 'b' },
    store: true,
    prompt_cache_key: 'k',
    top_logprobs: 3,
    audio: { voice: 'v', format: 'mp3' },
    stream: true,
    stream_options: { include_usage: true },
    some_new_key: { a: [1] },
  }
  const { openaiMembers, ...canonical } = readChat(bodyOf(tuning))
  t.strictSame(canonical, conversation())
  t.strictSame(Object.keys(openaiMembers ?? {}).sort(), ['metadata', 'prompt_cache_key', 'some_new_key', 'verbosity'])
})

t.test('web search', async (t) => {
  const none = { contextSize: null, usesMax: null, allowedDomains: [], blockedDomains: [], userLocation: null }
  const table: readonly [JsonObject, Conversation['webSearch']][] = [
    [{}, none],
    [{ search_context_size: 'high' }, { ...none, contextSize: 'high' }],
    [
      { user_location: { type: 'approximate', approximate: { city: 'Bern', country: 'CH', region: 7 } } },
      { ...none, userLocation: { city: 'Bern', country: 'CH' } },
    ],
    [{ user_location: null }, none],
  ]
  for (const [options, webSearch] of table)
    t.strictSame(readChat(bodyOf({ web_search_options: options })), conversation({ webSearch }))
})

t.test('instructions: those before all turns are the system, later ones keep their place', async (t) => {
  const read = readMessages(
    { role: 'system', content: 'One' },
    { role: 'developer', content: [{ type: 'text', text: 'Two' }] },
    hi,
    { role: 'system', content: 'Three' },
    { role: 'assistant', content: 'Yes' },
    { role: 'system', content: '' },
  )
  t.strictSame(read.system, [text('One'), text('Two')])
  const three = { role: 'system', parts: [text('Three')] }
  t.strictSame(read.turns, [user(text('Hi')), three, assistant(text('Yes'))])
})

t.test('parts of a user message', async (t) => {
  const document = (source: JsonObject, title: string | null = null) => ({
    type: 'document',
    source,
    title,
    cached: null,
  })
  const table: readonly [JsonObject, unknown][] = [
    [{ type: 'text', text: 'a' }, text('a')],
    [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }, image({ url: 'https://x.test/a.png' })],
    [
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAAA', detail: 'low' } },
      { ...image({ mediaType: 'image/png', base64: 'AAAA' }), detail: 'low' },
    ],
    [
      { type: 'image_url', image_url: { url: 'data:image/jpeg;charset=x;base64,BBBB' } },
      image({ mediaType: 'image/jpeg', base64: 'BBBB' }),
    ],
    [
      { type: 'input_audio', input_audio: { data: 'CCCC', format: 'mp3' } },
      { type: 'audio', format: 'mp3', base64: 'CCCC' },
    ],
    [
      { type: 'file', file: { file_data: 'data:application/pdf;base64,DDDD', filename: 'a.pdf' } },
      document({ mediaType: 'application/pdf', base64: 'DDDD' }, 'a.pdf'),
    ],
    [
      { type: 'file', file: { file_data: 'DDDD', filename: 'A.PDF' } },
      document({ mediaType: 'application/pdf', base64: 'DDDD' }, 'A.PDF'),
    ],
    [{ type: 'file', file: { file_data: `data:text/plain;base64,${btoa('plain')}` } }, document({ text: 'plain' })],
  ]
  for (const [part, expected] of table)
    t.strictSame(readMessages({ role: 'user', content: [part] }).turns, [{ role: 'user', parts: [expected] }])
})

t.test('answers of the model', async (t) => {
  const thinking = { type: 'thinking', text: 'hm', signature: null } as const
  const signed = { ...call('c'), extra_content: { google: { thought_signature: 'sig' } } }
  const table: readonly [JsonObject, ReturnType<typeof assistant>[]][] = [
    [{ content: 'a' }, [assistant(text('a'))]],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
      },
      [assistant(text('a'), text('b'))],
    ],
    [{ content: null, refusal: 'no' }, [assistant(text('no'))]],
    [{ content: 'a', reasoning_content: 'hm' }, [assistant(thinking, text('a'))]],
    [{ content: '', tool_calls: [call('c')] }, [assistant(toolCall('c', 'find', '{"a":1}'))]],
    [{ content: 'a', tool_calls: [call('c', 'find', '')] }, [assistant(text('a'), toolCall('c', 'find', '{}'))]],
    [{ content: null, tool_calls: [signed] }, [assistant(toolCall('c', 'find', '{"a":1}', 'sig'))]],
    [{ content: '' }, []],
  ]
  for (const [message, expected] of table)
    t.strictSame(readMessages({ role: 'assistant', ...message }).turns, expected, JSON.stringify(message))
})

t.test('results of parallel calls are one turn', async (t) => {
  const { turns } = readMessages(
    hi,
    calling(call('a'), call('b')),
    result('a'),
    result('b', ''),
    hi,
    calling(call('c')),
    {
      ...result('c', [
        { type: 'text', text: 'see' },
        { type: 'image_url', image_url: { url: 'https://x.test/i' } },
      ]),
    },
  )
  const seen = image({ url: 'https://x.test/i' })
  t.strictSame(turns, [
    user(text('Hi')),
    assistant(toolCall('a', 'find', '{"a":1}'), toolCall('b', 'find', '{"a":1}')),
    user(toolResult('a', text('found')), toolResult('b')),
    user(text('Hi')),
    assistant(toolCall('c', 'find', '{"a":1}')),
    user(toolResult('c', text('see'), seen)),
  ])
})

t.test('the deprecated form: the message’s place makes the id', async (t) => {
  const read = readChat(
    bodyOf({
      messages: [
        hi,
        { role: 'assistant', content: null, function_call: { name: 'find', arguments: '{}' } },
        { role: 'function', name: 'find', content: 'found' },
      ],
      functions: [{ name: 'find', description: 'd', parameters: { type: 'object' } }],
      function_call: { name: 'find' },
    }),
  )
  t.strictSame(
    read,
    conversation({
      turns: [user(text('Hi')), assistant(toolCall('call_1', 'find')), user(toolResult('call_1', text('found')))],
      tools: [{ name: 'find', description: 'd', parameters: { type: 'object' }, strict: null, cached: null }],
      toolChoice: { type: 'tool', name: 'find' },
      parallelToolCalls: false,
    }),
  )
})

t.test('tools and their choice', async (t) => {
  const tool = (definition: JsonObject) => ({ type: 'function', function: definition })
  const read = readChat(
    bodyOf({
      tools: [tool({ name: 'a', parameters: null, strict: null }), tool({ name: 'b', strict: true })],
      parallel_tool_calls: false,
    }),
  )
  t.strictSame(read.tools, [
    { name: 'a', description: null, parameters: null, strict: null, cached: null },
    { name: 'b', description: null, parameters: null, strict: true, cached: null },
  ])
  t.equal(read.parallelToolCalls, false)
  const table: readonly [JsonObject, Conversation['toolChoice']][] = [
    [{ tool_choice: 'auto' }, { type: 'auto' }],
    [{ tool_choice: 'none' }, { type: 'none' }],
    [{ tool_choice: 'required' }, { type: 'required' }],
    [{ tool_choice: tool({ name: 'a' }) }, { type: 'tool', name: 'a' }],
    [{ function_call: 'auto' }, { type: 'auto' }],
    [{ function_call: { name: 'f' } }, { type: 'tool', name: 'f' }],
    [{}, null],
  ]
  for (const [more, expected] of table) t.strictSame(readChat(bodyOf(more)).toolChoice, expected)
})

t.test('what has no canonical form is refused with its field', async (t) => {
  const of = (...messages: readonly JsonObject[]) => ({ messages })
  const table: readonly [JsonObject, 'unsupported_parameter' | 'invalid_value', string][] = [
    [{ n: 2 }, 'unsupported_parameter', 'n'],
    [{ logprobs: true }, 'unsupported_parameter', 'logprobs'],
    [{ modalities: ['text', 'audio'] }, 'unsupported_parameter', 'modalities'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'unsupported_parameter', 'tools[0].type'],
    [{ tool_choice: { type: 'allowed_tools' } }, 'unsupported_parameter', 'tool_choice'],
    [{ tool_choice: { type: 'custom' } }, 'unsupported_parameter', 'tool_choice'],
    [
      of(hi, {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'file', file: { file_id: 'f' } },
        ],
      }),
      'unsupported_parameter',
      'messages[1].content[1]',
    ],
    [
      of({ role: 'user', content: [{ type: 'file', file: { filename: 'a.bin', file_data: 'AAAA' } }] }),
      'invalid_value',
      'messages[0].content[0].file.file_data',
    ],
    [
      of({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }),
      'invalid_value',
      'messages[0].content[0].image_url.url',
    ],
    [
      of({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:application/pdf;base64,AA' } }] }),
      'invalid_value',
      'messages[0].content[0].image_url.url',
    ],
    [
      of({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png,AA' } }] }),
      'invalid_value',
      'messages[0].content[0].image_url.url',
    ],
    [of({ role: 'assistant', audio: { id: 'a' } }), 'unsupported_parameter', 'messages[0].audio'],
    [
      of({ role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }),
      'unsupported_parameter',
      'messages[0].content[0]',
    ],
    [of(hi, result('a')), 'invalid_value', 'messages[1].tool_call_id'],
    [of(hi, calling(call('a')), result('b')), 'invalid_value', 'messages[2].tool_call_id'],
    [of(hi, { role: 'function', name: 'f', content: 'x' }), 'invalid_value', 'messages[1].name'],
    [
      of(calling(call('a')), result('a', [{ type: 'input_audio', input_audio: { data: 'A', format: 'wav' } }])),
      'unsupported_parameter',
      'messages[1].content[0]',
    ],
    [of(calling(call('a', 'f', '[1]'))), 'invalid_value', 'messages[0].tool_calls[0].function.arguments'],
    [of(calling(call('a', 'f', '{"a"'))), 'invalid_value', 'messages[0].tool_calls[0].function.arguments'],
    [
      of({ role: 'assistant', function_call: { name: 'f', arguments: 'x' } }),
      'invalid_value',
      'messages[0].function_call.arguments',
    ],
    [of(calling({ id: 'a', type: 'custom' })), 'unsupported_parameter', 'messages[0].tool_calls[0].type'],
  ]
  for (const [more, code, param] of table) t.strictSame(refusalOf(bodyOf(more)), { code, param, status: 400 }, param)
})

t.test('what is no data URL is refused by its begin, whatever its length', async (t) => {
  for (const url of [`data:a/b${';a'.repeat(5_000_000)}`, `data:${'a'.repeat(10_000_000)}`]) {
    const content = [{ type: 'image_url', image_url: { url } }]
    const ms = cpuMsOf(() =>
      t.match(refusalOf(bodyOf({ messages: [{ role: 'user', content }] })), { code: 'invalid_value' }),
    )
    t.ok(ms < 50, `${ms.toFixed(0)} ms`)
  }
})

t.test('arguments have the bounds of a body, all together', async (t) => {
  const list = (elements: number): string => `{"a":[${Array.from({ length: elements }, () => 1)}]}`
  const most = sharedLimits.jsonMembersMax - 1
  const half = sharedLimits.jsonMembersMax / 2
  const path = 'messages[0].tool_calls[0].function.arguments'
  t.equal(refusalOf(bodyOf({ messages: [calling(call('a', 'f', list(most)))] })), null)
  t.match(refusalOf(bodyOf({ messages: [calling(call('a', 'f', list(most + 1)))] })), {
    code: 'request_too_large',
    status: 413,
    param: path,
  })
  t.match(refusalOf(bodyOf({ messages: [calling(call('a', 'f', list(half))), calling(call('b', 'f', list(half)))] })), {
    code: 'request_too_large',
    param: 'messages[1].tool_calls[0].function.arguments',
  })
  const deep = (levels: number): string => `{"a":1,"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
  t.equal(refusalOf(bodyOf({ messages: [calling(call('a', 'f', deep(sharedLimits.jsonDepthMax - 1)))] })), null)
  t.match(refusalOf(bodyOf({ messages: [calling(call('a', 'f', deep(10_000)))] })), {
    code: 'invalid_value',
    status: 400,
    param: path,
  })
  t.match(
    refusalOf(bodyOf({ messages: [{ role: 'assistant', function_call: { name: 'f', arguments: deep(10_000) } }] })),
    { code: 'invalid_value', param: 'messages[0].function_call.arguments' },
  )
})
