import t from 'tap'
import { problemsOfError } from '../../reference/contract.ts'
import { askResponses, jsonOf, sandboxFor } from '../ask.ts'

type Body = { readonly [key: string]: unknown }

const body = (more: Body): Body => ({ model: 'gpt-5.4', input: 'Hi', ...more })
const input = (...items: readonly Body[]): Body => body({ input: items })
const user = (content: unknown): Body => ({ role: 'user', content })
const call = (id: string): Body => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })
const output = (id: string): Body => ({ type: 'function_call_output', call_id: id, output: 'ok' })
const tools = (tool: Body): Body => body({ tools: [tool] })

const refusals: { readonly [name: string]: readonly [Body, string | null, RegExp] } = {
  'no input': [{ model: 'm' }, 'missing_required_parameter', /'input'/],
  'an unknown member': [body({ stop: 'a' }), 'unknown_parameter', /Unknown parameter: 'stop'/],
  'a member of chat': [body({ response_format: {} }), 'unsupported_parameter', /moved to 'text\.format'/],
  'too few tokens': [body({ max_output_tokens: 15 }), 'integer_below_min_value', />= 16, but got 15/],
  'a part of chat': [input(user([{ type: 'text', text: 'Hi' }])), 'invalid_value', /Invalid value: 'text'/],
  'an input by the assistant': [
    input({ role: 'assistant', content: [{ type: 'input_text', text: 'Hi' }] }),
    'invalid_value',
    /'output_text', 'refusal'/,
  ],
  'a role of chat': [input({ role: 'tool', content: 'Hi' }), 'invalid_value', /Invalid value: 'tool'/],
  'an item of nothing': [input({ type: 'thought' }), 'invalid_value', /Invalid value: 'thought'/],
  'a call without its id': [
    input({ type: 'function_call', name: 'a', arguments: '' }),
    'missing_required_parameter',
    /input\[0\]\.call_id/,
  ],
  'an id of chat': [input({ ...call('c'), id: 'call_1' }, output('c')), 'invalid_value', /begins with 'fc'/],
  'an output without its call': [
    input(output('c')),
    null,
    /No tool call found for function call output with call_id c/,
  ],
  'a call without its output': [input(call('c'), user('Hi')), null, /No tool output found for function call c/],
  'reasoning alone': [
    input(user('Hi'), { type: 'reasoning', id: 'rs_1', summary: [] }),
    null,
    /required following item/,
  ],
  'a tool of chat': [
    tools({ type: 'function', function: { name: 'look' } }),
    'missing_required_parameter',
    /tools\[0\]\.name/,
  ],
  'a tool of nobody': [tools({ type: 'x_search' }), 'invalid_value', /Invalid value: 'x_search'/],
  'code without a container': [
    tools({ type: 'code_interpreter' }),
    'missing_required_parameter',
    /tools\[0\]\.container/,
  ],
  'a strict tool with an open schema': [
    tools({ type: 'function', name: 'look', strict: true, parameters: { type: 'object' } }),
    'invalid_function_parameters',
    /'additionalProperties' is required to be supplied and to be false/,
  ],
  'a format of chat': [
    body({ text: { format: { type: 'json_schema', json_schema: {} } } }),
    'missing_required_parameter',
    /text\.format\.name/,
  ],
  'a choice of no tool': [body({ tool_choice: { type: 'function', name: 'x' } }), null, /not found in 'tools'/],
  'a response that is not there': [
    body({ previous_response_id: 'resp_x' }),
    'previous_response_not_found',
    /'resp_x' not found/,
  ],
}

t.test('what the service refuses is refused in its words', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, [request, code, message]] of Object.entries(refusals)) {
    const response = await askResponses(sandbox, request)
    t.equal(response.status, 400, name)
    const error = await jsonOf(response)
    t.strictSame(problemsOfError(error), [])
    t.match(error, { error: { type: 'invalid_request_error', code, message } }, name)
  }
  const reference = await askResponses(sandbox, input({ type: 'item_reference', id: 'rs_x' }))
  t.equal(reference.status, 404)
  t.equal((await fetch(`${sandbox.url}/responses/resp_x`)).status, 401)
})

t.test('what it takes is taken', async (t) => {
  const sandbox = await sandboxFor(t)
  const accepted = [
    input(user('Hi'), call('c'), output('c')),
    input({ type: 'reasoning', id: 'rs_1', summary: [] }, { ...call('c'), id: 'fc_1' }, output('c')),
    input(
      { role: 'developer', content: 'Be brief.' },
      user([{ type: 'input_image', image_url: 'https://a.example/b.png' }]),
    ),
    { ...tools({ type: 'x_search' }), model: 'grok-4.3;profile=xai', search_parameters: {} },
  ]
  for (const request of accepted) {
    const response = await askResponses(sandbox, request)
    t.equal(response.status, 200, await response.text())
  }
})
