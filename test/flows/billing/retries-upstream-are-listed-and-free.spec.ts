import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Event } from '../../../src/events/envelope.ts'
import type { RequestFailed, UsageRecorded } from '../../../src/events/types.ts'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { sheetOf } from '../../support/gateway.ts'
import {
  type Behaviour,
  beginStream,
  closingEvents,
  startHostileUpstream,
  wordsEvent,
} from '../../support/hostile-upstream.ts'
import { type Installation, installations } from '../../support/installations.ts'

const retryAfterMs = 1_000
const retries = { max: 2, budgetMs: 30_000 }

const answer = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'well' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
}

const refuse = (response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void => {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ error: { message: 'Not now.', type: 'error', code: null } }))
}

/** Counts its calls by model, and the answers that it would charge for. */
class Upstream {
  readonly calls = new Map<string, number>()
  served = 0

  readonly behaviours: Readonly<Record<string, Behaviour>> = {
    well: this.#counted('well', (response, stream) => this.#serve(response, stream)),
    recovers: this.#counted('recovers', (response, stream, call) =>
      call % 3 === 0 ? this.#serve(response, stream) : refuse(response, 429, { 'retry-after': '1' }),
    ),
    down: this.#counted('down', (response) => refuse(response, 503)),
    later: this.#counted('later', (response) => refuse(response, 429, { 'retry-after': '60' })),
    limited: this.#counted('limited', (response) => refuse(response, 429, { 'retry-after': '2' })),
    final: this.#counted('final', (response) => refuse(response, 503, { 'x-should-retry': 'false' })),
    refuses: this.#counted('refuses', (response) => refuse(response, 400)),
    breaks: this.#counted('breaks', (response, stream) => {
      if (!stream) return refuse(response, 503)
      beginStream(response)
      response.write(wordsEvent('one two three '), () => setTimeout(() => response.destroy(), 50))
    }),
  }

  #counted(model: string, behave: (response: ServerResponse, stream: boolean, call: number) => void): Behaviour {
    return (response, { stream }) => {
      const call = (this.calls.get(model) ?? 0) + 1
      this.calls.set(model, call)
      behave(response, stream, call)
    }
  }

  #serve(response: ServerResponse, stream: boolean): void {
    this.served += 1
    if (stream) {
      beginStream(response)
      response.end(wordsEvent('Well') + closingEvents(7, 3))
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }
}

const startRetrying = async (t: Test, upstream: Upstream, start: (typeof installations)[number]['start']) => {
  const models = Object.fromEntries([...Object.keys(upstream.behaviours), 'absent'].map((name) => [name, name]))
  const provider = { dialect: 'openai', profile: 'openai', apiKey: 'sk-upstream-secret', models } as const
  return start(t, {
    models,
    sheets: { 'grok/absent': sheetOf() },
    config: {
      providers: [
        { ...provider, name: 'openai', baseUrl: await startHostileUpstream(t, upstream.behaviours), retries },
        {
          ...provider,
          name: 'grok',
          baseUrl: 'http://127.0.0.1:1/v1',
          retries: { max: 5, models: { absent: { max: 1 } } },
        },
      ],
    },
  })
}

type End = UsageRecorded | RequestFailed

const isEnd = (event: Event): event is Extract<Event, { readonly data: End }> =>
  event.type === 'UsageRecorded' || event.type === 'RequestFailed'

const endOf = async ({ operator }: Installation, requestId: string | null): Promise<End> => {
  let found: End | undefined
  await until(async () => {
    found = (await operator.events()).filter(isEnd).find(({ data }) => data.requestId === requestId)?.data
    return found !== undefined
  })
  return found!
}

const failed = (status: number | null, reason: string) => ({ outcome: 'failed', status, reason })
const served = { outcome: 'served', status: 200, reason: null }
const usage = { promptTotal: 7, outputTotal: 3 }

