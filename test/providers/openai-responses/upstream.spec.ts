import t from 'tap'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import { asArray, asObject, type JsonObject, parseJsonBytes } from '../../../src/encoding/json.ts'
import { messagesClient } from '../../../src/providers/anthropic/dialect.ts'
import { translated } from '../../../src/providers/canonical/translated.ts'
import type { StreamRelay, Target, UpstreamDialect } from '../../../src/providers/dialect/dialect.ts'
import { dialectFor } from '../../../src/providers/dialects.ts'
import { geminiClient } from '../../../src/providers/google/dialect.ts'
import { chatClient } from '../../../src/providers/openai/dialect.ts'
import { responsesUpstream } from '../../../src/providers/openai-responses/read-reply.ts'
import { asSent } from '../../support/as-sent.ts'
import { answerBytes } from '../answer-bytes.ts'
import { readAnswer, readStream } from '../recorded/content.ts'
import { askedOf, type Surface, sheet, targetOf } from '../recorded/targets.ts'
import { recordedAnswers, recordedStreams, targetFor } from '../recorded/traffic.ts'

type Client = Exclude<Surface, 'responses'>

const clients = { chat: chatClient, messages: messagesClient, gemini: geminiClient }
const surfaces = Object.keys(clients) as Client[]
const dialects: { readonly [C in Client]: UpstreamDialect } = {
  chat: translated(chatClient, responsesUpstream),
  messages: translated(messagesClient, responsesUpstream),
  gemini: translated(geminiClient, responsesUpstream),
}

/** None is asked for here, and so none is billed. */
const withoutBuiltInTools = ({ format, ...recorded }: { readonly format: Surface }): boolean =>
  format === 'responses' && !/(?:web_search|file_search|code_interpreter)_call/.test(JSON.stringify(recorded))

t.test('a recorded response says and costs the same on each other surface', async (t) => {
  const answers = recordedAnswers.filter(withoutBuiltInTools)
  t.ok(answers.length > 8, `${answers.length} answers`)
  for (const recorded of answers) {
    const { tokens: native, ...content } = readAnswer('responses', recorded.body)
    for (const surface of surfaces) {
      const target = targetFor(recorded)
      const asked = askedOf(surface, target, false)
      const read = dialects[surface].readAnswer(target, asked, Buffer.from(JSON.stringify(recorded.body)))
      const whole = dialectFor(target.provider, 'responses').readAnswer(
        target,
        askedOf('responses', target, false),
        Buffer.from(JSON.stringify(recorded.body)),
      )
      if ('fault' in read || 'fault' in whole) return t.fail(recorded.from)
      const { tokens, ...said } = readAnswer(surface, asObject(parseJsonBytes(answerBytes(read.body))))
      t.match(content, said, `${recorded.from} on ${surface}`)
      t.strictSame(tokens, native, `${recorded.from} on ${surface}: tokens`)
      t.equal(
        chargeFor(sheet, read.reportedUsage ?? noUsage).totalPicos,
        chargeFor(sheet, whole.reportedUsage ?? noUsage).totalPicos,
        `${recorded.from} on ${surface}: bill`,
      )
    }
  }
  return undefined
})

const relayed = (relay: StreamRelay, bytes: Uint8Array, pieceBytes: number): string => {
  let text = ''
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += Buffer.from(relay.push(bytes.subarray(at, at + pieceBytes)) ?? []).toString()
  text += Buffer.from(relay.end() ?? []).toString()
  return relay.state === 'done' ? text + Buffer.from(relay.closing(null)).toString() : text
}

t.test('and a recorded stream, in pieces of every size', async (t) => {
  const streams = recordedStreams.filter(withoutBuiltInTools)
  t.ok(streams.length > 5, `${streams.length} streams`)
  for (const recorded of streams) {
    const { tokens: native, ...content } = readStream('responses', recorded.text)
    for (const surface of surfaces) {
      const target = targetFor(recorded)
      const asked = askedOf(surface, target, true)
      const bytes = Buffer.from(recorded.text)
      const relay = dialects[surface].openRelay(target, asked)
      const sse = relayed(relay, bytes, bytes.length)
      t.equal(relay.state, 'done', recorded.from)
      const { tokens, ...said } = readStream(surface, sse)
      t.match(content, said, `${recorded.from} on ${surface}`)
      t.strictSame(tokens, native, `${recorded.from} on ${surface}: tokens`)
      for (const pieceBytes of [1, 7, 64])
        t.equal(relayed(dialects[surface].openRelay(target, asked), bytes, pieceBytes), sse, `pieces of ${pieceBytes}`)
    }
  }
})

