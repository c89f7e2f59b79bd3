import { usage } from './answers.ts'

export const benchModel = 'openai/bench'

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
  ],
} as const

/** The same by hand, in 1e-12 USD for one token: the assertion must not lean on what it checks. */
const picosPerToken = { input: 150_000n, cachedInput: 75_000n, output: 600_000n } as const

/** What one answer of the mock upstream costs, in 1e-12 USD. */
export const picosPerAnswer =
  BigInt(usage.uncachedInputTokens) * picosPerToken.input +
  BigInt(usage.cachedInputTokens) * picosPerToken.cachedInput +
  BigInt(usage.outputTokens) * picosPerToken.output
