import { readFileSync } from 'node:fs'
import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { readUpstreamRequestId } from '../../../src/providers/dialect/upstream-request-id.ts'
import { openai } from '../../../src/providers/openai/dialect.ts'
import { chatRequest } from '../../../src/providers/openai/request.ts'
import { readChatUsage } from '../../../src/providers/openai/usage.ts'
import { askedOf, sheet, targetOf } from './target.ts'

interface Recorded {
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

const readRecorded = (name: string): Recorded =>
  JSON.parse(readFileSync(new URL(`recorded/${name}.json`, import.meta.url), 'utf8'))

const targetAt = (name: string, baseUrl = 'https://compatible.example/v1') => {
  const target = targetOf()
  return { ...target, provider: { ...target.provider, name, baseUrl } }
}

/** Input at 2 USD a million, output at 8, worked out by hand. */
for (const [name, usd, usage] of [
  ['mistral', '0.00016', { inputUncached: 28, outputTotal: 13 }],
  ['deepseek', '0.006336', { inputUncached: 12, outputTotal: 789, outputReasoning: 415 }],
  ['groq', '0.00016', { inputUncached: 48, outputTotal: 8 }],
] as const)
  t.test(`a recorded answer of ${name} is billed as it reports`, async (t) => {
    const target = targetAt(name)
    const { body } = readRecorded(name)
    const answer = openai.readAnswer(target, askedOf(), Buffer.from(JSON.stringify(body)))
    if ('fault' in answer || answer.reportedUsage === null) return t.fail('it has usage')
    t.match(answer.reportedUsage, usage)
    return t.equal(formatUsd(chargeFor(sheet, answer.reportedUsage).totalPicos), usd)
  })

t.test("Mistral's own request id is kept", async (t) => {
  const { headers } = readRecorded('mistral')
  t.equal(readUpstreamRequestId(targetAt('mistral').provider, headers), headers['mistral-correlation-id'])
})

t.test("DeepSeek's own count of cached tokens counts where OpenAI's is absent", async (t) => {
  const raw = { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }
  t.match(readChatUsage(raw, 'openai'), { inputUncached: 36, cacheRead: 64, promptTotal: 100 })
  const both = { ...raw, prompt_tokens_details: { cached_tokens: 60 } }
  t.match(readChatUsage(both, 'openai'), { inputUncached: 40, cacheRead: 60 })
})

const limitsSentTo = (name: string, body: JsonObject, cap: number | null, baseUrl?: string) => {
  const { max_tokens, max_completion_tokens } = JSON.parse(
    chatRequest(targetAt(name, baseUrl), askedOf(body, false, cap)).body,
  )
  return { max_tokens, max_completion_tokens }
}

t.test('an output limit has the name that the provider obeys', async (t) => {
  const old = (limit: number) => ({ max_tokens: limit, max_completion_tokens: undefined })
  for (const name of ['mistral', 'deepseek', 'together', 'ollama', 'lmstudio', 'lm-studio']) {
    t.strictSame(limitsSentTo(name, {}, 50), old(50), name)
    t.strictSame(limitsSentTo(name, { max_completion_tokens: 30 }, 50), old(30), name)
    t.strictSame(limitsSentTo(name, { max_completion_tokens: 30, max_tokens: 20 }, null), old(20), name)
    t.strictSame(limitsSentTo(name, { max_completion_tokens: 90 }, 50), old(50), name)
  }
  t.strictSame(limitsSentTo('any', {}, 50, 'https://api.deepseek.com'), old(50))
  t.strictSame(limitsSentTo('any', {}, 50, 'https://api.together.xyz/v1'), old(50))
  for (const name of ['openai', 'groq', 'fireworks', 'openrouter', 'vllm'])
    t.strictSame(limitsSentTo(name, {}, 50), { max_tokens: undefined, max_completion_tokens: 50 }, name)
})

t.test('without a limit none is sent', async (t) => {
  t.strictSame(limitsSentTo('mistral', { max_tokens: null }, null), {
    max_tokens: undefined,
    max_completion_tokens: undefined,
  })
})