for (const { name, start } of installations)
  t.test(`a candidate is called again, within its retries, before the next one (${name})`, async (t) => {
    const upstream = new Upstream()
    const installation = await startRetrying(t, upstream, start)
    const send = (chain: readonly string[], stream: boolean, signal: AbortSignal | null = null): Promise<Response> =>
      fetch(`${installation.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${installation.account.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: chain[0], models: chain, route: 'fallback', stream, max_tokens: 64 },
          messages: [{ role: 'user', content: 'Say a few words about money.' }],
        }),
        signal,
      })
    const ask = async (chain: readonly string[], stream: boolean) => {
      upstream.calls.clear()
      const response = await send(chain, stream)
      const text = await response.text()
      const end = await endOf(installation, response.headers.get('x-gateway-request-id'))
      return { response, text, end, attempts: end.attempts, calls: upstream.calls }
    }

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole'
      const askedMs = performance.now()
      const recovers = await ask(['openai/recovers', 'openai/well'], stream)
      t.ok(performance.now() - askedMs >= 2 * retryAfterMs - 2, `${how}: after what its Retry-After asks`)
      t.match(recovers.attempts, [failed(429, 'rate_limited'), failed(429, 'rate_limited'), served])
      t.match(recovers.end, { usage }, 'the answer alone is charged')
      t.same([...recovers.calls], [['recovers', 3]])
      t.equal(recovers.response.headers.get('x-gateway-fallback-level'), '0')

      const down = await ask(['openai/down', 'openai/well'], stream)
      t.match(down.attempts, [...Array.from({ length: 3 }, () => failed(503, 'status_503')), served])
      t.same(
        [...down.calls],
        [
          ['down', 3],
          ['well', 1],
        ],
        'the next candidate, once its retries are used up',
      )
      t.match(down.end, { usage })

      const later = await ask(['openai/later', 'openai/well'], stream)
      t.match(later.attempts, [failed(429, 'rate_limited'), served], 'not where it asks for more than their time')
      t.same(
        [...later.calls],
        [
          ['later', 1],
          ['well', 1],
        ],
      )

      const absent = await ask(['grok/absent', 'openai/well'], stream)
      t.match(absent.attempts, [failed(null, 'network'), failed(null, 'network'), served], 'its model has one retry')
      t.equal(absent.attempts.length, 3)

      const final = await ask(['openai/final', 'openai/well'], stream)
      t.match(final.attempts, [failed(503, 'status_503'), served], 'not where it tells that it would be in vain')

      const refuses = await ask(['openai/refuses'], stream)
      t.equal(refuses.response.status, 400)
      t.match(refuses.attempts, [failed(400, 'refused')])
      t.equal(refuses.attempts.length, 1, 'a request that is at fault is sent once')

      const limited = await ask(['openai/limited'], stream)
      t.equal(limited.response.status, 429)
      t.equal(limited.response.headers.get('retry-after'), '2')
      t.equal(limited.attempts.length, 3)
    }

    const breaks = await ask(['openai/breaks', 'openai/well'], true)
    t.match(breaks.text, /one two three .*"error"/s)
    t.same([...breaks.calls], [['breaks', 1]], 'never after a byte is out')

    for (const stream of [false, true]) {
      upstream.calls.clear()
      const client = new AbortController()
      const before = new Set((await installation.operator.events()).filter(isEnd).map(({ data }) => data.requestId))
      send(['openai/limited'], stream, client.signal).catch(() => undefined)
      await until(() => upstream.calls.get('limited') === 1)
      client.abort()
      let end: End | undefined
      await until(async () => {
        const ends = (await installation.operator.events()).filter(isEnd)
        end = ends.find(({ data }) => !before.has(data.requestId))?.data
        return end !== undefined
      })
      t.equal(end!.attempts.length, 1, 'nothing is repeated for a client that has left')
      t.same([...upstream.calls], [['limited', 1]])
    }

    await until(() => installation.operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
    await checkCharges(t, installation)
    const bills = (await installation.operator.events()).filter(({ type }) => type === 'UsageRecorded')
    t.equal(bills.length, upstream.served + 1, 'as many bills as the upstream counts answers, and what broke off')
  })
