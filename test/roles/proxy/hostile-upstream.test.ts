import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { callOf, hear, startBench, stay } from './forwarding.ts'

/** An upstream that says what it likes. */
const upstream = async (t: Test, answer: RequestListener): Promise<string> => {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}/v1`
}

const chunk = (content: string, usage: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }], usage })}\n\n`

t.test('a status that no HTTP knows still ends the call in the log', async (t) => {
  for (const stream of [false, true]) {
    const baseUrl = await upstream(t, (_, response) => {
      response.socket?.end('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n')
    })
    const bench = await startBench(t, { baseUrl })
    const { error } = await hear(bench.dispatch(callOf('openai/a', { stream }), stay()))
    t.equal(error?.status, 502)
    await bench.inFlight.idle()
    t.match(bench.log.facts, [{ type: 'RequestFailed', data: { attempts: [{ status: null, outcome: 'failed' }] } }])
    t.equal(bench.log.facts.length, 1)
  }
})

t.test('usage that is told too early is no bill: what was delivered counts', async (t) => {
  const text = 'one two three four five six seven eight nine ten '.repeat(20)
  const baseUrl = await upstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    response.write(chunk(text, zero) + chunk(text, zero), () => setTimeout(() => response.destroy(), 50))
  })
  const bench = await startBench(t, { baseUrl })
  const { error } = await hear(bench.dispatch(callOf('openai/a', { stream: true }), stay()))
  t.equal(error?.code, 'upstream_stream_interrupted')
  await bench.inFlight.idle()
  const [bill] = bench.log.facts
  t.match(bill, { type: 'UsageRecorded', data: { source: 'estimated', outcome: 'interrupted' } })
  t.ok(bill?.type === 'UsageRecorded' && bill.data.usage.outputTotal >= 400 && bill.data.usage.promptTotal > 0)
})

t.test('figures below zero are no usage: they are counted', async (t) => {
  const baseUrl = await upstream(t, (_, response) => {
    const message = { role: 'assistant', content: 'one two three', refusal: null }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: -5, completion_tokens: -5 },
      }),
    )
  })
  const bench = await startBench(t, { baseUrl })
  await hear(bench.dispatch(callOf('openai/a'), stay()))
  await bench.inFlight.idle()
  const [bill] = bench.log.facts
  t.ok(bill?.type === 'UsageRecorded' && bill.data.source === 'estimated' && bill.data.usage.outputTotal === 3)
})
