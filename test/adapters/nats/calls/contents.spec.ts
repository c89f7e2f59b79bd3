import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { decodeCall } from '../../../../src/adapters/nats/calls/contents.ts'

t.test('a body that is read again keeps its integers, however long the name before one is', async (t) => {
  const body = `{"${'n'.repeat(300_000)}":12345678901234567890}`
  const payload = Buffer.from(`{"requestId":"r","deadlineMs":1,"candidates":[],"body":${body}}`)
  const call = decodeCall(payload, 0)
  t.equal(JSON.stringify(call.body), body)
  // The value that was made first is gone once a collection has run between two turns.
  setFlagsFromString('--expose-gc')
  await setImmediate()
  runInNewContext('gc')()
  t.equal(JSON.stringify(call.body), body)
})
