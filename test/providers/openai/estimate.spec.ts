import { performance } from 'node:perf_hooks'
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countTokens } from '../../../src/providers/dialect/tokens.ts'
import { countChatUsage } from '../../../src/providers/openai/estimate.ts'
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
    promptTotal: prompt,
    inputUncached: prompt,
    outputTotal: reference('Hello there') + reasoning + 2,
    outputReasoning: reasoning,
  })
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
