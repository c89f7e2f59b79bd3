import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import t from 'tap'
import { residentBytes } from '../../../bench/procfs.ts'
import { chatBody, until } from '../../../support/clients.ts'
import { startGatewayApart } from '../../../support/gateway-apart.ts'
import { beginStream, closingEvents, startHostileUpstream, wordsEvent } from '../../../support/hostile-upstream.ts'
import { scrape } from '../../../support/metrics.ts'

const events = Number(process.env['FAULTS_EVENTS'] ?? 100_000)
/** Of the gateway, for what the flood may take of it at any moment: its buffers, both halves of V8's new generation, and garbage beside it. */
const growthBytesMax = 384 * 1024 * 1024
const goesOn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })

const eventBytes = Buffer.byteLength(wordsEvent('x'))

t.test(`${events} events, to a client that reads and to one that does not`, async (t) => {
  const sent: number[] = []
  const upstreamUrl = await startHostileUpstream(t, {
    flood: async (response) => {
      const call = sent.push(0) - 1
      beginStream(response)
      const event = wordsEvent('x')
      for (; sent[call]! < events && !response.destroyed; sent[call]! += 1)
        if (!response.write(event)) await goesOn(response)
      response.end(closingEvents(7, events))
    },
  })
  const {
    process: gateway,
    operator,
    account,
  } = await startGatewayApart(t, { upstreamUrl, models: { flood: 'flood' } })
  const open = async () => {
    const asked = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    })
    asked.end(chatBody('openai/flood', true, 64))
    const [response] = await once(asked, 'response')
    return response
  }
  const readAll = async (response: Awaited<ReturnType<typeof open>>): Promise<number> => {
    let lines = 0
    let tail = ''
    for await (const chunk of response) {
      lines += chunk.toString().split('"content":"x"').length - 1
      tail = (tail + chunk).slice(-20)
    }
    return tail.endsWith('data: [DONE]\n\n') ? lines : -1
  }
  const beforeBytes = residentBytes(gateway.pid)
  const startedMs = performance.now()
  const first = await readAll(await open())
  t.ok(first > events * 0.99, 'all that was said arrives')
  t.comment(`${Math.round((events / (performance.now() - startedMs)) * 1_000)} events/s, ${eventBytes} bytes each`)

  const slow = await open()
  let before = -1
  let still = 0
  await until(() => {
    still = sent[1] === before ? still + 1 : 0
    before = sent[1]!
    return still > 60
  })
  t.ok(sent[1]! < events, `the upstream is held back after ${sent[1]} events`)
  const metrics = await scrape(gateway.observeUrl)
  t.equal(metrics.value('gateway_streams_open'), 1)
  t.ok((await readAll(slow)) > events * 0.99, 'and goes on when the client does')
  const afterBytes = residentBytes(gateway.pid)
  if (beforeBytes !== null && afterBytes !== null) {
    t.comment(`resident: ${Math.round(beforeBytes / 2 ** 20)} MB before, ${Math.round(afterBytes / 2 ** 20)} MB after`)
    t.ok(afterBytes - beforeBytes < growthBytesMax, 'memory is bounded')
  }
  await operator.caughtUp()
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  const exact = { usage: { promptTotal: 7, outputTotal: events }, source: 'reported', outcome: 'completed' }
  t.match(
    bills.map(({ data }) => data),
    [exact, exact],
    'the usage is what the upstream said',
  )
})
