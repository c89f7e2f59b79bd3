import t from 'tap'
import { type JsonObject, parseWithWideIntegers } from '../../../src/encoding/json.ts'
import { ArgumentBounds } from '../../../src/providers/canonical/argument-bounds.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'

const { argumentCharactersMax } = providerLimits
const { jsonMembersMax, jsonDifferentNamesMax } = sharedLimits

const tooLarge = { code: 'request_too_large', param: 'path' }
const textOf = (characters: number): string => `{"a":"${'x'.repeat(characters - 8)}"}`
const listOf = (count: number, item: string): string => `{"a":[${Array.from({ length: count }, () => item).join()}]}`
const namesOf = (count: number, prefix: string): string =>
  `{${Array.from({ length: count }, (_, place) => `"${prefix}${place}":1`).join()}}`

t.test('the arguments of all calls have so many characters together', async (t) => {
  const bounds = new ArgumentBounds()
  bounds.check(textOf(argumentCharactersMax - 100), 'path')
  t.throws(() => bounds.check(textOf(101), 'path'), tooLarge)
  const written = new ArgumentBounds()
  const large = { a: 'x'.repeat(argumentCharactersMax - 100) }
  t.equal(written.write(large, 'path'), JSON.stringify(large))
  t.throws(() => written.write(large, 'path'), tooLarge)
})

t.test('they have the members and names of one body', async (t) => {
  const members = new ArgumentBounds()
  members.check(listOf(0.6 * jsonMembersMax, '1'), 'path')
  t.throws(() => members.check(listOf(0.6 * jsonMembersMax, '1'), 'path'), tooLarge)
  const names = new ArgumentBounds()
  for (let again = 0; again < 3; again += 1) names.check(namesOf(0.6 * jsonDifferentNamesMax, 'k'), 'path')
  t.throws(() => names.check(namesOf(0.6 * jsonDifferentNamesMax, 'other'), 'path'), tooLarge)
  const deep = '['.repeat(sharedLimits.jsonDepthMax)
  t.throws(() => new ArgumentBounds().check(`{"a":${deep}`, 'path'), { code: 'invalid_value', param: 'path' })
})

t.test('integers that a number would round count for four', async (t) => {
  const list = listOf(0.3 * jsonMembersMax, '12345678901234567890')
  t.throws(() => new ArgumentBounds().check(list, 'path'), tooLarge)
  t.throws(() => new ArgumentBounds().write(parseWithWideIntegers(list) as JsonObject, 'path'), tooLarge)
  const few = '{"id":12345678901234567890}'
  t.equal(new ArgumentBounds().write(parseWithWideIntegers(few) as JsonObject, 'path'), few)
})
