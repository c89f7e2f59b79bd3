import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import type { Conversation } from '../../../src/providers/canonical/conversation.ts'
import { responsesClient } from '../../../src/providers/openai-responses/dialect.ts'
import { sealReasoning } from '../../../src/providers/openai-responses/sealed-reasoning.ts'
import { assistant, conversation, image, text, toolCall, toolResult, user } from '../canonical/parts.ts'

const read = (body: JsonObject): Conversation =>
  finishSteps(responsesClient.readRequest({ model: 'alpha/m', input: 'Hi', ...body }, 'alpha'))
const turnsOf = (...input: readonly JsonObject[]) => read({ input }).turns
const message = (role: string, ...content: readonly JsonObject[]): JsonObject => ({ type: 'message', role, content })
const said = (spoken: string): JsonObject => ({ type: 'input_text', text: spoken })
const find: JsonObject = { type: 'function', name: 'find', parameters: { type: 'object' } }
const called = (id: string, name = 'find'): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: '{}',
})
const returned = (id: string, output: unknown): JsonObject => ({ type: 'function_call_output', call_id: id, output })

t.test('instructions, text and settings', async (t) => {
  t.match(read({}), { ...conversation(), droppedTools: [] })
  t.match(
    read({
      instructions: 'Be brief.',
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
      service_tier: 'flex',
      safety_identifier: 'u1',
    }),
    conversation({
      system: [text('Be brief.')],
      outputTokensMax: 100,
      temperature: 0.5,
      topP: 0.9,
      parallelToolCalls: false,
      reasoning: { type: 'effort', effort: 'low' },
      format: { type: 'schema', name: 'answer', description: null, schema: { type: 'object' }, strict: true },
      serviceTier: 'flex',
      user: 'u1',
    }),
  )
  t.same(read({ reasoning: { effort: 'none' } }).reasoning, { type: 'off' })
})

t.test('the items of one answer are one turn, and so are the results of its calls', async (t) => {
  const given = read({
    input: [
      message('developer', said('Be an agent.')),
      { role: 'user', content: 'Look.' },
      message('assistant', { type: 'output_text', text: 'I do.', annotations: [] }),
      called('c1'),
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a' },
      returned('c1', 'yes'),
      { type: 'custom_tool_call_output', call_id: 'c2', output: [said('done'), said('')] },
      message('system', said('Hurry.')),
    ],
  })
  t.same(given.system, [text('Be an agent.')])
  t.same(given.turns, [
    user(text('Look.')),
    assistant(text('I do.'), toolCall('c1', 'find'), toolCall('c2', 'patch', '{"input":"a"}')),
    user(toolResult('c1', text('yes')), toolResult('c2', text('done'))),
    { role: 'system', parts: [text('Hurry.')] },
  ])
})

t.test('images, files and audio inline', async (t) => {
  const [turn] = turnsOf(
    message(
      'user',
      { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' },
      { type: 'input_image', image_url: 'https://a.example/b.png' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
      { type: 'input_audio', input_audio: { format: 'wav', data: 'AA==' } },
    ),
  )
  t.match(turn?.parts, [
    { ...image({ mediaType: 'image/png', base64: 'AA==' }), detail: 'low' },
    image({ url: 'https://a.example/b.png' }),
    { type: 'document', source: { mediaType: 'application/pdf', base64: 'AA==' }, title: 'a.pdf' },
    { type: 'document', source: { url: 'https://a.example/b.pdf' }, title: null },
    { type: 'audio', format: 'wav' },
  ])
})

t.test('reasoning returns to the provider that made it, and to no other', async (t) => {
  const reasoning = (encrypted: string): JsonObject => ({
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    encrypted_content: encrypted,
  })
  const thinking = { type: 'thinking', text: 'Hm.', signature: 's1' } as const
  const hidden = { type: 'redacted_thinking', data: 'd1' } as const
  const signed = { type: 'call_signature', callId: 'c1', signature: 's2' } as const
  const items = (provider: string): readonly JsonObject[] =>
    [thinking, hidden, signed].map((each) => reasoning(sealReasoning(provider, each)))
  t.same(turnsOf(...items('alpha'), called('c1')), [assistant(thinking, hidden, toolCall('c1', 'find', '{}', 's2'))])
  t.same(turnsOf(...items('beta'), called('c1')), [assistant(toolCall('c1', 'find'))])
  t.same(turnsOf(reasoning('gAAAA=='), called('c1')), [assistant(toolCall('c1', 'find'))])
})

t.test('what the tools of a provider did is left out', async (t) => {
  const skipped = ['web_search_call', 'file_search_call', 'x_search_call', 'image_generation_call', 'mcp_list_tools']
  t.same(turnsOf(...skipped.map((type) => ({ type })), { role: 'user', content: 'Go.' }), [user(text('Go.'))])
})

t.test('tools: functions, custom ones with their grammar, and those of a namespace', async (t) => {
  const { tools, toolChoice } = read({
    tools: [
      { ...find, description: 'Finds.', strict: true },
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
    ],
    tool_choice: { type: 'function', name: 'read', namespace: 'files' },
  })
  t.match(tools, [
    { name: 'find', description: 'Finds.', parameters: { type: 'object' }, strict: true },
    { name: 'patch', description: /lark grammar:\nstart: "a"/, parameters: { required: ['input'] }, strict: null },
    { name: 'files__read', parameters: null },
  ])
  t.same(toolChoice, { type: 'tool', name: 'files__read' })
})

t.test('a built-in tool is dropped where it is offered, and refused where it is demanded', async (t) => {
  const interpreter = { type: 'code_interpreter', container: { type: 'auto' } }
  const offered = read({ tools: [find, interpreter, interpreter, { type: 'web_search', search_context_size: 'low' }] })
  t.same(offered.droppedTools, ['code_interpreter'])
  t.match(offered.webSearch, { isOptional: true, contextSize: 'low' })
  t.equal(offered.tools.length, 1)
  const demands: readonly JsonObject[] = [
    { tool_choice: { type: 'code_interpreter' } },
    { tool_choice: { type: 'web_search' } },
    { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] } },
    { tool_choice: 'required', tools: [interpreter] },
    { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'code_interpreter' }] } },
  ]
  for (const demand of demands)
    t.throws(() => read({ tools: [interpreter, find], ...demand }), {
      code: 'unsupported_parameter',
      param: 'tool_choice',
      message: /code_interpreter|web_search/,
    })
})

