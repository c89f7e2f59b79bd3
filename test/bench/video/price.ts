/** What the bench's videos cost. */
export const videoModel = 'vv/v3'

export const videoPrices = {
  prices: [
    {
      model: videoModel,
      effective_from: '2026-01-01T00:00:00.000Z',
      source: 'test/bench/video/price.ts',
      video: { currency: 'USD', unit_price: '0.14', units_per_second: { std: '0.6' } },
    },
  ],
} as const

/** Five seconds in std are 3 units, of 0.14 USD each: by hand, since the assertion must not lean on what it checks. */
export const picosPerTask = 420_000_000_000n
export const tenthsOfUnitsPerTask = 30n
