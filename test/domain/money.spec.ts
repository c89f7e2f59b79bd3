import fc from 'fast-check'
import t from 'tap'
import { divideRoundingHalfUp, formatUsd, maxOf, minOf, parseUsd, picosPerUsd } from '../../src/domain/money.ts'

t.test('amounts are read and written exactly', async (t) => {
  const table: readonly (readonly [text: string, picos: bigint, shortest: string])[] = [
    ['0', 0n, '0'],
    ['1', picosPerUsd, '1'],
    ['2.50', 2_500_000_000_000n, '2.5'],
    ['0.000000000001', 1n, '0.000000000001'],
    ['-0.1', -100_000_000_000n, '-0.1'],
    ['999999999999999.999999999999', 999_999_999_999_999_999_999_999_999n, '999999999999999.999999999999'],
    ['-0', 0n, '0'],
  ]
  for (const [text, picos, shortest] of table) {
    t.equal(parseUsd(text), picos, text)
    t.equal(formatUsd(picos), shortest, text)
  }
})

t.test('anything that is not a plain decimal is refused', async (t) => {
  for (const text of [
    '',
    ' 1',
    '1 ',
    '+1',
    '1.',
    '.5',
    '01',
    '1e3',
    '1,000',
    '0x10',
    'NaN',
    '1.0000000000001',
    '--1',
    '1\n',
  ])
    t.throws(() => parseUsd(text), RangeError, JSON.stringify(text))
})

t.test('every amount survives writing and reading', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n }), (picos) => parseUsd(formatUsd(picos)) === picos),
  )
})

t.test('division rounds half up', async (t) => {
  t.equal(divideRoundingHalfUp(4n, 10n), 0n)
  t.equal(divideRoundingHalfUp(5n, 10n), 1n)
  t.equal(divideRoundingHalfUp(14n, 10n), 1n)
  t.equal(divideRoundingHalfUp(15n, 10n), 2n)
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 20n }),
      fc.bigInt({ min: 1n, max: 10n ** 9n }),
      (dividend, divisor) => {
        const doubleError = 2n * (divideRoundingHalfUp(dividend, divisor) * divisor - dividend)
        return -divisor < doubleError && doubleError <= divisor
      },
    ),
  )
})

t.test('the greatest and the least', async (t) => {
  t.equal(maxOf(1n, 3n, 2n), 3n)
  t.equal(minOf(2n, -1n, 3n), -1n)
})
