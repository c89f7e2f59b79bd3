import * as fc from 'fast-check'
import t from 'tap'
import { parseWithWideIntegers } from '../../src/encoding/json.ts'
import { jsonPieces } from '../../src/encoding/write-json.ts'

const write = (value: unknown, pieceCharacters: number): string => [...jsonPieces(value, { pieceCharacters })].join('')

t.test('it writes what JSON.stringify writes, for any length of a piece', async () => {
  const values = fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 40 }), (value, pieceCharacters) => {
      return write(value, pieceCharacters) === JSON.stringify(value)
    }),
    { numRuns: 1_000 },
  )
})

t.test('members without a value, wide integers and pairs of surrogates', async (t) => {
  const value = { a: undefined, list: [undefined, Number.NaN], wide: parseWithWideIntegers('[12345678901234567890]') }
  t.equal(write(value, 5), '{"list":[null,null],"wide":[12345678901234567890]}')
  const pairs = { pairs: '😀'.repeat(20), lone: '\ud83d'.repeat(20) }
  t.equal(write(pairs, 7), JSON.stringify(pairs))
})

t.test('no piece is much longer than asked for', async (t) => {
  const pieces = [...jsonPieces({ text: '\n'.repeat(10_000), list: Array(1_000).fill('x') }, { pieceCharacters: 100 })]
  t.ok(pieces.length > 100)
  t.ok(Math.max(...pieces.map(({ length }) => length)) <= 310)
})