const astra = 'gpt-6-astra'
const sol = 'gpt-5.6-sol'

const openaiAt = (model: string): Target => {
  const target = targetOf('openai', model)
  return { ...target, provider: { ...target.provider, baseUrl: 'https://api.openai.com/v1' } }
}

const sentOf = (surface: Client, target: Target, body: JsonObject) => {
  const asked = askedOf(surface, target, false)
  const request = dialectFor(target.provider, surface).buildRequest(target, {
    ...asked,
    body: { ...asked.body, ...body },
  })
  return { path: request.url.slice('https://api.openai.com/v1'.length), body: asSent(request.body) }
}

const rates = sheet.per_million_tokens
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const tools = [{ name: 'weather', description: 'Of a city', input_schema: schema }]
const thinking = { type: 'enabled', budget_tokens: 1_300 }

t.test('functions of a model that reasons go to the Responses API', async (t) => {
  const { path, body } = sentOf('messages', openaiAt(sol), { tools, thinking, system: 'Be brief.', temperature: 1 })
  t.equal(path, '/responses')
  t.strictSame(body, {
    ...{ model: sol, instructions: 'Be brief.', max_output_tokens: 1_000 },
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Say hi' }] }],
    tools: [{ type: 'function', name: 'weather', description: 'Of a city', parameters: schema, strict: false }],
    reasoning: { effort: 'medium' },
    include: ['reasoning.encrypted_content'],
    ...{ store: false, stream: false, service_tier: 'default' },
  })
  const chat = { tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }] }
  t.equal(sentOf('chat', openaiAt(sol), { ...chat, reasoning_effort: 'high' }).path, '/responses')
  t.equal(sentOf('chat', openaiAt(astra), chat).path, '/responses', 'it always reasons')
  const tiered = { ...openaiAt(sol), sheet: { ...sheet, service_tiers: { priority: { per_million_tokens: rates } } } }
  const asked = { ...chat, reasoning_effort: 'high', service_tier: 'priority', user: 'u-1' }
  t.match(sentOf('chat', tiered, asked).body, { service_tier: 'priority', safety_identifier: 'u-1' })
  t.match(sentOf('chat', tiered, { ...asked, user: 'u'.repeat(65) }).body, { safety_identifier: undefined })
  const declared = { tools: [{ functionDeclarations: [{ name: 'weather', parameters: schema }] }] }
  const config = { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } }
  t.equal(sentOf('gemini', openaiAt(sol), { ...declared, ...config }).path, '/responses')
})

t.test('members of OpenAI’s that have no canonical form go there too, and none that this API alone has', async (t) => {
  const chat = {
    tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    reasoning_effort: 'high',
  }
  const carried = {
    ...{ metadata: { a: 'b' }, prompt_cache_key: 'k', prompt_cache_retention: '24h', new_member: 'x' },
  }
  const others = { seed: 1, logit_bias: { 1: 2 }, background: true, max_output_tokens: 9, reasoning: { effort: 'low' } }
  const { path, body } = sentOf('chat', openaiAt(sol), {
    ...chat,
    ...carried,
    ...others,
    verbosity: 'low',
    max_tokens: 5,
  })
  t.equal(path, '/responses')
  t.match(body, { ...carried, text: { verbosity: 'low' }, max_output_tokens: 5, reasoning: { effort: 'high' } })
  for (const name of ['seed', 'logit_bias', 'background', 'verbosity']) t.notOk(name in body, name)
  for (const refused of [{ new_member: { file_id: 'file-1' } }, { enable_search: true }])
    t.throws(() => sentOf('chat', openaiAt(sol), { ...chat, ...refused }), { code: 'unsupported_parameter' })
})

t.test('and all else to chat', async (t) => {
  const off = { reasoning_effort: 'none' }
  for (const [what, model, body, expected] of [
    ['no thinking', sol, { tools }, off],
    ['thinking off', sol, { tools, thinking: { type: 'disabled' } }, off],
    ['stop sequences', sol, { tools, thinking, stop_sequences: ['END'] }, off],
    ['no tools', sol, { thinking }, { reasoning_effort: 'medium' }],
    ['an earlier model', 'gpt-5.2', { tools, thinking }, { reasoning_effort: 'medium' }],
  ] as const) {
    const { path, body: sent } = sentOf('messages', openaiAt(model), body)
    t.match({ path, sent }, { path: '/chat/completions', sent: expected }, what)
  }
  const { provider, ...target } = openaiAt(sol)
  const without = { ...target, provider: { ...provider, capabilities: { responses: false } } }
  t.equal(sentOf('messages', without, { tools, thinking }).path, '/chat/completions')
  const many = { tools: [{ type: 'function', function: { name: 'a' } }], reasoning_effort: 'high', n: 2 }
  t.match(sentOf('chat', openaiAt(sol), many), { path: '/chat/completions', body: { n: 2 } }, 'its refusal is OpenAI’s')
})

