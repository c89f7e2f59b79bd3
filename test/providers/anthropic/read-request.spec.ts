import t from 'tap'
import { asObject, type JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { messagesClient } from '../../../src/providers/anthropic/dialect.ts'
import { conversationOf } from './target.ts'

const read = (body: JsonObject) =>
  finishSteps(
    messagesClient.readRequest(
      { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'Say hi' }], ...body },
      'openai',
    ),
  )
const textOf = (text: string, cached: '5m' | '1h' | null = null) => ({ type: 'text' as const, text, cached })
const partsOf = (...messages: readonly JsonObject[]) => read({ messages }).turns.map(({ parts }) => parts)
const user = (...content: readonly JsonObject[]): JsonObject => ({ role: 'user', content })
const assistant = (...content: readonly JsonObject[]): JsonObject => ({ role: 'assistant', content })
const call = { type: 'tool_use', id: 'toolu_1', name: 'find', input: { a: 1 } }

t.test('the least', async (t) => {
  t.strictSame(read({}), conversationOf())
})

t.test('all that tunes an answer', async (t) => {
  t.strictSame(
    read({
      system: 'Be brief',
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      service_tier: 'auto',
      cache_control: { type: 'ephemeral' },
    }),
    conversationOf({
      system: [textOf('Be brief')],
      outputTokensMax: 7,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      stopSequences: ['END'],
      user: 'u1',
    }),
  )
})

t.test('instructions in blocks and as messages', async (t) => {
  const hour = { type: 'ephemeral', ttl: '1h' }
  const { system, turns } = read({
    system: [
      { type: 'text', text: 'a', cache_control: hour },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
    ],
    messages: [
      { role: 'system', content: 'c' },
      { role: 'user', content: 'Hi' },
    ],
  })
  t.strictSame(system, [textOf('a', '1h'), textOf('b', '5m'), textOf('c')])
  t.equal(turns.length, 1)
})

t.test('instructions between the messages keep their place', async (t) => {
  const { system, turns } = read({
    messages: [
      { role: 'system', content: 'first' },
      user({ type: 'text', text: 'Hi' }),
      { role: 'system', content: [{ type: 'text', text: 'late', cache_control: { type: 'ephemeral' } }] },
      assistant({ type: 'text', text: 'Ho' }),
      { role: 'system', content: [], output_config: { effort: 'low' } },
      { role: 'system', content: 'last', clear_at: 'next_user_message' },
    ],
  })
  t.strictSame(system, [textOf('first')])
  t.strictSame(turns, [
    { role: 'user', parts: [textOf('Hi')] },
    { role: 'system', parts: [textOf('late', '5m')] },
    { role: 'assistant', parts: [textOf('Ho')] },
    { role: 'system', parts: [textOf('last')] },
  ])
})

