import t from 'tap'
import { askMessages, jsonOf, sandboxFor } from '../ask.ts'

type Body = { readonly [key: string]: unknown }

const user = (content: unknown): Body => ({ role: 'user', content })
const assistant = (content: unknown): Body => ({ role: 'assistant', content })
const text = (value: string): Body => ({ type: 'text', text: value })
const use = (id: string, more: Body = {}): Body => ({ type: 'tool_use', id, name: 'look', input: {}, ...more })
const result = (id: string): Body => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
const body = (more: Body): Body => ({ model: 'claude', max_tokens: 2_000, messages: [user('Hi')], ...more })
const turns = (...messages: readonly Body[]): Body => body({ messages })
const tool = (more: Body = {}): Body => ({ name: 'look', input_schema: { type: 'object' }, ...more })
const marked = { cache_control: { type: 'ephemeral' } }

const refusals: { readonly [name: string]: readonly [Body, RegExp] } = {
  'no model': [{ ...body({}), model: undefined }, /^model: Field required/],
  'no max_tokens': [{ model: 'c', messages: [user('Hi')] }, /^max_tokens: Field required/],
  'max_tokens 0': [body({ max_tokens: 0 }), /^max_tokens: must be greater than or equal to 1/],
  'a member of chat': [body({ presence_penalty: 1 }), /^presence_penalty: Extra inputs are not permitted/],
  'a member of a message': [turns({ ...user('Hi'), name: 'Bob' }), /^messages\.0\.name: Extra inputs/],
  'no messages': [{ model: 'c', max_tokens: 5 }, /^messages: Field required/],
  'an empty list': [turns(), /at least one message/],
  'a system message': [turns({ role: 'system', content: 'Be brief.' }, user('Hi')), /Unexpected role "system"/],
  'a tool message': [
    turns({ role: 'tool', content: 'ok' }),
    /^messages\.0\.role: Input should be 'user' or 'assistant'/,
  ],
  'the assistant first': [turns(assistant('Hi'), user('Hi')), /first message must use the "user" role/],
  'empty content': [turns(user('')), /non-empty content except for the optional final assistant message/],
  'an empty text': [turns(user([text('')])), /text content blocks must be non-empty/],
  'a text of spaces': [turns(user([text(' \n')])), /must contain non-whitespace text/],
  'an image of chat': [turns(user([{ type: 'image_url', image_url: { url: 'https://a' } }])), /Input tag 'image_url'/],
  'an image of no type': [
    turns(user([{ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } }])),
    /media_type: Input should be image\/jpeg/,
  ],
  'a data URL': [
    turns(user([{ type: 'image', source: { type: 'url', url: 'data:image/png;base64,AAAA' } }])),
    /HTTP\(S\)/,
  ],
  'a prefill that ends in a space': [turns(user('Hi'), assistant('Yes ')), /cannot end with trailing whitespace/],
  'a call without its result': [
    turns(user('Hi'), assistant([use('t1')]), user('And?')),
    /`tool_use` ids were found without `tool_result` blocks immediately after: t1/,
  ],
  'one result of two': [turns(user('Hi'), assistant([use('t1'), use('t2')]), user([result('t1')])), /after: t2/],
  'a result without its call': [turns(user('Hi'), user([result('t9')])), /unexpected `tool_use_id` found.*: t9/],
  'a result twice': [
    turns(user('Hi'), assistant([use('t1')]), user([result('t1'), result('t1')])),
    /each tool_use must have a single result/,
  ],
  'text before a result': [
    turns(user('Hi'), assistant([use('t1')]), user([text('So:'), result('t1')])),
    /must come before other content/,
  ],
  'a call by the user': [turns(user([use('t1')])), /`tool_use` blocks can only be in `assistant` messages/],
  'an id with a dot': [
    turns(user('Hi'), assistant([use('a.b')]), user([result('a.b')])),
    /String should match pattern/,
  ],
  'arguments as text': [
    turns(user('Hi'), assistant([use('t1', { input: '{}' })]), user([result('t1')])),
    /input: Input should be a valid dictionary/,
  ],
  'thinking of another': [
    turns(user('Hi'), assistant([{ type: 'thinking', thinking: 'Hm.', signature: 'abc' }, text('Yes')]), user('Go on')),
    /Invalid `signature` in `thinking` block/,
  ],
  'a budget too small': [
    body({ thinking: { type: 'enabled', budget_tokens: 1_000 } }),
    /greater than or equal to 1024/,
  ],
  'a budget too large': [
    body({ thinking: { type: 'enabled', budget_tokens: 2_000 } }),
    /`max_tokens` must be greater than `thinking.budget_tokens`/,
  ],
  'a cool thinker': [
    body({ thinking: { type: 'adaptive' }, temperature: 0.5 }),
    /`temperature` may only be set to 1 when thinking is enabled/,
  ],
  'thinking with a forced tool': [
    body({ thinking: { type: 'adaptive' }, tools: [tool()], tool_choice: { type: 'any' } }),
    /may not be enabled when tool_choice forces tool use/,
  ],
  'a hot one': [body({ temperature: 1.5 }), /^temperature: range: 0\.\.1/],
  'an empty stop': [body({ stop_sequences: ['\n'] }), /each stop sequence must contain non-whitespace/],
  'a tool of chat': [body({ tools: [{ type: 'function', function: { name: 'look' } }] }), /Input tag 'function'/],
  'a tool without a schema': [body({ tools: [{ name: 'look' }] }), /input_schema: Field required/],
  'a schema without a type': [body({ tools: [tool({ input_schema: {} })] }), /input_schema\.type: Field required/],
  'a strict tool with an open schema': [body({ tools: [tool({ strict: true })] }), /'additionalProperties' must be/],
  'two tools of one name': [body({ tools: [tool(), tool()] }), /Tool names must be unique/],
  'a choice of chat': [body({ tools: [tool()], tool_choice: 'auto' }), /^tool_choice: Input tag/],
  'a choice without tools': [body({ tool_choice: { type: 'auto' } }), /may only be specified while providing tools/],
  'a choice of no tool': [body({ tools: [tool()], tool_choice: { type: 'tool', name: 'x' } }), /Tool 'x' not found/],
  'an open format': [
    body({ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }),
    /^output_config\.format\.schema: For 'object' type, 'additionalProperties'/,
  ],
  'five cached blocks': [
    body({ system: [1, 2, 3, 4, 5].map((each) => ({ ...text(`${each}`), ...marked })) }),
    /A maximum of 4 blocks with cache_control may be provided\. Found 5/,
  ],
  'metadata of chat': [body({ metadata: { purpose: 'test' } }), /^metadata\.purpose: Extra inputs/],
  'a directive that is none': [body({ model: 'claude;nonsense=1' }), /there is no such directive/],
}

