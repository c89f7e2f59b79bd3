import t from 'tap'
import { getValidator } from '../../../../../src/encoding/schema-validation.ts'

const validate = getValidator('requests/responses-request.v1.json')
const problemOf = (body: object): string | undefined =>
  validate({ model: 'openai/gpt-5', input: 'hi', ...body })[0]?.path

t.test('what clients send is valid', async (t) => {
  const bodies = [
    {},
    { input: [{ role: 'user', content: 'hi' }] },
    { input: [{ type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'hi' }] }] },
    {
      input: [
        { type: 'reasoning', id: 'rs_1', summary: [], content: null },
        { type: 'function_call_output', output: 'x' },
      ],
    },
    { tools: [{ type: 'function', name: 'f', parameters: null, strict: null }, { type: 'web_search' }] },
    { tool_choice: { type: 'web_search' }, text: { format: { type: 'json_schema', name: 'n', schema: {} } } },
    {
      reasoning: { effort: 'xhigh', summary: 'auto' },
      max_output_tokens: 1,
      max_tool_calls: 1,
      temperature: 2,
      top_p: 0,
    },
    { stream: true, stream_options: { include_obfuscation: false }, store: false, background: false },
    { stream: null, tools: null, text: null, previous_response_id: null, max_output_tokens: null, reasoning: null },
    { extra_body: { models: ['a/b'], route: 'fallback' }, models: ['a/b'], something_new: { a: 1 } },
  ]
  for (const body of bodies) t.equal(problemOf(body), undefined, JSON.stringify(body))
})

t.test('what is wrong is told by its path', async (t) => {
  const table: readonly (readonly [object, string])[] = [
    [{ model: undefined }, 'model'],
    [{ model: '' }, 'model'],
    [{ input: undefined }, 'input'],
    [{ input: 1 }, 'input'],
    [{ input: ['hi'] }, 'input[0]'],
    [{ input: [{ type: 'message', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ role: 'user', content: [{}] }] }, 'input[0].content[0].type'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ max_tool_calls: 0 }, 'max_tool_calls'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ top_p: -0.1 }, 'top_p'],
    [{ tools: [{}] }, 'tools[0].type'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ background: 'yes' }, 'background'],
    [{ previous_response_id: 1 }, 'previous_response_id'],
    [{ stream: 'true' }, 'stream'],
    [{ extra_body: { route: 'other' } }, 'extra_body.route'],
    [{ models: [] }, 'models'],
    [{ models: ['1', '2', '3', '4', '5', '6'] }, 'models'],
  ]
  for (const [body, path] of table) t.equal(problemOf(JSON.parse(JSON.stringify(body))) ?? problemOf(body), path)
})
