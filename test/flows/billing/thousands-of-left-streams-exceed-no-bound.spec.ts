import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import t from 'tap'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { beginStream, startHostileUpstream, wordsEvent } from '../../support/hostile-upstream.ts'
import { scrape } from '../../support/metrics.ts'

/** The long form is `make faults`. */
const requests = Number(process.env['FAULTS_STREAMS'] ?? 300)
const atOnce = 100
/** Of a workspace and edge. */
const readOnMax = 32
const megabyte = 2 ** 20

t.test(`${requests} clients that open a stream and leave`, async (t) => {
  let open = 0
  const endless = (response: ServerResponse): void => {
    open += 1
    response.on('close', () => {
      open -= 1
    })
    beginStream(response)
    response.write(wordsEvent('one two three'))
  }
  const baseUrl = await startHostileUpstream(t, { endless })
  const models = { endless: 'endless' }
  const { gateway, account, operator } = await startTestGateway(t, {
    models,
    config: {
      observe: { host: '127.0.0.1', port: 0 },
      providers: [
        {
          name: 'openai',
          dialect: 'openai',
          profile: 'openai',
          baseUrl,
          apiKey: 'sk-upstream-secret',
          models,
          cancelStopsBilling: false,
          drainMs: 6_000,
        },
      ],
    },
  })
  const headers = { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' }
  await until(async () => (await fetch(`${gateway.url}/v1/ledger/holds`, { headers })).status === 200)
  const openAndLeave = async (): Promise<number> => {
    const asked = request(`${gateway.url}/v1/chat/completions`, { method: 'POST', agent: false, headers })
    asked.on('error', () => undefined)
    asked.end(
      JSON.stringify({
        model: 'openai/endless',
        max_tokens: 100,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    )
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    if (response.statusCode === 200) await once(response, 'data')
    response.destroy()
    return response.statusCode ?? 0
  }
  const before = process.memoryUsage().rss
  const statuses: number[] = []
  for (let sent = 0; sent < requests; sent += atOnce)
    statuses.push(...(await Promise.all(Array.from({ length: atOnce }, openAndLeave))))
  const grownMegabytes = (process.memoryUsage().rss - before) / megabyte
  t.ok(grownMegabytes < 300, `${Math.round(grownMegabytes)} MB more`)
  const served = statuses.filter((status) => status === 200).length
  t.equal(served, requests)
  await until(() => open <= readOnMax)
  t.ok(open > 0, `${open} are read on`)
  await until(async () => (await scrape(gateway.observeUrl)).value('gateway_streams_open') === 0)
  await until(() => open === 0)
  await until(() => operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
  t.ok(balancePicos(operator.tail.ledger.wallets.get('acme')!) >= 0n, 'nothing is owed beyond the credit')
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, served, 'each has its bill')
})
