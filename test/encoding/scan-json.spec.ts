import fc from 'fast-check'
import t from 'tap'
import { type JsonBounds, type JsonFindings, JsonScanner } from '../../src/encoding/scan-json.ts'
import { propertyRuns } from '../support/property-runs.ts'

const scanJson = (text: string, ofText: JsonBounds): JsonFindings => {
  const scanner = new JsonScanner(ofText)
  scanner.push(Buffer.from(text).toString('latin1'))
  return scanner.findings
}

const depthMax = 8
const membersMax = 12
const bounds = { depthMax, membersMax }
const wide = { depthMax: 64, membersMax: Number.POSITIVE_INFINITY }
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const long = 'x'.repeat(200)

t.test('names that one object has twice', async (t) => {
  const rows: readonly (readonly [text: string, duplicate: string | null])[] = [
    ['{}', null],
    ['{"a":1,"b":2}', null],
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a":{"a":{"a":1}}}', null],
    ['[{"a":1},{"a":1}]', null],
    ['{"a":[{"b":1,"b":2}]}', 'b'],
    ['{"a":"a","b":"a"}', null],
    ['{"a":{"x":1},"b":{"x":1},"a":1}', 'a'],
    ['{"a":["b","b"],"b":1}', null],
    ['{ "a" : 1 ,\n "a" : 2 }', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    [`{"a":"${long}\\"","a":1}`, 'a'],
    [`{"a":"${long}\\\\","a":1}`, 'a'],
    [`{"a":"${long}\\\\\\",\\"a\\":","b":1}`, null],
    [`{"${long}":1,"${long}":2}`, long],
    ['{"a":"{\\"a\\":1,\\"a\\":2}"}', null],
  ]
  for (const [text, duplicate] of rows) t.equal(scanJson(text, bounds).duplicate, duplicate, text.slice(0, 60))
})

t.test('depth', async (t) => {
  t.equal(scanJson(nested(depthMax), bounds).tooDeep, false)
  t.equal(scanJson(nested(depthMax + 1), bounds).tooDeep, true)
  t.equal(scanJson('['.repeat(1_000_000), bounds).tooDeep, true, 'ends at the bound')
  t.equal(scanJson(`"${'['.repeat(100)}"`, bounds).tooDeep, false, 'brackets in a string nest nothing')
  t.equal(scanJson('[[],[],[],[],[],[],[],[],[],[]]', wide).tooDeep, false)
})

t.test('members and elements', async (t) => {
  const most: readonly string[] = [
    `[${'1,'.repeat(membersMax - 1)}1]`,
    `[${'"a,b",'.repeat(membersMax - 2)}[]]`,
    `{"a":[${'1,'.repeat(membersMax - 2)}1]}`,
    `{${Array.from({ length: membersMax }, (_, at) => `"k${at}":1`)}}`,
    `"${','.repeat(100)}"`,
  ]
  for (const text of most) {
    t.equal(scanJson(text, bounds).tooMany, false, text)
    t.equal(scanJson(text, { ...bounds, membersMax: membersMax - 1 }).tooMany, !text.startsWith('"'), text)
  }
  t.equal(scanJson('['.repeat(1_000_000), { depthMax: 1_000_000, membersMax }).tooMany, true, 'ends at the bound')
  t.equal(scanJson(','.repeat(1_000_000), bounds).tooMany, true)
})

t.test('how many there are, also behind a name that is there twice', async (t) => {
  const rows: readonly (readonly [text: string, members: number])[] = [
    ['1', 0],
    ['{"a":1,"a":[1,2]}', 4],
    ['{"a":{},"b":[]}', 4],
    ['[" , ",1]', 2],
  ]
  for (const [text, members] of rows) t.equal(scanJson(text, bounds).members, members, text)
  t.equal(scanJson(`{"a":1,"a":${nested(depthMax)}}`, bounds).tooDeep, true)
})

t.test('finds nothing in what a serialiser writes, and the name that is put in again', async () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  fc.assert(fc.property(value, (each) => scanJson(JSON.stringify(each, null, 1), wide).duplicate === null))
  fc.assert(
    fc.property(fc.string(), value, (name, each) => {
      const member = `${JSON.stringify(name)}:${JSON.stringify(each)}`
      return scanJson(`{${member},"\\u0000other":${JSON.stringify(each)},${member}}`, wide).duplicate === name
    }),
  )
})

const scanPieces = (
  text: string,
  cuts: readonly number[],
  pieceBounds: ConstructorParameters<typeof JsonScanner>[0],
) => {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(pieceBounds)
  const places = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)
  for (const [index, from] of [0, ...places].entries()) {
    scanner.push(bytes.subarray(from, places[index] ?? bytes.length).toString('latin1'))
    const { tooDeep, tooMany, tooMuchNamed } = scanner.findings
    if (tooDeep || tooMany || tooMuchNamed) break
  }
  return scanner.findings
}

t.test('a name that is too long, before it has ended', async (t) => {
  const scanner = new JsonScanner({ ...wide, nameCharactersMax: 100, oneNameCharactersMax: 10 })
  scanner.push(`{"${'n'.repeat(10)}":"${'t'.repeat(20)}","${'n'.repeat(6)}`)
  t.notOk(scanner.findings.tooMuchNamed)
  scanner.push('nnnnn')
  t.ok(scanner.findings.tooMuchNamed)
})

t.test('finds the same in pieces, wherever they are cut', async (t) => {
  const member = fc.oneof(
    fc.string(),
    fc.constantFrom('é', '\\u00e9', '\\', '"', '\\ud800', '"a":1,', '{"', '12345678901234567', ' '.repeat(100), long),
  )
  const unit = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'é', '1234567890123')
  const text = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value, null, 1)),
    fc.array(member).map((names) => `{${names.map((name) => `${JSON.stringify(name)}:1`)},"é":1,"\\u00e9":2}`),
    fc.array(member).map((parts) => parts.join('')),
    fc.string({ unit }),
  )
  const cuts = fc.array(fc.nat(2_000), { maxLength: 12 })
  fc.assert(
    fc.property(text, cuts, (each, places) => {
      const [whole, pieces] = [scanJson(each, wide), scanPieces(each, places, wide)]
      return JSON.stringify(whole) === JSON.stringify(pieces)
    }),
    propertyRuns(1_000),
  )
  fc.assert(
    fc.property(text, cuts, (each, places) => {
      const [whole, pieces] = [scanJson(each, bounds), scanPieces(each, places, bounds)]
      return whole.tooDeep === pieces.tooDeep && whole.tooMany === pieces.tooMany
    }),
    propertyRuns(300),
  )
  t.equal(scanJson('{"é":1,"\\u00e9":2}', bounds).duplicate, 'é', 'by its bytes and by its escape')
  t.equal(scanJson('{"\\ud800":1,"\\ud801":2}', bounds).duplicate, null)
})

t.test('takes any text', async () => {
  const unit = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'a')
  for (const text of [fc.string(), fc.string({ unit })])
    fc.assert(fc.property(text, (each) => scanJson(each, bounds) !== null))
})