t.test('what only the maker of the format can do, and an answer does without, is left out', async (t) => {
  const table: readonly JsonObject[] = [
    { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    { cache_control: { type: 'ephemeral' } },
    { output_config: { task_budget: { type: 'tokens', total: 20_000 } } },
    { speed: 'fast', diagnostics: { previous_message_id: 'msg_1' }, betas: ['a'], novelty: { any: [1] } },
    { mcp_servers: [], container: null, fallbacks: null, compaction: null, context_management: null },
    { inference_geo: 'global', service_tier: 'standard_only' },
  ]
  for (const body of table) t.strictSame(read(body), conversationOf(), JSON.stringify(body))
  t.strictSame(read({ tools: [{ name: 'f', defer_loading: true, eager_input_streaming: true }] }).tools, [
    { name: 'f', description: null, parameters: null, strict: null, cached: null },
  ])
})

t.test('tools that are found, added and withdrawn on the way', async (t) => {
  const search = { type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {} }
  const found = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'tool_reference', tool_name: 'g' }] }
  const change = (type: 'tool_addition' | 'tool_removal', tool: JsonObject): JsonObject => ({ type, tool })
  const named = (name: string): JsonObject => ({ type: 'tool_reference', name })
  const { tools, turns } = read({
    tools: [{ name: 'f' }, { name: 'g', defer_loading: true }, { name: 'h' }],
    messages: [
      user({ type: 'text', text: 'Hi' }),
      assistant(search),
      user(found),
      {
        role: 'system',
        content: [
          change('tool_removal', named('f')),
          change('tool_removal', named('h')),
          change('tool_addition', { type: 'tool_definition', definition: { name: 'i', description: 'new' } }),
          { type: 'text', text: 'Tools have changed.' },
        ],
      },
      { role: 'system', content: [change('tool_addition', named('h')), change('tool_addition', named('absent'))] },
    ],
  })
  t.same(
    tools.map(({ name, description }) => [name, description]),
    [
      ['g', null],
      ['i', 'new'],
      ['h', null],
    ],
  )
  t.match(turns[2], { parts: [{ type: 'tool_result', parts: [textOf('The tool `g` can be called now.')] }] })
  t.strictSame(turns.slice(3), [{ role: 'system', parts: [textOf('Tools have changed.')] }])
})

t.test('what a user shows', async (t) => {
  const [parts] = partsOf(
    user(
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' }, title: 'T' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' }, context: 'Of 2020' },
      {
        type: 'document',
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'x' },
            { type: 'text', text: 'y' },
          ],
        },
      },
      { type: 'search_result', source: 'https://s.example', title: 'S', content: [{ type: 'text', text: 'found' }] },
    ),
  )
  const document = { type: 'document', title: null, cached: null }
  t.strictSame(parts, [
    { type: 'image', source: { mediaType: 'image/png', base64: 'AA==' }, detail: null, cached: null },
    { type: 'image', source: { url: 'https://a.example/b.png' }, detail: null, cached: null },
    { ...document, source: { mediaType: 'application/pdf', base64: 'AA==' }, title: 'T' },
    textOf('Of 2020'),
    { ...document, source: { text: 'plain' } },
    { ...document, source: { text: 'x\ny' } },
    { ...document, source: { text: 'found' }, title: 'S (https://s.example)' },
  ])
})

t.test('calls, their results, and thoughts', async (t) => {
  const [, said, answered] = partsOf(
    user({ type: 'text', text: 'Hi' }),
    assistant(
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'thinking', thinking: 'of another', signature: '' },
      { type: 'redacted_thinking', data: 'd' },
      { type: 'server_tool_use', id: 'x', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 'x', content: [] },
      { type: 'text', text: 'I look' },
      { ...call, signature: 'gw1:openai:gemini' },
    ),
    user(
      { type: 'tool_result', tool_use_id: 'toolu_1', content: 'none', is_error: true },
      { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'some' }] },
      { type: 'tool_result', tool_use_id: 'toolu_1' },
    ),
  )
  t.strictSame(said, [
    { type: 'thinking', text: 'hm', signature: 's' },
    { type: 'thinking', text: 'of another', signature: null },
    { type: 'redacted_thinking', data: 'd' },
    textOf('I look'),
    { type: 'tool_call', id: 'toolu_1', name: 'find', arguments: '{"a":1}', signature: 'gemini', cached: null },
  ])
  const result = { type: 'tool_result', toolCallId: 'toolu_1', isError: false, cached: null }
  t.strictSame(answered, [
    { ...result, parts: [textOf('none')], isError: true },
    { ...result, parts: [textOf('some')] },
    { ...result, parts: [] },
  ])
})

