import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { billOf } from '../../../support/bills.ts'
import { chatBody, until } from '../../../support/clients.ts'
import { startTestGateway } from '../../../support/gateway.ts'
import { beginStream, startHostileUpstream, wordsEvent } from '../../../support/hostile-upstream.ts'
import { scrape } from '../../../support/metrics.ts'

const idleMs = 1_000
const requestDeadlineMs = 10_000

/** Until its connection is closed; so it never ends by itself. */
const everyMs = async (response: ServerResponse, ms: number, text: () => string): Promise<void> => {
  while (!response.destroyed) {
    response.write(text())
    await pause(ms)
  }
}

const letters = (text: string): (() => string) => {
  let at = 0
  return () => text[at++ % text.length]!
}

const models = { trickle: 'trickle', endless: 'endless', comments: 'comments', silent: 'silent', whole: 'whole' }

t.test('streams and bodies that do not end: a deadline for silence, one for all', async (t) => {
  const begin = (response: ServerResponse): void => {
    beginStream(response)
    response.write(wordsEvent('one two three four five '))
  }
  const upstreamUrl = await startHostileUpstream(t, {
    trickle: async (response) => {
      begin(response)
      await everyMs(response, 50, letters(wordsEvent('x'.repeat(10_000))))
    },
    endless: async (response) => {
      begin(response)
      await everyMs(response, 20, () => wordsEvent('more '))
    },
    comments: async (response) => {
      begin(response)
      await everyMs(response, 50, () => ': still thinking\n\n')
    },
    silent: begin,
    whole: async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      await everyMs(response, 50, letters('{"id":"c","choices":[ '))
    },
  })
  const provider = { dialect: 'openai', profile: 'openai', baseUrl: upstreamUrl, apiKey: 'sk-upstream-secret' } as const
  const running = await startTestGateway(t, {
    models,
    config: {
      requestDeadlineMs,
      observe: { host: '127.0.0.1', port: 0 },
      providers: [{ name: 'openai', ...provider, models }],
    },
    bounds: { proxy: { idleMs } },
  })
  const { gateway, operator, account } = running
  const ask = async (model: string, stream: boolean) => {
    const askedMs = performance.now()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
      body: chatBody(`openai/${model}`, stream, 64),
    })
    const text = await response.text()
    const requestId = response.headers.get('x-gateway-request-id')
    return { status: response.status, text, requestId, tookMs: Math.round(performance.now() - askedMs) }
  }
  const [trickle, endless, comments, silent, whole] = await Promise.all([
    ask('trickle', true),
    ask('endless', true),
    ask('comments', true),
    ask('silent', true),
    ask('whole', false),
  ])
  for (const [name, seen] of Object.entries({ trickle, endless, comments, silent })) {
    t.equal(seen.status, 200)
    t.match(seen.text, /^data: .*one two three/, `${name}: what came was passed on`)
    t.match(seen.text, /"code":"upstream_timeout"/, 'and then an error event')
    const { outcome, source, usage, total } = await billOf(running, seen.requestId)
    t.match({ outcome, source }, { outcome: 'interrupted', source: 'estimated' })
    t.ok(usage.outputTotal >= 5 && Number(total) > 0, `charged for ${usage.outputTotal} tokens`)
    t.comment(`${name}: ended after ${seen.tookMs} ms`)
  }
  t.match(silent.text, /did not complete the answer in time/, 'silence is noticed before the deadline')
  t.match(whole, { status: 502, text: /"code":"upstream_timeout"/ })
  await until(() => operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
  const failed = (await operator.events()).filter(({ type }) => type === 'RequestFailed')
  t.match(failed, [{ data: { requestId: whole.requestId } }], 'a body of which nothing was given out is free')
  const metrics = await scrape(gateway.observeUrl)
  const errors = metrics.values('gateway_upstream_errors_total')
  t.comment('gateway_upstream_errors_total', errors)
  t.ok(errors['error=timeout,kind=answer,provider=openai']! >= 4, 'each stream is counted')
  t.equal(metrics.value('gateway_streams_open'), 0)
})
