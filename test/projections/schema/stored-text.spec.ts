import fc from 'fast-check'
import t from 'tap'
import { restoredText, storedText } from '../../../src/projections/schema/stored-text.ts'

t.test('any text comes back as it was, from characters that PostgreSQL can store', async (t) => {
  const units = fc.oneof(
    fc.constantFrom('\0', '\ue000', '\ud83d', '\ude00', '0', 'a', '€'),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  )
  fc.assert(
    fc.property(fc.array(units, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      const stored = storedText(text)
      return restoredText(stored) === text && stored.isWellFormed() && !stored.includes('\0')
    }),
    { numRuns: 5_000 },
  )
  t.equal(storedText('plain'), 'plain')
  t.equal(storedText('a\0b'), 'a\ue0000000b')
})