t.test('what another provider sealed is left out', async (t) => {
  const [said] = partsOf(
    assistant(
      { type: 'thinking', thinking: 'own', signature: 'gw1:openai:s' },
      { type: 'thinking', thinking: 'foreign', signature: 'gw1:gemini:s' },
      { type: 'redacted_thinking', data: 'gw1:openai:d' },
      { type: 'redacted_thinking', data: 'gw1:anthropic:d' },
      { ...call, signature: 'gw1:gemini:s' },
    ),
  )
  t.strictSame(said, [
    { type: 'thinking', text: 'own', signature: 's' },
    { type: 'thinking', text: 'foreign', signature: null },
    { type: 'redacted_thinking', data: 'd' },
    { type: 'tool_call', id: 'toolu_1', name: 'find', arguments: '{"a":1}', signature: null, cached: null },
  ])
})

t.test('what Claude’s own tools did is left out, what it says of it stays', async (t) => {
  const types = ['web_fetch', 'code_execution', 'bash_code_execution', 'text_editor_code_execution', 'tool_search']
  const results = [...types.map((type) => `${type}_tool_result`), 'advisor_tool_result', 'mcp_tool_result']
  const [said] = partsOf(
    assistant(
      ...['mcp_tool_use', 'mcp_tool_listing', 'fallback'].map((type) => ({ type })),
      ...results.map((type) => ({ type, tool_use_id: 'x', content: { encrypted_stdout: 'e' } })),
      { type: 'text', text: 'It is 4', citations: [{ type: 'char_location', document_index: 0 }] },
    ),
  )
  t.strictSame(said, [textOf('It is 4')])
})

t.test('a summary replaces what it summarizes', async (t) => {
  const compaction = { type: 'compaction', content: 'They greeted.', encrypted_content: 'gw1:anthropic:e' }
  const question = user({ type: 'text', text: 'And now?' })
  const before = [user({ type: 'text', text: 'Hi' }), assistant({ ...call })]
  const said = { type: 'text', text: 'Hello' }
  t.strictSame(partsOf(...before, assistant(compaction, said), question), [
    [textOf('They greeted.')],
    [textOf('Hello')],
    [textOf('And now?')],
  ])
  t.strictSame(partsOf(assistant(compaction), question), [[textOf('They greeted.')], [textOf('And now?')]])
  const failed = { ...compaction, content: null }
  t.strictSame(partsOf(before[0]!, assistant(failed, said), question), [
    [textOf('Hi')],
    [textOf('Hello')],
    [textOf('And now?')],
  ])
  const { tools } = read({
    tools: [{ name: 'old', input_schema: {} }],
    messages: [
      assistant({
        ...compaction,
        tool_changes: [
          { type: 'tool_removal', tool: { type: 'tool_reference', name: 'old' } },
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'new', input_schema: {} } } },
        ],
      }),
      question,
    ],
  })
  t.strictSame(
    tools.map(({ name }) => name),
    ['new'],
  )
})

t.test('images among the content of a document follow it', async (t) => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
  const content = [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }]
  const [parts] = partsOf(user({ type: 'document', source: { type: 'content', content } }))
  t.strictSame(parts, [
    { type: 'document', source: { text: 'a\nb' }, title: null, cached: null },
    { type: 'image', source: { mediaType: 'image/png', base64: 'AA==' }, detail: null, cached: null },
  ])
})

t.test('tools that the provider would run are dropped where they are offered', async (t) => {
  const { tools, droppedTools } = read({
    tools: [
      { name: 'f', input_schema: {} },
      { type: 'code_execution_20250825', name: 'code_execution' },
      { type: 'web_fetch_20260309', name: 'web_fetch' },
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    ],
    tool_choice: { type: 'any' },
  })
  t.strictSame(
    [tools.map(({ name }) => name), droppedTools],
    [['f'], ['code_execution_20250825', 'web_fetch_20260309', 'tool_search_tool_bm25_20251119']],
  )
})

