import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { dialects } from '../../../src/providers/dialects.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, claude, nova, targetOf } from './target.ts'

const { chat, messages, embeddings } = dialects.bedrock

const chatBody = (body: JsonObject, model: string = nova) =>
  asSent(chat.buildRequest(targetOf(model), askedOf(body)).body) as JsonObject
const messagesBody = (body: JsonObject, model: string) =>
  asSent(messages.buildRequest(targetOf(model), askedOf(body)).body) as JsonObject

const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } }]

t.test('the model is in the path, the key in one header', async (t) => {
  const origin = 'https://bedrock-runtime.eu-west-1.amazonaws.com/model'
  const arn = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2'
  for (const [model, stream, path] of [
    [nova, false, 'amazon.nova-lite-v1%3A0/converse'],
    [nova, true, 'amazon.nova-lite-v1%3A0/converse-stream'],
    [claude, false, 'eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke'],
    [claude, true, 'eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream'],
    [`converse/${claude}`, false, 'eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse'],
    [arn, false, `${encodeURIComponent(arn)}/converse`],
    [`anthropic/${arn}`, false, `${encodeURIComponent(arn)}/invoke`],
  ] as const) {
    const { url, headers } = chat.buildRequest(targetOf(model, 'bedrock/model', 'a-bedrock-key'), askedOf({}, stream))
    t.equal(url, `${origin}/${path}`)
    t.equal(headers['authorization'], 'Bearer a-bedrock-key')
  }
  t.equal(chat.buildRequest(targetOf(), askedOf()).headers['authorization'], undefined)
  t.throws(() => chat.buildRequest(targetOf(arn, `bedrock/${arn}`), askedOf()), { code: 'unsupported_parameter' })
})

t.test('documents have names of their own, whatever their titles', async (t) => {
  const document = (title?: string) => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
    ...(title === undefined ? {} : { title }),
  })
  const titles = [undefined, undefined, 'report_v1.pdf', 'Document', 'document 2', undefined]
  const result = { type: 'tool_result', tool_use_id: 'c1', content: [document('REPORT v1.pdf')] }
  const { messages: sent } = asSent(
    messages.buildRequest(
      targetOf(nova),
      askedOf({
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Read' }, ...titles.map(document)] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'find', input: {} }] },
          { role: 'user', content: [result] },
        ],
        tools: [{ name: 'find', input_schema: { type: 'object' } }],
      }),
    ).body,
  )
  const [first, , last] = sent
  t.same(
    [...first.content.slice(1), ...last.content[0].toolResult.content].map(
      (block: { readonly document: JsonObject }) => block.document['name'],
    ),
    ['document', 'document 2', 'report v1 pdf', 'Document 3', 'document 2 2', 'document 4', 'REPORT v1 pdf 2'],
  )
})

t.test('a blank text is left out, and a document alone has one beside it', async (t) => {
  const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }
  const contentOf = (content: readonly JsonObject[]) =>
    messagesBody({ messages: [{ role: 'user', content }] }, nova)['messages'] as readonly JsonObject[]
  const block = { document: { format: 'pdf', name: 'document', source: { bytes: 'JVBERi0=' } } }
  t.same(contentOf([document, { type: 'text', text: ' \n' }]), [
    { role: 'user', content: [{ text: 'See the document.' }, block] },
  ])
  t.same(contentOf([document, { type: 'text', text: ' And?' }]), [
    { role: 'user', content: [block, { text: ' And?' }] },
  ])
})

t.test('a conversation as Converse has it', async (t) => {
  t.same(
    chatBody({
      messages: [
        { role: 'system', content: 'Be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
        {
          role: 'assistant',
          tool_calls: [{ id: 'call:1', type: 'function', function: { name: 'find', arguments: '{"id":7}' } }],
        },
        { role: 'tool', tool_call_id: 'call:1', content: 'found' },
        { role: 'user', content: 'And?' },
      ],
      tools,
      tool_choice: 'required',
      max_tokens: 9_000,
      temperature: 1.5,
      stop: ['END'],
    }),
    {
      system: [{ text: 'Be brief' }],
      messages: [
        { role: 'user', content: [{ text: 'Look' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }] },
        {
          role: 'assistant',
          content: [{ toolUse: { toolUseId: 'call_1', name: 'find', input: { id: 7 } } }],
        },
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'found' }] } }, { text: 'And?' }],
        },
      ],
      inferenceConfig: { maxTokens: 5_000, temperature: 1, stopSequences: ['END'] },
      toolConfig: {
        tools: [{ toolSpec: { name: 'find', inputSchema: { json: { type: 'object', properties: {} } } } }],
        toolChoice: { any: {} },
      },
    },
  )
})

t.test('cache marks, where the model has a cache', async (t) => {
  const cache_control = { type: 'ephemeral', ttl: '1h' }
  const body = {
    system: [{ type: 'text', text: 'Long', cache_control }],
    tools: [{ name: 'find', input_schema: { type: 'object' }, cache_control }],
  }
  const ofClaude = messagesBody(body, `converse/${claude}`)
  const point = { cachePoint: { type: 'default', ttl: '1h' } }
  t.same(ofClaude['system'], [{ text: 'Long' }, point])
  t.match(ofClaude['toolConfig'], { tools: [{ toolSpec: { name: 'find' } }, point] })
  const ofNova = messagesBody(body, nova)
  t.same(ofNova['system'], [{ text: 'Long' }, { cachePoint: { type: 'default' } }])
  t.match(ofNova['toolConfig'], { tools: { length: 1 } })
  t.same(messagesBody(body, 'meta.llama3-3-70b-instruct-v1:0')['system'], [{ text: 'Long' }])
})