t.test('what the service refuses is refused in its words', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, [request, message]] of Object.entries(refusals)) {
    const response = await askMessages(sandbox, request)
    t.equal(response.status, 400, name)
    const error = await jsonOf(response)
    t.match(error, { type: 'error', error: { type: 'invalid_request_error', message }, request_id: /^req_/ }, name)
  }
})

const accepted: { readonly [name: string]: Body } = {
  'instructions amid the turns of a newer model': {
    ...turns(user('Hi'), { role: 'system', content: 'Be brief.' }, assistant('Yes'), user('Go on')),
    model: 'claude-opus-5',
  },
  'two turns of one role': turns(user('Hi'), user('there'), assistant('Yes'), assistant('?'), user('Go on')),
  'results in two messages': turns(
    user('Hi'),
    assistant([use('t1'), use('t2')]),
    user([result('t1')]),
    user([result('t2')]),
  ),
  'text after a result': turns(user('Hi'), assistant([text('See:'), use('t1')]), user([result('t1'), text('So?')])),
  'a prefill': turns(user('Hi'), assistant('Yes')),
  'an empty prefill': turns(user('Hi'), assistant('')),
  'a closed format': body({
    output_config: { format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } } },
  }),
  'marks within the bound': body({ system: [{ ...text('a'), ...marked }], tools: [tool(marked)] }),
}

t.test('what it takes is taken', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, request] of Object.entries(accepted)) {
    const response = await askMessages(sandbox, request)
    t.equal(response.status, 200, `${name}: ${await response.text()}`)
  }
})

t.test('the key, the version and what cannot be counted', async (t) => {
  const sandbox = await sandboxFor(t)
  const post = (headers: { readonly [name: string]: string }): Promise<Response> =>
    fetch(`${sandbox.url}/messages`, { method: 'POST', headers, body: JSON.stringify(body({})) })
  const noKey = await post({ 'anthropic-version': '2023-06-01' })
  t.equal(noKey.status, 401)
  t.match(await noKey.json(), { error: { type: 'authentication_error' } })
  const noVersion = await post({ 'x-api-key': 'k' })
  t.equal(noVersion.status, 400)
  t.match(await noVersion.json(), { error: { message: 'anthropic-version: header is required' } })
  t.equal((await post({ authorization: 'Bearer k', 'anthropic-version': '2023-06-01' })).status, 200)
  const counted = await askMessages(sandbox, body({}), 'messages/count_tokens')
  t.match(await counted.json(), { error: { message: /^max_tokens: Extra inputs/ } })
})
