import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Config } from '../../../src/config/config.ts'
import { billOf } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { type Operator, sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { beginStream, closingEvents, startHostileUpstream, wordsEvent } from '../../support/hostile-upstream.ts'
import { scrape } from '../../support/metrics.ts'
import { namedEvent } from '../../support/scripted-upstream.ts'

const text = 'one two three'
const promptTokens = 12
/** Of which three are seen. */
const outputTokens = 800_000
/** 1 USD per million tokens in, 2 out. */
const reportedUsd = '1.600012'

type Surface = 'chat' | 'messages' | 'responses'

interface Script {
  readonly body: object
  readonly path: string
  /** All that the client reads. */
  readonly said: string
  readonly usage: string
}

const [stopEvent, ...chatEnd] = closingEvents(promptTokens, outputTokens).split('\n\n')
const usage = { input_tokens: promptTokens, output_tokens: outputTokens }
const message = { type: 'message', content: [{ type: 'output_text', text }] }

const scripts: Readonly<Record<Surface, Script>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: text }] },
    said: `${wordsEvent(text)}${stopEvent}\n\n`,
    usage: chatEnd.join('\n\n'),
  },
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 1_000, messages: [{ role: 'user', content: text }] },
    said: [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: promptTokens, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
    ]
      .map(namedEvent)
      .join(''),
    usage:
      namedEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }) +
      namedEvent({ type: 'message_stop' }),
  },
  responses: {
    path: '/v1/responses',
    body: { input: text },
    said: [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.added', output_index: 0, item: message },
      { type: 'response.output_text.delta', output_index: 0, delta: text },
      { type: 'response.output_item.done', output_index: 0, item: message },
    ]
      .map(namedEvent)
      .join(''),
    usage: namedEvent({ type: 'response.completed', response: { id: 'resp_1', usage } }),
  },
}

const surfaces = ['chat', 'messages', 'responses'] as const
const providers = { chat: 'openai', messages: 'anthropic', responses: 'openai' } as const

interface Leaving extends TestGateway {
  /** Asks, and resolves with the head of the answer. */
  readonly open: (surface: Surface) => Promise<IncomingMessage>
  /** No client is there any more. */
  readonly haveLeft: () => Promise<void>
  /** The upstream goes on with the answers that it has not ended. */
  readonly goOn: () => void
}

const start = async (t: Test, closingUsageMs: number, config: Partial<Config> = {}): Promise<Leaving> => {
  const waiting: (() => void)[] = []
  const behaviours = Object.fromEntries(
    surfaces.map((surface) => [
      surface,
      (response: ServerResponse): void => {
        beginStream(response)
        response.write(scripts[surface].said)
        waiting.push(() => response.end(scripts[surface].usage))
      },
    ]),
  )
  const baseUrl = await startHostileUpstream(t, behaviours)
  const models = Object.fromEntries(surfaces.map((surface) => [surface, surface]))
  const running = await startTestGateway(t, {
    models,
    sheets: { 'anthropic/messages': sheetOf() },
    config: {
      observe: { host: '127.0.0.1', port: 0 },
      providers: (['openai', 'anthropic'] as const).map((name) => {
        return { name, dialect: name, profile: 'openai', baseUrl, apiKey: 'sk-upstream-secret', models }
      }),
      ...config,
    },
    bounds: { proxy: { closingUsageMs } },
  })
  const { gateway, account } = running
  const open = async (surface: Surface): Promise<IncomingMessage> => {
    const { path, body } = scripts[surface]
    const asked = request(gateway.url + path, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${account.secret}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
    })
    asked.on('error', () => undefined)
    asked.end(JSON.stringify({ ...body, model: `${providers[surface]}/${surface}`, stream: true }))
    const [response] = await once(asked, 'response')
    t.equal(response.statusCode, 200)
    return response
  }
  // The key is in the log; the edge may not have read it yet.
  const headers = { authorization: `Bearer ${account.secret}` }
  await until(async () => (await fetch(`${gateway.url}/v1/ledger/holds`, { headers })).status === 200)
  const haveLeft = (): Promise<void> =>
    until(async () => (await scrape(gateway.observeUrl)).value('gateway_streams_open') === 0)
  const goOn = (): void => {
    for (const end of waiting.splice(0)) end()
  }
  return { ...running, open, haveLeft, goOn }
}

/** Reads until all is there that is said before the usage, and leaves. */
const readAndLeave = async (response: IncomingMessage, surface: Surface): Promise<void> => {
  const [last] = scripts[surface].said.split('\n\n').slice(-2)
  let seen = ''
  for await (const chunk of response) {
    seen += chunk
    if (seen.includes(last!)) break // Closes the connection.
  }
}

const requestIdOf = ({ headers }: IncomingMessage): string => String(headers['x-gateway-request-id'])

const nothingIsHeld = (operator: Operator): Promise<void> =>
  until(() => operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)

t.test('clients that read all of the text and leave before the usage comes', async (t) => {
  const running = await start(t, 30_000)
  for (const surface of surfaces) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => running.open(surface)))
    await Promise.all(answers.map((answer) => readAndLeave(answer, surface)))
    await running.haveLeft()
    running.goOn()
    for (const answer of answers)
      t.match(await billOf(running, requestIdOf(answer)), {
        outcome: 'client_gone',
        source: 'reported',
        total: reportedUsd,
        usage: { outputTotal: outputTokens },
      })
  }
  for (const surface of surfaces) {
    const unread = await running.open(surface)
    unread.destroy()
    await running.haveLeft()
    running.goOn()
    t.match(await billOf(running, requestIdOf(unread)), { source: 'reported', total: reportedUsd }, 'nor reads it')
  }
  await nothingIsHeld(running.operator)
})

const estimated = { outcome: 'client_gone', source: 'estimated', usage: { outputTotal: 3 } }

t.test('an upstream that stays silent is cut at the bound', async (t) => {
  const running = await start(t, 300)
  for (const surface of surfaces) {
    const answer = await running.open(surface)
    await readAndLeave(answer, surface)
    t.match(await billOf(running, requestIdOf(answer)), estimated)
  }
  await nothingIsHeld(running.operator)
})

t.test('a gateway that stops cuts it, too', async (t) => {
  const { direct } = await startExternalServers(t)
  const running = await start(t, 60_000, { external: direct, drainMs: 200 })
  for (const surface of surfaces) await readAndLeave(await running.open(surface), surface)
  await running.haveLeft()
  const stoppedMs = performance.now()
  await running.gateway.stop()
  t.ok(performance.now() - stoppedMs < 30_000, 'before its bound')
  const bills = (await running.operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.match(
    bills.map(({ data }) => data),
    surfaces.map(() => estimated),
  )
  await running.operator.caughtUp()
  await nothingIsHeld(running.operator)
})