t.test('tools of Claude’s that the caller runs are described to other models', async (t) => {
  const types = {
    bash: 'bash_20250124',
    str_replace_editor: 'text_editor_20250124',
    str_replace_based_edit_tool: 'text_editor_20250728',
    memory: 'memory_20250818',
  }
  const { tools } = read({ tools: Object.entries(types).map(([name, type]) => ({ name, type })) })
  const commandsOf = ({ parameters }: { readonly parameters: JsonObject | null }): unknown =>
    asObject(asObject(asObject(parameters)['properties'])['command'])['enum']
  t.strictSame(
    tools.map((tool) => [tool.name, commandsOf(tool)]),
    [
      ['bash', undefined],
      ['str_replace_editor', ['view', 'create', 'str_replace', 'insert', 'undo_edit']],
      ['str_replace_based_edit_tool', ['view', 'create', 'str_replace', 'insert']],
      ['memory', ['view', 'create', 'str_replace', 'insert', 'delete', 'rename']],
    ],
  )
})

t.test('tools', async (t) => {
  const { tools, webSearch } = read({
    tools: [
      {
        name: 'f',
        description: 'd',
        input_schema: { type: 'object' },
        strict: true,
        cache_control: { type: 'ephemeral' },
      },
      { type: 'custom', name: 'g' },
      {
        type: 'web_search_20260318',
        name: 'web_search',
        max_uses: 3,
        allowed_domains: ['a.example'],
        blocked_domains: null,
        user_location: { type: 'approximate', city: 'Rome', region: null, country: 'IT' },
      },
    ],
  })
  t.strictSame(tools, [
    { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true, cached: '5m' },
    { name: 'g', description: null, parameters: null, strict: null, cached: null },
  ])
  t.strictSame(webSearch, {
    isOptional: true,
    contextSize: null,
    usesMax: 3,
    allowedDomains: ['a.example'],
    blockedDomains: [],
    userLocation: { city: 'Rome', country: 'IT' },
  })
})

t.test('the choice of a tool', async (t) => {
  const table: readonly [JsonObject, unknown, boolean | null][] = [
    [{ type: 'auto' }, { type: 'auto' }, null],
    [{ type: 'any', disable_parallel_tool_use: true }, { type: 'required' }, false],
    [{ type: 'tool', name: 'f', disable_parallel_tool_use: false }, { type: 'tool', name: 'f' }, true],
    [{ type: 'none' }, { type: 'none' }, null],
  ]
  for (const [choice, toolChoice, parallelToolCalls] of table)
    t.match(read({ tool_choice: choice }), { toolChoice, parallelToolCalls })
})

t.test('the web search is offered, demanded or excluded by the choice of a tool', async (t) => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const searchOf = (tool_choice: unknown, ...functions: readonly JsonObject[]) =>
    read({ tools: [search, ...functions], ...(tool_choice === undefined ? {} : { tool_choice }) })
  t.equal(searchOf({ type: 'none' }, { name: 'f' }).webSearch, null)
  for (const choice of [undefined, { type: 'auto' }, { type: 'any' }, { type: 'tool', name: 'f' }])
    t.match(searchOf(choice, { name: 'f' }).webSearch, { isOptional: true }, JSON.stringify(choice))
  for (const functions of [[], [{ name: 'f' }]])
    t.match(searchOf({ type: 'tool', name: 'web_search' }, ...functions), {
      toolChoice: null,
      webSearch: { isForced: true, isOptional: undefined },
    })
  t.match(searchOf({ type: 'any' }), { toolChoice: null, webSearch: { isForced: true } })
})

t.test('thinking', async (t) => {
  const table: readonly [JsonObject, unknown][] = [
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { type: 'budget', tokens: 2000 }],
    [{ thinking: { type: 'adaptive' } }, { type: 'adaptive', effort: null }],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      { type: 'adaptive', effort: 'low' },
    ],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'low' } }, { type: 'off' }],
    [{ output_config: { effort: 'max' } }, { type: 'effort', effort: 'max' }],
    [{ output_config: {} }, null],
  ]
  for (const [body, reasoning] of table) t.strictSame(read(body).reasoning, reasoning, JSON.stringify(body))
})

