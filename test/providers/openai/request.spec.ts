import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { Profile, Provider } from '../../../src/providers/dialect/provider.ts'
import { openai } from '../../../src/providers/openai/dialect.ts'
import { openaiResponses } from '../../../src/providers/openai-responses/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, sheet, targetOf } from './target.ts'

const { buildRequest: chatRequest } = openai
const { buildRequest: responsesRequest } = openaiResponses

const sent = (body: JsonObject, options: { stream?: boolean; cap?: number; profile?: Profile } = {}): JsonObject =>
  asSent(
    chatRequest(targetOf(options.profile), askedOf(body, options.stream ?? false, options.cap ?? null)).body,
  ) as JsonObject

t.test('url and headers', async (t) => {
  const { url, headers } = chatRequest(targetOf(), askedOf())
  t.equal(url, 'https://api.alpha.example/v1/chat/completions')
  t.equal(headers['authorization'], 'Bearer sk-provider-key-123456')
  const target = targetOf()
  const slashed = { ...target, provider: { ...target.provider, baseUrl: 'https://api.alpha.example/v1/' } }
  t.equal(chatRequest(slashed, askedOf()).url, url)
})

t.test('the model is the upstream name, all else is untouched', async (t) => {
  t.strictSame(sent({ model: 'alpha/x', temperature: 0.5, some_new_field: { a: [1] } }), {
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'Say hi' }],
    temperature: 0.5,
    some_new_field: { a: [1] },
  })
})

t.test('usage is always asked of a stream', async (t) => {
  t.strictSame(sent({ stream: true }, { stream: true })['stream_options'], { include_usage: true })
  const options = { include_usage: false, include_obfuscation: false }
  t.strictSame(sent({ stream_options: options }, { stream: true })['stream_options'], {
    include_usage: true,
    include_obfuscation: false,
  })
  t.notOk('stream_options' in sent({}))
})

t.test(
  'a service tier is asked for where it is priced; else the standard one, by the name that the provider takes',
  async (t) => {
    const flexSheet = { ...sheet, service_tiers: { flex: { per_million_tokens: sheet.per_million_tokens } } }
    const tierTo = (
      name: string,
      tier: unknown,
      prices = sheet,
      capabilities: Provider['capabilities'] = {},
    ): unknown => {
      const target = targetOf('openai', 'gpt-4o-mini', prices)
      const { body } = chatRequest(
        { ...target, provider: { ...target.provider, name, capabilities } },
        askedOf({ service_tier: tier }),
      )
      return asSent(body).service_tier
    }
    for (const tier of ['auto', 'default', 'flex', 'constructor', null, 1, undefined]) {
      t.equal(tierTo('openai', tier), 'default')
      t.equal(tierTo('azure-eu', tier), 'default')
      t.equal(tierTo('alpha', tier), undefined)
    }
    t.equal(tierTo('openai', 'flex', flexSheet), 'flex')
    t.equal(tierTo('alpha', 'flex', flexSheet), undefined)
    t.equal(tierTo('alpha', 'flex', flexSheet, { service_tiers: ['flex'] }), 'flex')
    t.equal(tierTo('openai', 'flex', flexSheet, { service_tiers: [] }), undefined)
    t.equal(tierTo('openai', 'priority', flexSheet), 'default')
  },
)

t.test('members that a provider does not take are not sent', async (t) => {
  const members = { prompt_cache_key: 'k', prompt_cache_options: {}, safety_identifier: 's', stream_options: {} }
  const keysTo = (provider: Partial<Provider>): readonly string[] => {
    const target = targetOf()
    const { body } = chatRequest({ ...target, provider: { ...target.provider, ...provider } }, askedOf(members, true))
    return Object.keys(asSent(body)).filter((key) => Object.hasOwn(members, key))
  }
  t.same(keysTo({}), Object.keys(members))
  t.same(keysTo({ baseUrl: 'https://api.mistral.ai/v1' }), [])
  t.same(keysTo({ name: 'groq' }), ['stream_options'])
  t.same(keysTo({ name: 'groq', capabilities: { unknown_members: 'accepted' } }), Object.keys(members))
})

t.test('the output cap', async (t) => {
  const caps = (body: JsonObject, cap: number, profile?: Profile) => {
    const { max_tokens, max_completion_tokens } = sent(body, { cap, ...(profile ? { profile } : {}) })
    return { max_tokens, max_completion_tokens }
  }
  const table: readonly [JsonObject, number, Profile, JsonObject][] = [
    [{ max_tokens: 100 }, 50, 'openai', { max_tokens: 50, max_completion_tokens: undefined }],
    [{ max_tokens: 10 }, 50, 'openai', { max_tokens: 10, max_completion_tokens: undefined }],
    [{ max_completion_tokens: 100 }, 50, 'xai', { max_tokens: undefined, max_completion_tokens: 50 }],
    [{}, 50, 'openai', { max_tokens: undefined, max_completion_tokens: 50 }],
    [{}, 50, 'xai', { max_tokens: 50, max_completion_tokens: undefined }],
    [{ max_tokens: null }, 50, 'gemini', { max_tokens: 50, max_completion_tokens: undefined }],
  ]
  for (const [body, cap, profile, expected] of table) t.strictSame(caps(body, cap, profile), expected)
})

