import { readFileSync } from 'node:fs'
import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { Usage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { providerCapabilities } from '../../../src/providers/dialect/provider.ts'
import { readUpstreamRequestId } from '../../../src/providers/dialect/upstream-request-id.ts'
import { openai } from '../../../src/providers/openai/dialect.ts'
import { readChatUsage } from '../../../src/providers/openai/usage.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, sheet, targetOf } from './target.ts'

const { buildRequest: chatRequest } = openai

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
const whole: Readonly<Record<string, readonly [usd: string, usage: Partial<Usage>]>> = {
  mistral: ['0.00016', { inputUncached: 28, outputTotal: 13 }],
  deepseek: ['0.006336', { inputUncached: 12, outputTotal: 789, outputReasoning: 415 }],
  groq: ['0.00016', { inputUncached: 48, outputTotal: 8 }],
  together: ['0.004828', { inputUncached: 26, outputTotal: 597 }],
  fireworks: ['0.00478', { inputUncached: 46, outputTotal: 586 }],
  openrouter: ['0.012154', { inputUncached: 17, outputTotal: 1_515, outputReasoning: 704 }],
  ollama: ['0.000392', { inputUncached: 136, outputTotal: 15 }],
  vllm: ['0.000342', { inputUncached: 107, outputTotal: 16 }],
  lmstudio: ['0.000798', { inputUncached: 263, outputTotal: 34 }],
}

const streamed: typeof whole = {
  mistral: ['0.000108', { inputUncached: 22, outputTotal: 8 }],
  deepseek: ['0.000086', { inputUncached: 11, outputTotal: 8 }],
  groq: ['0.001', { inputUncached: 304, outputTotal: 49, outputReasoning: 23 }],
  together: ['0.000212', { inputUncached: 26, outputTotal: 20 }],
  fireworks: ['0.000252', { inputUncached: 46, outputTotal: 20 }],
  openrouter: ['0.000102', { inputUncached: 15, outputTotal: 9 }],
  ollama: ['0.002346', { inputUncached: 17, outputTotal: 289 }],
}

for (const [name, [usd, usage]] of Object.entries(whole))
  t.test(`a recorded answer of ${name} is billed as it reports`, async (t) => {
    const target = targetAt(name)
    const { body } = readRecorded(name)
    const answer = openai.readAnswer(target, askedOf(), Buffer.from(JSON.stringify(body)))
    if ('fault' in answer || answer.reportedUsage === null) return t.fail('it has usage')
    t.match(answer.reportedUsage, usage)
    return t.equal(formatUsd(chargeFor(sheet, answer.reportedUsage).totalPicos), usd)
  })

for (const [name, [usd, usage]] of Object.entries(streamed))
  t.test(`a recorded stream of ${name} is relayed, and billed as it reports, however it is cut`, async (t) => {
    const bytes = readFileSync(new URL(`recorded/${name}.sse`, import.meta.url))
    const asked = askedOf({ stream_options: { include_usage: true } }, true)
    for (const size of [1, 7, 61, bytes.length]) {
      const relay = openai.openRelay(targetAt(name), asked)
      const given: (Uint8Array | null)[] = []
      for (let at = 0; at < bytes.length; at += size) given.push(relay.push(bytes.subarray(at, at + size)))
      given.push(relay.end(), relay.closing(null))
      t.equal(Buffer.concat(given.filter((each) => each !== null)).toString(), bytes.toString(), `pieces of ${size}`)
      t.equal(relay.state, 'done')
      if (relay.reportedUsage === null) return t.fail('it has usage')
      t.match(relay.reportedUsage, usage)
      t.equal(formatUsd(chargeFor(sheet, relay.reportedUsage).totalPicos), usd)
    }
    return undefined
  })

t.test('what OpenRouter itself charged for a recorded stream is our bill at the price of its model', async (t) => {
  const text = readFileSync(new URL('recorded/openrouter.sse', import.meta.url), 'utf8')
  const relay = openai.openRelay(targetAt('openrouter'), askedOf({}, true))
  relay.push(Buffer.from(text))
  const [, cost] = /"cost":([\d.]+)/.exec(text) ?? []
  const haiku = { ...sheet, per_million_tokens: { input: '1', cached_input: '0.1', output: '5' } }
  t.equal(Number(formatUsd(chargeFor(haiku, relay.reportedUsage!).totalPicos)), Number(cost))
  t.equal(cost, '0.00006')
})

/** Rows of the documented table, as cells. */
const documented = [
  ...readFileSync(new URL('../../../docs/providers.md', import.meta.url), 'utf8').matchAll(/^\| (`.+) \|$/gm),
].map(([, row = '']) => row.split('|').map((cell) => cell.trim()))

t.test('each provider of the documented table has a recorded answer here', async (t) => {
  const names = documented.map(([cell = '']) => /`([a-z-]+)`/.exec(cell)?.[1])
  t.same(names.toSorted(), Object.keys(whole).toSorted())
})

t.test('each accepts what the table says, by each of its names and by its host', async (t) => {
  const cellsOf = (name: string, baseUrl: string): readonly string[] => {
    const capabilities = providerCapabilities(targetAt(name, baseUrl).provider)
    return [
      capabilities.output_limit === undefined ? 'either' : `\`${capabilities.output_limit}\``,
      capabilities.stream_options ? 'asked for' : 'without asking',
      capabilities.unknown_members,
      capabilities.responses ? 'its own' : 'translated',
    ]
  }
  for (const [cell = '', address = '', ...cells] of documented) {
    const [names, host] = [
      [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name),
      /[a-z]+\.[a-z]+$/.exec(cell),
    ]
    for (const name of names) t.same(cellsOf(name, 'https://compatible.example/v1'), cells, name)
    if (host !== null) t.same(cellsOf('any', address.replaceAll('`', '')), cells, host[0])
  }
})

t.test('ids of calls are kept under the names that providers give them', async (t) => {
  for (const [name, header] of [
    ['fireworks', 'x-request-id'],
    ['mistral', 'mistral-correlation-id'],
  ] as const) {
    const { headers } = readRecorded(name)
    t.equal(readUpstreamRequestId(targetAt(name).provider, headers), headers[header])
  }
  const id = 'gen-1780944361-X5HAtL0Z2NQp8nHAiT6F'
  t.equal(readUpstreamRequestId(targetAt('openrouter').provider, { 'x-generation-id': id }), id)
})

t.test("DeepSeek's own count of cached tokens counts where OpenAI's is absent", async (t) => {
  const raw = { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }
  t.match(readChatUsage(raw, 'openai'), { inputUncached: 36, cacheRead: 64, promptTotal: 100 })
  const both = { ...raw, prompt_tokens_details: { cached_tokens: 60 } }
  t.match(readChatUsage(both, 'openai'), { inputUncached: 40, cacheRead: 60 })
})

const limitsSentTo = (name: string, body: JsonObject, cap: number | null, baseUrl?: string) => {
  const { max_tokens, max_completion_tokens } = asSent(
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
