import fc from 'fast-check'
import t from 'tap'
import {
  type Bucket,
  type BucketState,
  type Cell,
  type ComparedQuantity,
  type DifferenceClass,
  decompose,
} from '../../src/reconcile/decompose.ts'
import { computeTimingShifts } from '../../src/reconcile/timing.ts'
import { propertyRuns } from '../support/property-runs.ts'

const quantity = fc.bigInt({ min: 0n, max: 1_000_000n })
const amount = fc.bigInt({ min: 0n, max: 10n ** 13n })
const signed = fc.bigInt({ min: -(10n ** 10n), max: 10n ** 10n })

const part = (measure: Cell['measure']): fc.Arbitrary<ComparedQuantity> =>
  fc.record({
    item: fc.constantFrom('input', 'output'),
    invoiced: quantity,
    charged: quantity,
    estimated: fc.option(quantity, { nil: null }),
    shifted: fc.bigInt({ min: -1_000n, max: 1_000n }),
    price:
      measure === 'amounts'
        ? fc.constant({ picos: 1n, per: 1n })
        : fc.record({ picos: amount, per: fc.bigInt({ min: 1n, max: 1_000n }) }),
  })

const cell: fc.Arbitrary<Cell> = fc.constantFrom('quantities' as const, 'amounts' as const).chain((measure) =>
  fc.record({
    measure: fc.constant(measure),
    parts: fc.array(part(measure), { minLength: 1, maxLength: 3 }),
    invoicedPicos: fc.option(amount, { nil: null }),
    chargedPicos: amount,
    roundingPicos: fc.constantFrom(0n, 1_000n, 10n ** 9n),
  }),
)

const bucket: fc.Arbitrary<Bucket<Cell>> = fc.record({
  state: fc.constantFrom<BucketState>('both', 'missing_here', 'missing_there', 'unknown_model', 'unfinished_request'),
  cells: fc.array(cell, { minLength: 1, maxLength: 4 }),
  correctedPicos: fc.oneof(fc.constant(0n), signed),
  unfinishedPicos: fc.oneof(fc.constant(0n), amount),
})

const sumOf = (pieces: readonly { readonly amountPicos: bigint }[]): bigint =>
  pieces.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)

t.test('the classes add up to what is invoiced less what the ledger has, whatever is compared', async () => {
  fc.assert(
    fc.property(bucket, (given) => {
      const { invoicedPicos, ledgerPicos, pieces } = decompose(given)
      const charged = given.cells.reduce((sum, { chargedPicos }) => sum + chargedPicos, 0n)
      return ledgerPicos === charged + given.correctedPicos && sumOf(pieces) === invoicedPicos - ledgerPicos
    }),
    propertyRuns(1_000),
  )
})

const correctable: readonly DifferenceClass[] = ['estimated', 'token_drift', 'price_drift']

t.test('what was found and posted is not found again', async () => {
  fc.assert(
    fc.property(bucket, (given) => {
      const before = { ...given, state: 'both', correctedPicos: 0n } as const
      const found = decompose(before).pieces.filter((piece) => correctable.includes(piece.class))
      const posted = sumOf(found)
      if (posted === 0n) return true
      const again = decompose({ ...before, correctedPicos: posted }).pieces
      // What no price is known for is told every time, and is worth nothing.
      return again.every((piece) => piece.amountPicos === 0n || !correctable.includes(piece.class))
    }),
    propertyRuns(1_000),
  )
})

t.test('what is not correctable stays as it is when a correction was posted', async () => {
  fc.assert(
    fc.property(bucket, (given) => {
      const before = { ...given, state: 'both', correctedPicos: 0n } as const
      const others = (pieces: ReturnType<typeof decompose>['pieces']) =>
        pieces
          .filter((piece) => piece.class === 'timing' || piece.class === 'unfinished_request')
          .map(({ amountPicos }) => amountPicos)
      const { pieces } = decompose(before)
      const posted = sumOf(pieces.filter((piece) => correctable.includes(piece.class)))
      const again = decompose({ ...before, correctedPicos: posted }).pieces
      return others(pieces).join() === others(again).join()
    }),
  )
})

const timed = fc.record({ difference: signed, early: amount, late: amount })
const edges = fc.record({ early: amount, late: amount })

t.test('what is moved over a midnight is missing on its other side', async () => {
  const none = { early: 0n, late: 0n }
  fc.assert(
    fc.property(fc.array(timed, { minLength: 1, maxLength: 6 }), (days) => {
      const inner = days.map((day, place) => ({
        ...day,
        ...(place === 0 ? { early: 0n } : {}),
        ...(place === days.length - 1 ? { late: 0n } : {}),
      }))
      return computeTimingShifts(inner, none).reduce((sum, shift) => sum + shift, 0n) === 0n
    }),
  )
})

t.test('a shift explains a difference and never makes one, within what reached over', async () => {
  fc.assert(
    fc.property(fc.array(timed, { minLength: 1, maxLength: 6 }), edges, (days, edge) => {
      const shifts = computeTimingShifts(days, edge)
      return days.every(({ difference }, place) => {
        const left = difference - shifts[place]!
        const size = (value: bigint) => (value < 0n ? -value : value)
        return size(left) <= size(difference) && size(left) + size(shifts[place]!) === size(difference)
      })
    }),
  )
})

t.test('a request that was booked the day before is found on both days', async (t) => {
  const days = [
    { difference: 40n, early: 0n, late: 0n },
    { difference: -40n, early: 50n, late: 0n },
    { difference: 7n, early: 0n, late: 0n },
  ]
  t.same(computeTimingShifts(days, { early: 0n, late: 0n }), [40n, -40n, 0n])
  t.same(
    computeTimingShifts(days, { early: 5n, late: 0n }),
    [40n, -40n, 5n],
    'at the end of the period the next day is unknown',
  )
})
