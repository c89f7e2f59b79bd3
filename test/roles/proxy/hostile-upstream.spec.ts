import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { until } from '../../support/clients.ts'
import { namedEvent } from '../../support/scripted-upstream.ts'
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
    t.match(bench.log.events, [{ type: 'RequestFailed', data: { attempts: [{ status: null, outcome: 'failed' }] } }])
    t.equal(bench.log.events.length, 1)
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
  const [bill] = bench.log.events
  t.match(bill, { type: 'UsageRecorded', data: { source: 'estimated', outcome: 'interrupted' } })
  t.ok(bill?.type === 'UsageRecorded' && bill.data.usage.outputTotal >= 400 && bill.data.usage.promptTotal > 0)
})

t.test('figures below zero cannot be: the reservation is charged', async (t) => {
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
  const [bill] = bench.log.events
  t.match(bill, {
    type: 'UsageRecorded',
    data: {
      source: 'reported',
      plausible: false,
      usage: { promptTotal: 0, outputTotal: 0, negative: { prompt_tokens: -5, completion_tokens: -5 } },
      lines: [{ item: 'reservation' }],
      total: '1',
    },
  })
})

t.test('usage of a stream’s start alone is no bill: what was delivered counts', async (t) => {
  const text = 'one two three four five six seven eight nine ten '.repeat(20)
  const events: readonly { readonly type: string; readonly [member: string]: unknown }[] = [
    { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 12, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ]
  const baseUrl = await upstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  })
  for (const surface of ['chat', 'messages'] as const) {
    const bench = await startBench(t, { baseUrl })
    const body = { stream_options: { include_usage: true }, max_tokens: 1000 }
    const heard = await hear(bench.dispatch(callOf('anthropic/a', { surface, stream: true, body }), stay()))
    t.equal(heard.error, null)
    const [bill] = bench.log.events
    t.match(bill, { data: { source: 'estimated', outcome: 'completed', usage: { promptTotal: 12 } } }, surface)
    const output = bill?.type === 'UsageRecorded' ? bill.data.usage.outputTotal : 0
    t.ok(output >= 200)
    t.match(heard.text, `"${surface === 'chat' ? 'completion_tokens' : 'output_tokens'}":${output}`)
  }
})

t.test('a messages stream that breaks at once is counted, whatever its start tells of the output', async (t) => {
  const said = (text: string): string =>
    text === '' ? '' : namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
  for (const [text, counted] of [
    ['', 0],
    ['North', 1],
    ['one two three', 3],
  ] as const)
    for (const told of [1, 3, 8]) {
      const usage = { input_tokens: 12, cache_read_input_tokens: 5, output_tokens: told }
      const events =
        namedEvent({ type: 'message_start', message: { id: 'msg_1', usage } }) +
        namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
      const baseUrl = await upstream(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(events + said(text), () => setTimeout(() => response.destroy(), 50))
      })
      // A translated stream has said nothing yet where the block is empty: it fails, for free.
      for (const surface of text === '' ? (['messages'] as const) : (['chat', 'messages'] as const)) {
        const bench = await startBench(t, { baseUrl })
        await hear(bench.dispatch(callOf('anthropic/a', { surface, stream: true, body: { max_tokens: 1000 } }), stay()))
        await bench.inFlight.idle()
        t.match(
          bench.log.events,
          [
            {
              type: 'UsageRecorded',
              data: {
                source: 'estimated',
                outcome: 'interrupted',
                usage: { inputUncached: 12, cacheRead: 5, promptTotal: 17, outputTotal: counted },
              },
            },
          ],
          `${surface}: ${counted} delivered, ${told} told`,
        )
      }
    }
})

t.test('a fault of ours cancels the upstream, and costs nothing', async (t) => {
  for (const before of ['', chunk('', {})]) {
    let isFaulty = false
    let isOver = false
    const baseUrl = await upstream(t, (_, response) => {
      response.on('close', () => {
        isOver = true
      })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (before !== '') response.write(before)
      setTimeout(() => {
        isFaulty = true
        response.write(chunk('one two three', {}))
      }, 50)
    })
    const clock = (): number => {
      if (isFaulty) throw new Error('no clock')
      return Date.now()
    }
    const bench = await startBench(t, { baseUrl, clock })
    await t.rejects(hear(bench.dispatch(callOf('openai/a', { stream: true }), stay())), /no clock/)
    await bench.inFlight.idle()
    t.match(bench.log.events, [{ type: 'RequestFailed', data: { reason: 'internal_error' } }])
    await until(() => isOver)
  }
})

t.test("the provider's own id of each call is recorded, also of one that fails, and no other text of it", async (t) => {
  const ids = ['req_limited', 'req_broken', 'no id of a call', 'req_stream']
  const calls: number[] = []
  const baseUrl = await upstream(t, (_, response) => {
    const call = calls.push(calls.length)
    response.setHeader('x-request-id', ids[call - 1] ?? '')
    if (call === 1) response.writeHead(503).end('{}')
    else if (call === 2) response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy())
    else if (call === 3) response.writeHead(500).end('{}')
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${chunk('one', {})}data: [DONE]\n\n`)
  })
  const bench = await startBench(t, { baseUrl })
  for (const stream of [false, true]) {
    const { error } = await hear(bench.dispatch(callOf(['openai/a', 'openai/b'], { stream }), stay()))
    t.equal(error === null, stream)
  }
  await bench.inFlight.idle()
  const [failed, served] = bench.log.events
  t.match(failed, {
    type: 'RequestFailed',
    data: { attempts: [{ upstreamRequestId: 'req_limited' }, { reason: 'network', upstreamRequestId: 'req_broken' }] },
  })
  t.match(served, {
    data: { attempts: [{ outcome: 'failed' }, { outcome: 'served', upstreamRequestId: 'req_stream' }] },
  })
  t.notMatch(JSON.stringify(served), /no id/)
  t.match(bench.lines, [
    { event: 'upstream.attempt_failed', fields: { upstreamRequestId: 'req_limited' } },
    { event: 'upstream.attempt_failed', fields: { upstreamRequestId: 'req_broken' } },
    { event: 'upstream.attempt_failed', fields: { upstreamRequestId: undefined } },
  ])
})