t.test('a schema for the answer', async (t) => {
  const formatOf = (schema: JsonObject) => read({ output_config: { format: { type: 'json_schema', schema } } }).format
  const schema = { type: 'object', title: 'Weather_1' }
  t.strictSame(formatOf(schema), { type: 'schema', name: 'Weather_1', description: null, schema, strict: null })
  t.match(formatOf({ title: 'two words' }), { name: 'answer' })
})

t.test('what has no counterpart is refused by its name', async (t) => {
  const file = { type: 'file', file_id: 'file_1' }
  const table: readonly [JsonObject, string][] = [
    [{ mcp_servers: [{ url: 'u' }] }, 'mcp_servers'],
    [{ container: 'c' }, 'container'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
    [{ fallbacks: [{ model: 'm' }] }, 'fallbacks'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ tools: [{ name: 'f' }, { type: 'computer_20251124', name: 'computer' }] }, 'tools[1].type'],
    [
      {
        tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
        tool_choice: { type: 'tool', name: 'code_execution' },
      },
      'tools[0].type',
    ],
    [{ tools: [{ type: 'web_fetch_20260309', name: 'web_fetch' }], tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ thinking: { type: 'between_tools' } }, 'thinking.type'],
    [{ messages: [user({ type: 'image', source: file })] }, 'messages[0].content[0].source.file_id'],
    [
      { messages: [user({ type: 'text', text: 'a' }), user({ type: 'document', source: file })] },
      'messages[1].content[0].source.file_id',
    ],
    [{ messages: [user({ type: 'container_upload', file_id: 'f' })] }, 'messages[0].content[0].type'],
    [{ messages: [assistant({ type: 'constructor' })] }, 'messages[0].content[0].type'],
    [{ messages: [user(call)] }, 'messages[0].content[0].type'],
    [{ messages: [user(), { role: 'system', content: [{ type: 'image' }] }] }, 'messages[1].content[0].type'],
    [
      {
        messages: [
          user(),
          {
            role: 'system',
            content: [
              { type: 'tool_addition', tool: { type: 'tool_definition', definition: { type: 'mcp_toolset' } } },
            ],
          },
        ],
      },
      'messages[1].content[0].tool.definition.type',
    ],
    [
      {
        messages: [
          user(),
          {
            role: 'system',
            content: [{ type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 's' } }],
          },
        ],
      },
      'messages[1].content[0].tool.type',
    ],
    [{ system: [{ type: 'image' }] }, 'system[0].type'],
    [
      {
        messages: [
          assistant(call),
          user({ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'browser_state' }] }),
        ],
      },
      'messages[1].content[0].content[0].type',
    ],
  ]
  for (const [body, param] of table) t.throws(() => read(body), { code: 'unsupported_parameter', param }, param)
})

t.test('what is wrong is refused by its name', async (t) => {
  const table: readonly [JsonObject, string][] = [
    [{ messages: [user({ type: 'tool_result', tool_use_id: 'toolu_1' })] }, 'messages[0].content[0].tool_use_id'],
    [
      { messages: [assistant(call), user({ type: 'tool_result', tool_use_id: 'b' })] },
      'messages[1].content[0].tool_use_id',
    ],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'tool', content: '' }] }, 'messages[0].role'],
    [{ messages: [user({ type: 'text' })] }, 'messages[0].content[0].text'],
    [{ messages: [user({ type: 'image' })] }, 'messages[0].content[0].source'],
    [{ messages: [user({ type: 'image', source: { type: 'url' } })] }, 'messages[0].content[0].source.url'],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name'],
    [{ tool_choice: { type: 'some' } }, 'tool_choice.type'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ output_config: { format: { type: 'json' } } }, 'output_config.format.type'],
  ]
  for (const [body, param] of table) t.throws(() => read(body), { code: 'invalid_value', param }, param)
})
