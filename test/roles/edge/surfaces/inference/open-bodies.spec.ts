import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { until } from '../../../../support/clients.ts'
import { answerJson, plainAsk, type Serve, secret, startEdge } from '../../edge-fixture.ts'

const bodies = 20
const ask = { ...plainAsk, messages: Array.from({ length: 30_000 }, () => ({ role: 'user', content: 'hi' })) }
const body = Buffer.from(JSON.stringify(ask))
const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
/** Parsed, it takes more than 1 MB; its bytes are not of the heap. */
const heapBytesMax = 400_000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

t.test('the parsed body of an open request is collected, and is there again when it is needed', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  let open = 0
  const messages: unknown[] = []
  const serve: Serve = async function* (call, bill) {
    open += 1
    await goOn
    messages.push(call.body['messages'])
    yield* answerJson(call, bill)
  }
  const { url } = await startEdge(t, {
    serve,
    creditUsd: '1000000',
    bounds: { workspaceOpenBytesMax: 1e9, openBytesMax: 1e10 },
  })
  const heapBytes = async (): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, 0)) // A weak reference holds its value until the turn ends.
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = await heapBytes()
  const sent = Array.from({ length: bodies }, () =>
    fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }),
  )
  await until(() => open === bodies)
  const each = ((await heapBytes()) - before) / bodies
  t.ok(each < heapBytesMax, `${each.toFixed(0)} bytes of heap each`)
  finish()
  for (const response of await Promise.all(sent)) t.equal(response.status, 200)
  t.equal(messages.length, bodies)
  t.same(messages[0], ask.messages)
})
