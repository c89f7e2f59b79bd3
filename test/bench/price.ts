import { type AnswerTokens, type Format, formats, tokens } from './content.ts'

export const benchModel = 'openai/bench'
export const anthropicModel = 'anthropic/bench'

/** What the gateway is told to charge, as a provider publishes it: USD for a million tokens. */
export const priceFile = {
  prices: [
    {
      model: benchModel,
      effective_from: '2026-01-01T00:00:00.000Z',
      source: 'test/bench/price.ts',
      sheet: {
        currency: 'USD',
        per_million_tokens: { input: '0.15', cached_input: '0.075', output: '0.60' },
        max_output_tokens: 16_384,
      },
    },
    {
      model: anthropicModel,
      effective_from: '2026-01-01T00:00:00.000Z',
      source: 'test/bench/price.ts',
      sheet: {
        currency: 'USD',
        per_million_tokens: {
          input: '1',
          cached_input: '0.1',
          cache_write_5m: '1.25',
          cache_write_1h: '2',
          output: '5',
        },
        max_output_tokens: 64_000,
      },
    },
  ],
} as const

type Picos = { readonly [K in keyof AnswerTokens]: bigint }

const ofBench: Picos = { uncachedInput: 150_000n, cachedInput: 75_000n, cacheWrite5m: 150_000n, output: 600_000n }
const ofAnthropic: Picos = {
  uncachedInput: 1_000_000n,
  cachedInput: 100_000n,
  cacheWrite5m: 1_250_000n,
  output: 5_000_000n,
}

/** The same by hand, in 1e-12 USD for one token: the assertion must not lean on what it checks. */
const picosPerToken: { readonly [F in Format]: Picos } = { chat: ofBench, messages: ofAnthropic, responses: ofBench }

/** What one answer of the mock upstream costs, in 1e-12 USD. */
export const picosPerAnswer = (format: Format): bigint => {
  const { uncachedInput, cachedInput, cacheWrite5m, output } = tokens[format]
  const picos = picosPerToken[format]
  return (
    BigInt(uncachedInput) * picos.uncachedInput +
    BigInt(cachedInput) * picos.cachedInput +
    BigInt(cacheWrite5m) * picos.cacheWrite5m +
    BigInt(output) * picos.output
  )
}

/** So many answers in each format. */
export type Counts = { readonly [F in Format]: number }

export const noCounts: Counts = { chat: 0, messages: 0, responses: 0 }

/** What they cost together, in 1e-12 USD. */
export const picosOf = (counts: Counts): bigint =>
  formats.reduce((sum, format) => sum + BigInt(counts[format]) * picosPerAnswer(format), 0n)