t.test('a schema is asked for; what Converse has not is refused before it is called', async (t) => {
  const schema = { type: 'object', properties: { place: { type: 'string' } } }
  t.match(chatBody({ response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } }), {
    outputConfig: {
      textFormat: {
        type: 'json_schema',
        structure: {
          jsonSchema: { name: 'place', schema: JSON.stringify({ additionalProperties: false, ...schema }) },
        },
      },
    },
  })
  const image = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  for (const body of [
    { response_format: { type: 'json_object' } },
    { messages: image('https://pictures.example/a.png') },
    { web_search_options: {} },
  ])
    t.throws(() => chatBody(body), { code: 'unsupported_parameter' })
  t.throws(() => chatBody({ messages: image('s3://the-operators-bucket/a.png') }), { code: 'invalid_value' })
  t.notOk('toolConfig' in chatBody({ tools, tool_choice: 'none' }))
  t.throws(() => embeddings.buildRequest(targetOf(), askedOf({ input: 'x' })), { code: 'unsupported_parameter' })
})

t.test('calls and their results are text where no tools are offered, which Converse refuses otherwise', async (t) => {
  const call = { id: 'a', type: 'function', function: { name: 'find', arguments: '{"id":7}' } }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: 'Let me see.', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'found' },
    { role: 'user', content: 'And?' },
  ]
  for (const without of [{ messages, tools, tool_choice: 'none' }, { messages }]) {
    const body = chatBody(without)
    t.notOk('toolConfig' in body)
    t.same(body['messages'], [
      { role: 'user', content: [{ text: 'x' }] },
      {
        role: 'assistant',
        content: [{ text: 'Let me see.' }, { text: 'Called the tool find (a) with {"id":7}' }],
      },
      { role: 'user', content: [{ text: 'Result of the tool call a:' }, { text: 'found' }, { text: 'And?' }] },
    ])
  }
})

t.test('an effort has the member of the model’s family, and none for a model whose member is not known', async (t) => {
  const fieldsOf = (effort: string, model: string) =>
    chatBody({ reasoning_effort: effort }, model)['additionalModelRequestFields']
  const nova2 = 'eu.amazon.nova-2-lite-v1:0'
  const ofNova = (maxReasoningEffort: string) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort } })
  t.same(fieldsOf('minimal', nova2), ofNova('low'))
  t.same(fieldsOf('medium', nova2), ofNova('medium'))
  t.same(fieldsOf('high', nova2), ofNova('medium'), 'high would have no output limit')
  t.same(fieldsOf('none', nova2), { reasoningConfig: { type: 'disabled' } })
  const oss = 'openai.gpt-oss-120b-1:0'
  t.same(fieldsOf('high', oss), { reasoning_effort: 'high' })
  t.same(fieldsOf('none', oss), { reasoning_effort: 'low' })
  t.equal(fieldsOf('high', nova), undefined)
  t.equal(chatBody({}, nova2)['additionalModelRequestFields'], undefined)
  t.match(messagesBody({ thinking: { type: 'enabled', budget_tokens: 1_100 } }, nova2), {
    additionalModelRequestFields: ofNova('low'),
  })
  t.throws(() => fieldsOf('endless', nova2), { code: 'unsupported_value' })
})

t.test('nothing of the operator’s account is sent, whatever a client asks for', async (t) => {
  const members = {
    guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
    promptVariables: { a: { text: 'b' } },
    requestMetadata: { a: 'b' },
    additionalModelRequestFields: { top_k: 1 },
    performanceConfig: { latency: 'optimized' },
  }
  for (const [name, value] of Object.entries(members)) {
    try {
      t.notMatch(JSON.stringify(chatBody({ [name]: value })), name)
    } catch (fault) {
      t.match(fault, { code: 'unsupported_parameter' })
    }
  }
  for (const member of ['amazon-bedrock-guardrailConfig', 'amazon-bedrock-trace'])
    t.throws(() => messagesBody({ [member]: 'ENABLED' }, claude), { code: 'unsupported_parameter' })
})

t.test('Claude in its own format: without what clouds refuse, betas in the body', async (t) => {
  const asked = {
    ...askedOf({ metadata: { user_id: 'u' } }, true),
    headers: { 'anthropic-beta': 'context-1m-2025-08-07' },
  }
  t.same(asSent(messages.buildRequest(targetOf(claude), asked).body), {
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['context-1m-2025-08-07'],
    max_tokens: 1_000,
    messages: [{ role: 'user', content: 'Say hi' }],
  })
})

t.test('large numbers in arguments keep their digits', async (t) => {
  const given = '{"id":12345678901234567890}'
  const calls = [{ id: 'a', type: 'function', function: { name: 'find', arguments: given } }]
  const called = [
    { role: 'user', content: 'x' },
    { role: 'assistant', tool_calls: calls },
  ]
  const { body } = chat.buildRequest(targetOf(), askedOf({ messages: called, tools }))
  t.match(JSON.stringify(body), `"input":${given}`)
})
