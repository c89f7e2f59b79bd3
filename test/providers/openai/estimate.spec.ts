import { performance } from 'node:perf_hooks'
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { countMessagesUsage } from '../../../src/providers/anthropic/estimate.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countTokens } from '../../../src/providers/dialect/tokens.ts'
import { countGeminiUsage } from '../../../src/providers/google/estimate.ts'
import { countChatUsage } from '../../../src/providers/openai/estimate.ts'
import { countResponsesUsage } from '../../../src/providers/openai-responses/estimate.ts'
import { askedOf, sheet, targetOf } from './target.ts'

t.test('tokens are those of o200k', async (t) => {
  for (const text of ['', 'Hello, world', 'naïve 🙂 日本語', '{"a": [1, 2, 3]}'])
    t.equal(await countTokens(text), reference(text), text)
  t.equal(await countTokens('<|endoftext|>'), reference('<|endoftext|>', { disallowedSpecial: new Set() }))
})

t.test('a hostile text is counted in bounded time', async (t) => {
  const started = performance.now()
  t.ok((await countTokens('日本語'.repeat(100_000))) > 100_000)
  t.ok(performance.now() - started < 10_000)
})

t.test('beyond the bound the count goes on in proportion', async (t) => {
  const words = 'The quick brown fox. '
  const text = words.repeat(Math.ceil((2 * providerLimits.estimateCharactersMax) / words.length))
  const exact = reference(text)
  const counted = await countTokens(text)
  t.ok(Math.abs(counted - exact) / exact < 0.02, `${counted} for ${exact}`)
})

t.test('prompt and answer', async (t) => {
  const delivered = { texts: ['Hello there'], reasoningTexts: ['Let me think'], charactersBeyond: 8, characters: 32 }
  const body = {
    messages: [
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Say hi' },
          { type: 'image_url', image_url: { url: 'x' } },
          { type: 'input_audio', input_audio: { data: 'x'.repeat(6_400), format: 'wav' } },
        ],
      },
    ],
    tools: [{ type: 'function', function: { name: 'find' } }],
  }
  const usage = await countChatUsage(targetOf(), askedOf(body), delivered)
  const prompt =
    reference('systemBe brief') + reference('userSay hi') + reference(JSON.stringify(body.tools)) + 2 * 3 + 3
  const reasoning = reference('Let me think')
  t.match(usage, {
    promptTotal: prompt + 1_600 + 2,
    inputUncached: prompt,
    inputImage: 1_600,
    inputAudio: 2,
    outputTotal: reference('Hello there') + reasoning + 2,
    outputReasoning: reasoning,
  })
})

t.test('images and audio of a prompt count, on every surface and in results of tools', async (t) => {
  const delivered = { texts: [], reasoningTexts: [], charactersBeyond: 0, characters: 0 }
  const partsOf = async (count: typeof countChatUsage, body: JsonObject): Promise<readonly number[]> => {
    const { inputImage, inputAudio, promptTotal, inputUncached } = await count(targetOf(), askedOf(body), delivered)
    t.equal(promptTotal, inputUncached + inputImage + inputAudio)
    return [inputImage / 1_600, inputAudio]
  }
  const image = { type: 'input_image', image_url: 'https://x.test/i.png' }
  const input = [
    { role: 'user', content: [{ type: 'input_text', text: 'See' }, image] },
    { type: 'function_call_output', call_id: 'c', output: [image] },
    { type: 'computer_call_output', call_id: 'd', output: { type: 'computer_screenshot', image_url: 'x' } },
  ]
  t.same(await partsOf(countResponsesUsage, { input }), [3, 0])
  const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
  const messages = [
    { role: 'user', content: [block, { type: 'document', source: { type: 'content', content: [block] } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [block] }] },
  ]
  t.same(await partsOf(countMessagesUsage, { messages }), [3, 0])
  const blob = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } })
  const parts = [blob('image/png', 'AA=='), blob('audio/wav', 'x'.repeat(3_201)), blob('application/pdf', 'AA==')]
  t.same(await partsOf(countGeminiUsage, { contents: [{ parts }] }), [1, 2])
})

t.test('an estimate is at the service tier that the provider was asked for', async (t) => {
  const delivered = { texts: ['Hello'], reasoningTexts: [], charactersBeyond: 0, characters: 5 }
  const flexSheet = { ...sheet, service_tiers: { flex: { per_million_tokens: sheet.per_million_tokens } } }
  const tierOf = async (name: string, service_tier: string): Promise<string | undefined> => {
    const target = targetOf('openai', 'gpt-4o-mini', flexSheet)
    const named = { ...target, provider: { ...target.provider, name } }
    return (await countChatUsage(named, askedOf({ service_tier }), delivered)).serviceTier
  }
  t.equal(await tierOf('openai', 'flex'), 'flex')
  t.equal(await tierOf('openai', 'priority'), undefined, 'it has no price')
  t.equal(await tierOf('alpha', 'flex'), undefined, 'the provider does not accept it')
})

t.test('what the request marks for the cache counts as written, and nothing else of it is known', async (t) => {
  const delivered = { texts: ['Hello'], reasoningTexts: [], charactersBeyond: 0, characters: 5 }
  const rates = { ...sheet.per_million_tokens, cache_write_5m: '2.5', cache_write_12h: '5' }
  const target = targetOf('openai', 'gpt-5.6-luna', { ...sheet, per_million_tokens: rates })
  const long = 'The quick brown fox. '.repeat(400)
  const marked = (text: string, mark: object = {}) => ({ type: 'text', text, ...mark })
  const breakpoint = (ttl?: string) => ({ prompt_cache_breakpoint: ttl === undefined ? {} : { ttl } })
  const body = (mark: object, more: object = {}): JsonObject => ({
    messages: [{ role: 'user', content: [marked(long, mark), marked('Now answer.')] }],
    ...more,
  })
  const written = reference(`user${long}`)
  const chat = async (asked: JsonObject, of = target) => countChatUsage(of, askedOf(asked), delivered)
  const isNear = (actual: number, what: string) =>
    t.ok(Math.abs(actual - written) < 0.01 * written, `${what}: ${actual}`)

  isNear((await chat(body(breakpoint()))).cacheWrite5m, 'for 30 minutes')
  isNear((await chat(body(breakpoint('12h')))).cacheWrite12h ?? 0, 'for twelve hours')
  isNear(
    (await chat(body(breakpoint(), { prompt_cache_options: { ttl: '12h' } }))).cacheWrite12h ?? 0,
    'by the options',
  )
  t.match(await chat(body({})), { cacheWrite5m: 0, cacheRead: 0 }, 'without a mark')
  t.match(await chat(body(breakpoint()), targetOf()), { cacheWrite5m: 0 }, 'a model whose writes have no price')
  const short = { messages: [{ role: 'user', content: [marked('Hi', breakpoint())] }] }
  t.match(await chat(short), { cacheWrite5m: 0 }, 'OpenAI caches no short prompt')

  const input = [{ role: 'user', content: [{ type: 'input_text', text: long, ...breakpoint() }] }]
  isNear((await countResponsesUsage(target, askedOf({ input }), delivered)).cacheWrite5m, 'in a response')
})
