import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  decodeCall,
  decodeFault,
  encodeCall,
  encodeFault,
  encodeLargeCall,
} from '../../../../src/adapters/nats/calls/contents.ts'
import { invalidValue } from '../../../../src/errors/gateway-error.ts'
import { routedCall } from '../../../roles/calls-contract.ts'

t.test('a body that is read again keeps its integers, however long the name before one is', async (t) => {
  const body = `{"${'n'.repeat(300_000)}":12345678901234567890}`
  const payload = Buffer.from(`{"requestId":"r","deadlineMs":1,"candidates":[],"body":${body}}`)
  const call = await decodeCall(payload, 0)
  t.equal(JSON.stringify(call.body), body)
  // The value that was made first is gone once a collection has run between two turns.
  setFlagsFromString('--expose-gc')
  await turn()
  runInNewContext('gc')()
  t.equal(JSON.stringify(call.body), body)
})

t.test('a large call is written and read in many turns, and is the same', async (t) => {
  const body = { model: 'm', text: 'word '.repeat(400_000), none: undefined, wide: [1e20] }
  const call = routedCall({ body, bodyBytes: 2_000_000 })
  let turns = 0
  const count = (): void => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const encoded = await encodeLargeCall(call, () => 1)
  const read = await decodeCall(encoded, 2)
  clearImmediate(next)
  t.ok(turns > 10, `${turns} turns`)
  t.same(JSON.parse(encoded.toString()), JSON.parse(encodeCall(call, 1).toString()))
  t.same(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify({ ...call, deadlineMs: call.deadlineMs + 1 })))
})

t.test(
  'an error that quotes a name of megabytes is small: one packet that is too large would stop all calls',
  async (t) => {
    const encoded = encodeFault(invalidValue('n'.repeat(2_000_000), 'it is too long'))
    t.ok(encoded.length < 32 * 1024, `${encoded.length} bytes`)
    t.match(decodeFault(encoded), { code: 'invalid_value', param: /^n{1024}$/ })
  },
)