t.test('the web search is offered, demanded or excluded by the choice of a tool', async (t) => {
  const searchOf = (tool_choice: unknown, ...functions: readonly JsonObject[]) =>
    read({ tools: [{ type: 'web_search' }, ...functions], tool_choice })
  const allowed = (mode: string, ...tools: readonly JsonObject[]) => ({ type: 'allowed_tools', mode, tools })
  const excluding = ['none', allowed('auto', find), allowed('required', find), allowed('auto')]
  for (const choice of excluding) t.equal(searchOf(choice, find).webSearch, null, JSON.stringify(choice))
  const offering = ['auto', 'required', allowed('auto', { type: 'web_search' }), undefined]
  for (const choice of offering) t.match(searchOf(choice, find).webSearch, { isOptional: true }, JSON.stringify(choice))
  t.equal(searchOf('required', find).toolChoice?.type, 'required')
  const forcing = [{ type: 'web_search' }, { type: 'web_search_preview' }, allowed('required', { type: 'web_search' })]
  for (const choice of forcing)
    t.match(searchOf(choice, find).webSearch, { isForced: true, isOptional: undefined }, JSON.stringify(choice))
  t.match(searchOf('required'), { tools: [], toolChoice: null, webSearch: { isForced: true } })
})

t.test('of the allowed tools alone one is called', async (t) => {
  const now = { ...find, name: 'now' }
  const allowed = (mode: string, ...names: readonly string[]) =>
    read({
      tools: [find, now],
      tool_choice: { type: 'allowed_tools', mode, tools: names.map((name) => ({ type: 'function', name })) },
    })
  t.match(allowed('required', 'now'), { toolChoice: { type: 'required' }, tools: [{ name: 'now' }] })
  t.match(allowed('auto', 'find', 'now'), { toolChoice: { type: 'auto' }, tools: [{ name: 'find' }, { name: 'now' }] })
  t.match(allowed('auto'), { toolChoice: null, tools: [] })
})

t.test('what has no counterpart names its place', async (t) => {
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ include: ['message.output_text.logprobs'] }, 'top_logprobs'],
    [{ input: [{ type: 'local_shell_call' }] }, 'input[0].type'],
    [{ input: [message('user', { type: 'input_video' })] }, 'input[0].content[0].type'],
    [{ input: [message('user', { type: 'input_image', image_url: 'ftp://x' })] }, 'input[0].content[0].image_url'],
    [{ input: [message('user', { type: 'input_file', file_data: 'data:x' })] }, 'input[0].content[0].file_data'],
    [{ input: [message('user', { type: 'input_file', file_id: 'file_1' })] }, 'input[0].content[0]'],
    [{ input: [message('assistant', { type: 'input_image', image_url: 'https://a.b' })] }, 'input[0].content[0]'],
    [{ input: [returned('c1', 'x')] }, 'input[0].call_id'],
    [{ input: [{ ...called('c1'), arguments: '[' }] }, 'input[0].arguments'],
    [{ input: [{ ...called('c1'), arguments: '['.repeat(300) }] }, 'input[0].arguments'],
  ]
  for (const [body, param] of rows) t.throws(() => read(body), { message: /./, param })
})
