import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { LossyProxy } from '../../../adapters/nats/lossy-proxy.ts'
import { checkCharges } from '../../../support/bills.ts'
import { chatBody, startClients, until } from '../../../support/clients.ts'
import { startExternalServers } from '../../../support/external-servers.ts'
import { startTestGateway } from '../../../support/gateway.ts'
import { beginStream, startHostileUpstream, wordsEvent } from '../../../support/hostile-upstream.ts'
import { failing, healthAt, scrape } from '../../../support/metrics.ts'

const observe = { host: '127.0.0.1', port: 0 }
const idleMs = 1_000
const clientStallMs = 1_000

const wireTo = async (t: Test, url: string): Promise<{ readonly wire: LossyProxy; readonly url: string }> => {
  const place = new URL(url)
  const wire = await LossyProxy.create(Number(place.port))
  t.teardown(() => wire.close())
  place.port = String(wire.port)
  return { wire, url: place.href.replace(/\/$/, '') }
}

t.test('a client, and an upstream, vanish without a word', async (t) => {
  const models = { flood: 'flood', silent: 'silent' }
  let floods = 0
  const upstreamUrl = await startHostileUpstream(t, {
    flood: async (response) => {
      beginStream(response)
      floods += 1
      response.once('close', () => {
        floods -= 1
      })
      while (!response.destroyed) {
        response.write(wordsEvent('x'.repeat(10_000)))
        await pause(1)
      }
    },
    silent: (response) => {
      beginStream(response)
      response.write(wordsEvent('one two three '))
    },
  })
  const upstream = await wireTo(t, upstreamUrl)
  const provider = {
    dialect: 'openai',
    profile: 'openai',
    baseUrl: upstream.url,
    apiKey: 'sk-upstream-secret',
  } as const
  const running = await startTestGateway(t, {
    models,
    config: { observe, providers: [{ name: 'openai', ...provider, models }] },
    bounds: { edge: { clientStallMs }, proxy: { idleMs } },
  })
  const { gateway, operator, account } = running
  const edge = await wireTo(t, gateway.url)
  const open = async (url: string, model: string): Promise<IncomingMessage> => {
    const asked = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    })
    asked.on('error', () => undefined)
    asked.end(chatBody(`openai/${model}`, true, 64))
    const [response] = await once(asked, 'response')
    response.on('error', () => undefined)
    return response
  }
  await once(await open(edge.url, 'flood'), 'data')
  edge.wire.freeze()
  const frozenMs = performance.now()
  await until(() => floods === 0)
  t.comment(`the client was given up after ${Math.round(performance.now() - frozenMs)} ms`)
  await until(async () => (await scrape(gateway.observeUrl)).value('gateway_streams_open') === 0)

  const left = await open(gateway.url, 'silent')
  const chunks = left.toArray()
  await until(async () => (await scrape(gateway.observeUrl)).value('gateway_streams_open') === 1)
  upstream.wire.freeze()
  t.match(Buffer.concat(await chunks).toString(), /"code":"upstream_timeout"/)
  await until(() => operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
  await checkCharges(t, { operator })
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.match(bills, [{ data: { outcome: 'client_gone' } }, { data: { outcome: 'interrupted' } }], 'what came is charged')
  const metrics = await scrape(gateway.observeUrl)
  t.equal(metrics.value('gateway_requests_total', { surface: 'chat', status: 'cut' }), 1)
  t.equal(metrics.value('gateway_requests_in_flight'), 0)
})

t.test('the connections to NATS and PostgreSQL go silent under load', async (t) => {
  const servers = await startExternalServers(t)
  const { direct, wire, throughWire } = servers
  const postgres = await wireTo(t, direct.databaseUrl!)
  const { gateway, operator, account } = await startTestGateway(t, {
    config: { observe, external: { ...throughWire, databaseUrl: postgres.url } },
    operatorConfig: { external: direct },
  })
  const clients = startClients(t, gateway.url, account.secret)
  await until(() => clients.journal.length > 30)
  await until(async () => (await healthAt(gateway.observeUrl, '/readyz')).httpStatus === 200)

  wire.freeze()
  const frozenMs = performance.now()
  const before = clients.journal.length
  await until(() => clients.journal.slice(before).some(({ status }) => status === 503))
  postgres.wire.freeze() // No transaction is open by now: only the server's own keep-alive would end that.
  // On a slow machine the log may be back before the database is missed.
  const missed = new Set<string>()
  let unacknowledgedSeconds = 0
  await until(async () => {
    for (const name of failing(await healthAt(gateway.observeUrl, '/readyz'))) missed.add(name)
    const seconds = (await scrape(gateway.observeUrl)).value('gateway_log_unacknowledged_seconds') ?? 0
    unacknowledgedSeconds = Math.max(unacknowledgedSeconds, seconds)
    return missed.has('log') && missed.has('database')
  })
  t.ok(unacknowledgedSeconds > 2, `${unacknowledgedSeconds} s without an acknowledgement`)

  await until(async () => (await healthAt(gateway.observeUrl, '/readyz')).httpStatus === 200)
  t.comment(`all is well again after ${Math.round(performance.now() - frozenMs)} ms`)
  const again = clients.journal.length
  await until(() => clients.journal.slice(again).filter(({ status }) => status === 200).length > 30)
  const journal = await clients.stop()
  t.same([...new Set(journal.map(({ status }) => status))].sort(), [200, 503])
  const longestMs = Math.max(...journal.map(({ tookMs }) => tookMs))
  t.ok(
    longestMs < sharedLimits.closingAckMs + sharedLimits.routedAckMs,
    `the longest request took ${Math.round(longestMs)} ms`,
  )
  const usage = await fetch(`${gateway.url}/v1/dashboard/billing/usage`, {
    headers: { authorization: `Bearer ${account.secret}` },
  })
  t.equal(usage.status, 200)
  await until(() => operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
  await checkCharges(t, { operator })
  const bills = (await operator.events()).flatMap((event) =>
    event.type === 'UsageRecorded' ? [event.data.requestId] : [],
  )
  t.equal(new Set(bills).size, bills.length, 'no charge is doubled')
  const answered = journal.filter(({ status }) => status === 200).map(({ requestId }) => requestId!)
  t.same(
    answered.filter((requestId) => !bills.includes(requestId)),
    [],
    'and none is lost',
  )
})