t.test('only OpenAI knows developers', async (t) => {
  const messages = [
    { role: 'developer', content: 'Be brief', name: 'boss' },
    { role: 'user', content: 'Hi' },
  ]
  t.strictSame(sent({ messages })['messages'], messages)
  t.strictSame(sent({ messages }, { profile: 'gemini' })['messages'], [
    { role: 'system', content: 'Be brief', name: 'boss' },
    { role: 'user', content: 'Hi' },
  ])
  t.equal(messages[0]?.role, 'developer', 'the call is left as it was: another candidate may need it')
})

t.test('members that cost money beside the tokens are refused by name, unless the provider permits them', async (t) => {
  const plugins = [{ id: 'web' }]
  const target = targetOf()
  const permitting = { ...target, provider: { ...target.provider, capabilities: { allow_members: ['plugins'] } } }
  for (const request of [chatRequest, responsesRequest]) {
    const refusal = { code: 'unsupported_parameter', param: 'plugins', message: /allow_members.*`alpha`/ }
    t.throws(() => request(target, askedOf({ plugins })), refusal)
    t.match(asSent(request(permitting, askedOf({ plugins })).body), { plugins })
    t.throws(() => request(permitting, askedOf({ enable_search: true })), {
      code: 'unsupported_parameter',
      param: 'enable_search',
    })
    t.doesNotThrow(() => request(target, askedOf({ plugins: [], enable_search: false })))
  }
})

t.test('a tool without a price is refused', async (t) => {
  const priced = { ...sheet, per_call: { web_search_low: '0.03', web_search_medium: '0.035', x_search: '0.005' } }
  const search = (size: string): JsonObject => ({ web_search_options: { search_context_size: size } })
  const tools = [
    { type: 'function', function: { name: 'f' } },
    { type: 'custom', custom: { name: 'g' } },
  ]
  const table: readonly [string, JsonObject, PriceSheet, string | null][] = [
    ['gpt-4o-search-preview', {}, priced, null],
    ['gpt-4o-search-preview', search('low'), priced, null],
    ['gpt-4o-search-preview', search('high'), priced, 'web_search_options'],
    ['gpt-4o-search-preview', search('low'), sheet, 'web_search_options'],
    ['gpt-4o-search-preview', {}, sheet, 'model'],
    ['grok-4', { tools }, sheet, null],
    ['grok-4', { tools: [{ type: 'x_search' }] }, priced, null],
    ['grok-4', { tools: [...tools, { type: 'x_search' }] }, sheet, 'tools[2].type'],
    ['grok-4', { tools: [{ type: 'live_search' }] }, priced, 'tools[0].type'],
    ['gpt-4o', { plugins: [{ id: 'web' }] }, priced, 'plugins'],
    ['qwen-max', { enable_search: true }, priced, 'enable_search'],
  ]
  for (const [model, body, prices, param] of table) {
    const ask = () => chatRequest(targetOf('xai', model, prices), askedOf(body))
    if (param === null) t.doesNotThrow(ask, model)
    else t.throws(ask, { code: 'unsupported_parameter', param }, model)
  }
})

t.test('what the provider keeps for the account is refused, wherever it is named', async (t) => {
  const file = { type: 'file', file: { file_id: 'file-1' } }
  const said = (message: JsonObject): JsonObject => ({ messages: [{ role: 'user', content: 'Hi' }, message] })
  const user = (...content: readonly JsonObject[]): JsonObject => said({ role: 'user', content })
  const table: readonly [JsonObject, string][] = [
    [user({ type: 'text', text: 'a' }, file), 'messages[1].content[1].file.file_id'],
    [user({ type: 'file', file_id: 'file-1' }), 'messages[1].content[0].file_id'],
    [user({ type: 'image_url', image_url: { file_id: 'file-1' } }), 'messages[1].content[0].image_url.file_id'],
    [said({ role: 'tool', tool_call_id: 'c', content: [file] }), 'messages[1].content[0].file.file_id'],
    [said({ role: 'system', content: [file] }), 'messages[1].content[0].file.file_id'],
    [said({ role: 'assistant', content: null, audio: { id: 'audio_1' } }), 'messages[1].audio.id'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].type'],
  ]
  const priced = { ...sheet, per_call: { file_search: '0.0025' } }
  for (const profile of ['openai', 'xai', 'gemini'] as const)
    for (const [body, param] of table)
      t.throws(
        () => chatRequest(targetOf(profile, 'm', priced), askedOf(body)),
        { code: 'unsupported_parameter', param, message: param },
        `${profile} ${param}`,
      )
  const own = {
    type: 'file',
    file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA', file_id: null },
  }
  const silent = { role: 'assistant', content: 'Hi', audio: null }
  const call = { type: 'function', id: 'c', function: { name: 'f', arguments: '{"file_id":"file-1"}' } }
  for (const body of [user(own), said(silent), said({ role: 'assistant', content: null, tool_calls: [call] })])
    t.strictSame(sent(body)['messages'], body['messages'])
})
