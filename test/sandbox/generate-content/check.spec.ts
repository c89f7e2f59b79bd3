import t from 'tap'
import { askGoogle, jsonOf, sandboxFor } from '../ask.ts'

type Body = { readonly [key: string]: unknown }

const user = (...parts: readonly Body[]): Body => ({ role: 'user', parts })
const model = (...parts: readonly Body[]): Body => ({ role: 'model', parts })
const hi = user({ text: 'Hi' })
const call = (name: string): Body => ({ functionCall: { name, args: {} } })
const reply = (name: string, more: Body = {}): Body => ({ functionResponse: { name, response: {}, ...more } })
const body = (more: Body): Body => ({ contents: [hi], ...more })
const turns = (...contents: readonly Body[]): Body => ({ contents })
const parameters = (schema: Body): Body =>
  body({ tools: [{ functionDeclarations: [{ name: 'look', parameters: schema }] }] })
const property = (schema: Body): Body => parameters({ type: 'OBJECT', properties: { a: schema } })
const config = (generationConfig: Body): Body => body({ generationConfig })

const refusals: { readonly [name: string]: readonly [Body, RegExp] } = {
  'no contents': [{}, /contents is not specified/],
  'a member of chat': [body({ messages: [] }), /Unknown name "messages": Cannot find field/],
  'a member of a turn': [turns({ ...hi, name: 'Bob' }), /Unknown name "name" at 'contents\[0\]'/],
  'a role of chat': [turns({ role: 'assistant', parts: [{ text: 'Hi' }] }), /valid role: user, model/],
  'no parts': [turns(user()), /contents\[0\]\.parts: contents\.parts must not be empty/],
  'an empty part': [turns(user({})), /required oneof field 'data' must have one initialized field/],
  'two kinds of data': [turns(user({ text: 'a', inlineData: {} })), /oneof field 'data' is already set/],
  'a data URL': [
    turns(user({ inlineData: { mimeType: 'image/png', data: 'data:image/png;base64,AAAA' } })),
    /Base64 decoding failed/,
  ],
  'no media type': [turns(user({ inlineData: { data: 'AAAA' } })), /mime_type must be set/],
  'arguments as text': [
    turns(hi, model({ functionCall: { name: 'a', args: '{}' } }), user(reply('a'))),
    /Invalid value at 'contents\[1\]\.parts\[0\]\.function_call\.args'/,
  ],
  'a result as text': [
    turns(hi, model(call('a')), user(reply('a', { response: 'ok' }))),
    /function_response\.response/,
  ],
  'a call without its response': [
    turns(hi, model(call('a')), user({ text: 'And?' })),
    /number of function response parts is equal/,
  ],
  'one response of two': [
    turns(hi, model(call('a'), call('b')), user(reply('a'))),
    /number of function response parts is equal/,
  ],
  'a response of another name': [
    turns(hi, model(call('a')), user(reply('b'))),
    /names of the function call parts: a, not b/,
  ],
  'a response without its call': [turns(hi, user(reply('a'))), /immediately after a function call turn/],
  'a call that nobody asked for': [turns(model(call('a')), user(reply('a'))), /immediately after a user turn/],
  'a schema of JSON Schema': [
    parameters({ $schema: 'x', type: 'OBJECT' }),
    /Unknown name "\$schema" at 'tools\[0\]\.function_declarations\[0\]\.parameters'/,
  ],
  'closed properties': [
    property({ type: 'OBJECT', additionalProperties: false }),
    /"additionalProperties" at '.*\.properties\[a\]'/,
  ],
  'two types': [property({ type: ['STRING', 'NULL'] }), /Proto field is not repeating/],
  'a reference': [property({ $ref: '#/$defs/A' }), /Unknown name "\$ref"/],
  'no properties': [parameters({ type: 'OBJECT', properties: {} }), /should be non-empty for OBJECT type/],
  'a list of nothing': [property({ type: 'ARRAY' }), /properties\[a\]\.items: missing field/],
  'words for numbers': [property({ type: 'INTEGER', enum: ['1'] }), /enum: only allowed for STRING type/],
  'a format': [property({ type: 'STRING', format: 'uri' }), /only 'enum' and 'date-time' are supported/],
  'a requirement of nothing': [
    parameters({ type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['b'] }),
    /required\[0\]: property is not defined/,
  ],
  'a strict function': [
    body({ tools: [{ functionDeclarations: [{ name: 'look', strict: true }] }] }),
    /Unknown name "strict"/,
  ],
  'a name with a space': [body({ tools: [{ functionDeclarations: [{ name: 'look up' }] }] }), /Invalid function name/],
  'a tool of chat': [body({ tools: [{ type: 'function', function: {} }] }), /Unknown name "type" at 'tools\[0\]'/],
  'a choice of chat': [body({ toolConfig: { functionCallingConfig: { mode: 'required' } } }), /mode.*"required"/],
  'a choice without ANY': [
    body({ toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['look'] } } }),
    /only when function calling mode is ANY/,
  ],
  'a setting of chat': [config({ max_tokens: 5 }), /Unknown name "max_tokens" at 'generation_config'/],
  'no tokens': [config({ maxOutputTokens: 0 }), /must be positive/],
  'too hot': [config({ temperature: 2.5 }), /must be in the range \[0\.0, 2\.0\]/],
  'a budget and a level': [
    config({ thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } }),
    /only set only one of/,
  ],
  'a schema without its type': [
    config({ responseSchema: { type: 'STRING' } }),
    /response_mime_type must be application\/json/,
  ],
  'two candidates': [config({ candidateCount: 2 }), /Multiple candidates is not enabled/],
  'an instruction of an image': [body({ systemInstruction: { parts: [{ inlineData: {} }] } }), /must be text/],
}

t.test('what the service refuses is refused in its words', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, [request, message]] of Object.entries(refusals)) {
    const response = await askGoogle(sandbox, 'gemini-2.5-flash', request)
    t.equal(response.status, 400, name)
    t.match(await jsonOf(response), { error: { code: 400, status: 'INVALID_ARGUMENT', message } }, name)
  }
})

t.test('what it takes is taken, in either spelling', async (t) => {
  const sandbox = await sandboxFor(t)
  const accepted = [
    body({ system_instruction: { parts: [{ text: 'Be brief.' }] }, generation_config: { max_output_tokens: 5 } }),
    turns(hi, model(call('a'), call('b')), user(reply('b'), reply('a'))),
    turns(hi, model(call('a')), user(reply('a')), model(call('a')), user(reply('a'))),
    property({ type: 'string', format: 'date-time', nullable: true, description: 'When.' }),
    body({ tools: [{ functionDeclarations: [{ name: 'now' }] }, { googleSearch: {} }] }),
    config({ responseMimeType: 'application/json', responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } }),
    body({ labels: { sandbox: 'output_tokens=2' } }),
  ]
  for (const request of accepted) {
    const response = await askGoogle(sandbox, 'gemini-2.5-flash', request)
    t.equal(response.status, 200, await response.text())
  }
  t.strictSame(sandbox.calls().at(-1)?.directives, { output_tokens: 2 })
})