const usage = {
  ...{ input_tokens: 50, output_tokens: 30, total_tokens: 80 },
  input_tokens_details: { cached_tokens: 10 },
  output_tokens_details: { reasoning_tokens: 20 },
}
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA==' }
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' }
const response = { id: 'resp_1', object: 'response', status: 'completed', output: [reasoning, call], usage }

t.test('what the model encrypted comes back to it with the result of its call', async (t) => {
  const target = openaiAt(sol)
  const asked = askedOf('messages', target, false)
  const body = { ...asked.body, tools, thinking }
  const dialect = dialectFor(target.provider, 'messages')
  const answer = dialect.readAnswer(target, { ...asked, body }, Buffer.from(JSON.stringify(response)))
  if ('fault' in answer) return t.fail(answer.fault)
  t.match(answer.reportedUsage, { promptTotal: 50, cacheRead: 10, outputTotal: 30, outputReasoning: 20 })
  const { content, stop_reason } = asObject(parseJsonBytes(answerBytes(answer.body)))
  t.equal(stop_reason, 'tool_use')
  t.match(content, [
    { type: 'redacted_thinking', data: 'gw1:openai:gAAAA==' },
    { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Paris' } },
  ])
  const messages = [
    ...asArray(asked.body['messages']),
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'Sunny' }] },
  ]
  t.match(sentOf('messages', target, { tools, thinking, messages }).body['input'], [
    { role: 'user' },
    { type: 'reasoning', summary: [], encrypted_content: 'gAAAA==' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
  ])
  return undefined
})

const streamOf = (...events: readonly JsonObject[]): Buffer =>
  Buffer.from(events.map((json) => `event: ${String(json['type'])}\ndata: ${JSON.stringify(json)}\n\n`).join(''))

const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } }
const added = { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } }

t.test('an answer that is cut off, refused, or failed', async (t) => {
  const target = openaiAt(sol)
  const openOn = (surface: Client) => dialects[surface].openRelay(target, askedOf(surface, target, true))
  const text = { type: 'response.output_text.delta', output_index: 0, delta: 'Well' }
  const cut = { ...response, status: 'incomplete', output: [], incomplete_details: { reason: 'max_output_tokens' } }
  const ended = relayed(openOn('messages'), streamOf(created, text, { type: 'response.incomplete', response: cut }), 50)
  t.match(ended, /"stop_reason":"max_tokens"/)
  const refusal = { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No' }] }
  const refused = streamOf(
    created,
    { type: 'response.refusal.delta', output_index: 0, delta: 'No' },
    { type: 'response.output_item.done', output_index: 0, item: refusal },
    { type: 'response.completed', response: { ...response, output: [refusal] } },
  )
  const said = relayed(openOn('chat'), refused, 50)
  t.match(said, /"refusal":"No"/)
  t.match(said, /"finish_reason":"stop"/)
  t.match(relayed(openOn('messages'), refused, 50), /"stop_reason":"refusal"/)
  const unsaid = streamOf(
    created,
    added,
    { type: 'response.output_item.done', output_index: 0, item: { ...call, arguments: '' } },
    { type: 'response.completed', response: { ...response, output: [call] } },
  )
  t.match(relayed(openOn('chat'), unsaid, 50), /"arguments":"\{\}"/)
  const plain = { ...response, output: [{ type: 'message', role: 'assistant', content: 'Sunny' }] }
  const read = dialects.chat.readAnswer(target, askedOf('chat', target, false), Buffer.from(JSON.stringify(plain)))
  t.match('fault' in read ? read : asObject(parseJsonBytes(answerBytes(read.body))), {
    choices: [{ message: { content: 'Sunny' }, finish_reason: 'stop' }],
  })
  for (const failure of [{ type: 'response.failed', response: { ...response, status: 'failed' } }, { type: 'error' }]) {
    const relay = openOn('messages')
    relayed(relay, streamOf(created, failure), 50)
    t.match(relay, { state: 'broken', answering: false })
  }
  const failed = dialects.chat.readAnswer(
    target,
    askedOf('chat', target, false),
    Buffer.from(JSON.stringify({ ...response, status: 'failed' })),
  )
  t.match(failed, { fault: 'error_in_answer' })
})
