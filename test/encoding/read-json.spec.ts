import * as fc from 'fast-check'
import t from 'tap'
import { parseWithWideIntegers } from '../../src/encoding/json.ts'
import { readJsonInSteps } from '../../src/encoding/read-json.ts'
import { finishSteps } from '../../src/encoding/steps.ts'

/** A number may be as long as a step. */
const stepBytes = 64

const read = (text: string, pieceBytes: number): unknown =>
  finishSteps(readJsonInSteps(Buffer.from(text), { pieceBytes, stepBytes }))

/** Undefined where it is not JSON. */
const orUndefined = (parse: () => unknown): unknown => {
  try {
    return parse()
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined
    throw fault
  }
}

const spaced = (value: unknown, spaces: number): string => JSON.stringify(value, null, spaces)
const escaped = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const texts = fc
  .tuple(
    fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.string({ unit: 'binary', maxLength: 60 }), fc.array(fc.jsonValue())),
    fc.integer({ min: 0, max: 3 }),
    fc.boolean(),
  )
  .map(([value, spaces, escapes]) => (escapes ? escaped(spaced(value, spaces)) : spaced(value, spaces)))

t.test('it reads what JSON.parse reads, for any length of a piece', async () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 6, max: 60 }), (text, pieceBytes) => {
      return JSON.stringify(read(text, pieceBytes)) === JSON.stringify(JSON.parse(Buffer.from(text).toString()))
    }),
    { numRuns: 3_000 },
  )
})

const edits = fc.array(
  fc.tuple(
    fc.nat(),
    fc.nat({ max: 2 }),
    fc.constantFrom(
      '',
      ',',
      ']',
      '}',
      '[',
      '{',
      '"',
      ':',
      '\\',
      ' ',
      ' '.repeat(70),
      '1',
      'u',
      '\0',
      '\x01',
      '\v',
      '\u00a0',
    ),
  ),
  { minLength: 1, maxLength: 3 },
)

t.test('it refuses what JSON.parse refuses', async () => {
  fc.assert(
    fc.property(texts, edits, fc.integer({ min: 6, max: 60 }), (text, changes, pieceBytes) => {
      let changed = text.toWellFormed()
      for (const [place, removed, added] of changes) {
        const at = place % (changed.length + 1)
        changed = (changed.slice(0, at) + added + changed.slice(at + removed)).toWellFormed()
      }
      const expected = orUndefined(() => JSON.parse(changed))
      return JSON.stringify(orUndefined(() => read(changed, pieceBytes))) === JSON.stringify(expected)
    }),
    { numRuns: 5_000 },
  )
})

t.test('escapes, characters of several bytes and names at the end of a piece', async (t) => {
  const values = [
    `"${'\\\\'.repeat(50)}"`,
    `"${'\\\\u0041'.repeat(50)}"`,
    `"${'\\u00e9\\n'.repeat(50)}"`,
    `"${'\\ud83d\\ude00'.repeat(50)}"`,
    `"${'中😀é'.repeat(50)}"`,
    `{"__proto__":"${'x'.repeat(90)}","10":1,"9":{"constructor":[${'1,'.repeat(90)}2]}}`,
    `  [ "${'\\"'.repeat(60)}" , { } , [ ] ] `,
    `[${' '.repeat(90)}] `,
    `{"a":{${'\n'.repeat(90)}},"b":[1${' '.repeat(90)},2${' '.repeat(90)}]${' '.repeat(90)}}`,
  ]
  for (const text of values)
    for (let pieceBytes = 6; pieceBytes < 40; pieceBytes += 1)
      t.equal(
        JSON.stringify(read(text, pieceBytes)),
        JSON.stringify(JSON.parse(text)),
        `${pieceBytes}: ${text.slice(0, 20)}`,
      )
  t.ok(Object.hasOwn(Object(read(values[5]!, 20)), '__proto__'))
})

t.test('one comma too many, brackets that do not match, and what follows', async (t) => {
  const long = '1,'.repeat(40)
  for (const text of [
    `[${long}]`,
    `[${long}1}`,
    `[${long}1],2`,
    `[${long},1]`,
    `[,${long}1]`,
    `[${long}1`,
    `{${long}}`,
    `"${long}`,
    `[${long}1]\0\0`,
    `["${'a'.repeat(90)}"\x01,1]`,
    `["${'a'.repeat(90)}",\v${long}1]`,
    `{"${'a'.repeat(90)}"\u00a0:1}`,
  ])
    t.throws(() => read(text, 10), SyntaxError, text.slice(0, 12))
})

