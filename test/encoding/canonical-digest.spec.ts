import { hash } from 'node:crypto'
import * as fc from 'fast-check'
import t from 'tap'
import { digestCanonically } from '../../src/encoding/canonical-digest.ts'
import { isObject, parseExactJson } from '../../src/encoding/json.ts'
import type { RunStep } from '../../src/encoding/steps.ts'
import { propertyRuns } from '../support/property-runs.ts'

const sorted = (_name: string, value: unknown): unknown =>
  isObject(value) && !JSON.isRawJSON(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value
const expected = (value: unknown): string => hash('sha256', JSON.stringify(value, sorted))
const atOnce: RunStep = (step) => step()

t.test('the digest is that of the sorted text, for any JSON value and any length of a piece', async () => {
  const values = fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.json().map(parseExactJson), fc.string({ unit: 'binary' }))
  await fc.assert(
    fc.asyncProperty(values, fc.integer({ min: 1, max: 40 }), async (value, max) => {
      return (await digestCanonically(value, atOnce, max)) === expected(value)
    }),
    propertyRuns(200),
  )
})

t.test('integers that a number would round, names like indices, empty values, pairs of surrogates', async (t) => {
  for (const text of [
    '{"b":123456789012345678901,"a":[9007199254740993]}',
    '{"10":1,"9":2,"b":3,"a":{"__proto__":4}}',
    '{"empty":{},"none":[],"text":"","nothing":null}',
    JSON.stringify({ pairs: '😀'.repeat(20), lone: '\ud83d'.repeat(20) }),
  ]) {
    const value = parseExactJson(text)
    t.equal(await digestCanonically(value, atOnce, 7), expected(value), text)
  }
  const withUndefined = { a: undefined, b: [undefined], c: 1 }
  t.equal(await digestCanonically(withUndefined, atOnce), expected(withUndefined))
  t.not(await digestCanonically({ a: 1 }, atOnce), await digestCanonically({ a: 2 }, atOnce))
})

t.test('a long text is digested in many steps', async (t) => {
  let steps = 0
  const count: RunStep = (step) => {
    steps += 1
    return step()
  }
  const text = 'x'.repeat(1_000)
  t.equal(await digestCanonically([text], count, 100), expected([text]))
  t.ok(steps >= 10)
})