t.test('each piece is a step, whose length is bounded', async (t) => {
  const lengths: number[] = []
  const note = (text: string): unknown => {
    lengths.push(text.length)
    return parseWithWideIntegers(text)
  }
  const body = { list: Array.from({ length: 500 }, () => ({ text: 'x' })), text: 'y\n'.repeat(5_000), id: 1 }
  const steps = readJsonInSteps(Buffer.from(JSON.stringify(body)), { read: note, pieceBytes: 500, stepBytes: 1_000 })
  let count = 0
  for (let step = steps.next(); step.done !== true; step = steps.next()) count += 1
  t.ok(count > 10 && count < 60, `${count} steps`)
  t.ok(Math.max(...lengths) <= 502)
})

const nested = (times: number, depth: number, open: string, scalar: string, close: string): string =>
  `[${Array.from({ length: times }, () => open.repeat(depth) + scalar + close.repeat(depth)).join(',')}]`

const characters = (count: number): string => `"${'x'.repeat(count)}"`

const hostile = {
  'long texts in deep lists': nested(60, 120, '[', characters(1_030), ']'),
  'long texts behind an item in deep lists': nested(60, 120, '[1,', characters(1_030), ']'),
  'long texts before an item in deep lists': nested(60, 120, '[', characters(1_030), ',1]'),
  'long texts in deep objects': nested(60, 60, '{"a":', characters(1_030), '}'),
  'long texts in lists and objects': nested(60, 60, '[1,{"a":', characters(1_030), ',"b":2}]'),
  'long names in deep objects': nested(20, 60, `{${characters(1_030)}:[`, '1', ']}'),
  'long numbers in deep lists': nested(60, 120, '[', '1'.repeat(1_030), ']'),
  'long numbers': `{"a":[${Array.from({ length: 60 }, () => '1'.repeat(1_900)).join(',')}]}`,
  'white space in deep lists': nested(60, 120, '[', ' '.repeat(1_030), ']'),
  'white space around deep lists': nested(1, 120, ' '.repeat(900).concat('['), '1', ']'.concat(' '.repeat(900))),
  'white space only': `[${' '.repeat(100_000)}1${' '.repeat(100_000)}]`,
  'many small members': JSON.stringify(
    Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`k${at}`, [at, {}]])),
  ),
  'many small lists': nested(900, 120, '[', '1', ']'),
  'many small items': `[${'1,'.repeat(90_000)}1]`,
  escapes: `[${'"\\\\\\"",'.repeat(9_000)}"${'\\\\'.repeat(30_000)}"]`,
}

for (const [name, text] of Object.entries(hostile))
  t.test(`work is linear in the length, and its steps are bounded: ${name}`, async (t) => {
    const [pieceBytes, stepBytes] = [1_000, 2_000]
    let [readBytes, readInStep, longestStep, count] = [0, 0, 0, 1]
    const note = (piece: string): unknown => {
      readBytes += piece.length
      readInStep += piece.length
      return JSON.parse(piece)
    }
    const steps = readJsonInSteps(Buffer.from(text), { read: note, pieceBytes, stepBytes })
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) {
      count += 1
      longestStep = Math.max(longestStep, readInStep)
      readInStep = 0
    }
    t.equal(JSON.stringify(step.value), JSON.stringify(JSON.parse(text)))
    // A step ends once it has looked at its bytes, so that their number counts the work.
    const worth = (count * stepBytes) / text.length
    t.ok(worth > 0.5 && worth < 3.5, `${count} steps, ${worth.toFixed(2)} times the length`)
    t.ok(longestStep <= stepBytes + 3 * pieceBytes, `${longestStep} bytes in a step`)
    t.ok(readBytes <= 2 * text.length, `${readBytes} of ${text.length} bytes read`)
  })

t.test('a number longer than a step is refused', async (t) => {
  t.throws(() => read(`{"a":${'1'.repeat(stepBytes + 1)}}`, 10), SyntaxError)
  t.same(read(`{"a":${'1'.repeat(stepBytes)}}`, 10), { a: Number('1'.repeat(stepBytes)) })
})
