import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Config } from '../../../src/config/config.ts'
import type { ProviderConfig } from '../../../src/config/providers.ts'
import { billOf } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { sheetOf, startTestGateway, type TestOptions } from '../../support/gateway.ts'
import { beginStream, closingEvents, startHostileUpstream, wordsEvent } from '../../support/hostile-upstream.ts'
import { askKeyed, type KeyedAnswer } from '../../support/keyed.ts'
import { scrape } from '../../support/metrics.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { namedEvent } from '../../support/scripted-upstream.ts'
import { openKnownAccount } from '../../support/video.ts'

type Surface = 'chat' | 'messages' | 'responses'

interface Script {
  readonly path: string
  readonly body: object
  readonly begin: string
  readonly words: (text: string) => string
  readonly end: string
}

const usage = { input_tokens: 12, output_tokens: 30 }
/** 1 USD per million tokens in, 2 out. */
const reportedUsd = '0.000072'
const start = { type: 'message_start', message: { id: 'msg_1', usage: { ...usage, output_tokens: 1 } } }
const item = { type: 'message', content: [{ type: 'output_text', text: '' }] }

const scripts: Readonly<Record<Surface, Script>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'Count.' }] },
    begin: '',
    words: wordsEvent,
    end: closingEvents(usage.input_tokens, usage.output_tokens),
  },
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 1_000, messages: [{ role: 'user', content: 'Count.' }] },
    begin: [start, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }]
      .map(namedEvent)
      .join(''),
    words: (text) => namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    end: [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ]
      .map(namedEvent)
      .join(''),
  },
  responses: {
    path: '/v1/responses',
    body: { input: 'Count.' },
    begin: [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.added', output_index: 0, item },
    ]
      .map(namedEvent)
      .join(''),
    words: (delta) => namedEvent({ type: 'response.output_text.delta', output_index: 0, delta }),
    end: [
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_1', usage } },
    ]
      .map(namedEvent)
      .join(''),
  },
}

const surfaces = ['chat', 'messages', 'responses'] as const
const dialects = { chat: 'openai', messages: 'anthropic', responses: 'openai' } as const

interface Upstream {
  readonly url: string
  /** How many requests have come, those that it holds back included. */
  readonly calls: () => number
  /** Goes on with what it holds back: the rest of a stream, or all of one. */
  readonly goOn: (rest?: string) => void
}

/** Begins a stream and holds back its end; of the models that are `late`, also its begin. */
const startUpstream = async (t: Test): Promise<Upstream> => {
  const held: ((rest: string) => void)[] = []
  let calls = 0
  const behaviourOf = (surface: Surface, isLate: boolean) => (response: ServerResponse) => {
    const { begin, words, end } = scripts[surface]
    const first = begin + words('one')
    calls += 1
    if (!isLate) {
      beginStream(response)
      response.write(first)
    }
    held.push((rest) => {
      if (isLate) beginStream(response)
      response.end(`${isLate ? first : ''}${words(rest)}${end}`)
    })
  }
  const behaviours = Object.fromEntries(
    surfaces.flatMap((surface) => [
      [surface, behaviourOf(surface, false)],
      [`late-${surface}`, behaviourOf(surface, true)],
    ]),
  )
  const url = await startHostileUpstream(t, behaviours)
  const goOn = (rest = ' two three'): void => {
    for (const each of held.splice(0)) each(rest)
  }
  return { url, calls: () => calls, goOn }
}

interface Bench {
  readonly upstream: Upstream
  readonly url: string
  readonly secret: string
  readonly running: Parameters<typeof billOf>[0]
  /** No client is there any more. */
  readonly haveLeft: () => Promise<void>
}

const layouts = ['together', 'apart'] as const

const startTogether = async (t: Test, options: TestOptions) => {
  const running = await startTestGateway(t, options)
  const { url, observeUrl } = running.gateway
  return { running, url, observeUrl }
}

const startApart = async (t: Test, options: TestOptions) => {
  const { direct } = await startExternalServers(t)
  const running = await startRolesTogether(t, { external: direct, ...options })
  const { url, observeUrl = null } = running.processes.find(({ role }) => role === 'edge') ?? {}
  return { running, url: url ?? '', observeUrl }
}

const startBench = async (
  t: Test,
  layout: (typeof layouts)[number],
  provider: Pick<ProviderConfig, 'drainMs'> = {},
): Promise<Bench> => {
  const upstream = await startUpstream(t)
  const models = Object.fromEntries(
    surfaces.flatMap((surface) => [surface, `late-${surface}`]).map((name) => [name, name]),
  )
  const config: Partial<Config> = {
    observe: { host: '127.0.0.1', port: 0 },
    providers: (['openai', 'anthropic'] as const).map((name) => ({
      name,
      dialect: name,
      profile: 'openai',
      baseUrl: upstream.url,
      apiKey: 'sk-upstream-secret',
      models,
      cancelStopsBilling: false,
      ...provider,
    })),
  }
  const sheets = {
    'openai/chat': sheetOf({ max_output_tokens: 1_000_000 }),
    'anthropic/messages': sheetOf(),
    'anthropic/late-messages': sheetOf(),
  }
  const { running, url, observeUrl } =
    layout === 'together'
      ? await startTogether(t, { models, sheets, config })
      : await startApart(t, { models, sheets, config })
  const haveLeft = (): Promise<void> =>
    until(async () => (await scrape(observeUrl)).value('gateway_requests_in_flight') === 0)
  return { upstream, running, url, haveLeft, secret: await openKnownAccount(running.operator, [url], 'keyed', '10') }
}

const bodyOf = (surface: Surface, model: string = surface): string =>
  JSON.stringify({ ...scripts[surface].body, model: `${dialects[surface]}/${model}`, stream: true })

const openKeyed = ({ url, secret }: Bench, surface: Surface, key: string, body = bodyOf(surface)) => {
  const asked = request(url + scripts[surface].path, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'idempotency-key': key,
    },
  })
  asked.on('error', () => undefined)
  asked.end(body)
  return asked
}

const readUntil = async (response: IncomingMessage, last: string): Promise<string> => {
  let seen = ''
  for await (const chunk of response) {
    seen += chunk
    if (seen.includes(last)) break // Closes the connection.
  }
  return seen
}

/** Asks again until the first request with the key has ended. */
const repeat = async ({ url, secret }: Bench, surface: Surface, key: string, body = bodyOf(surface)) => {
  const { path } = scripts[surface]
  let answer: KeyedAnswer | null = null
  await until(async () => {
    answer = await askKeyed({ url, secret, key, path, body })
    return answer !== null && answer.code !== 'idempotency_key_in_use'
  })
  return answer as KeyedAnswer | null
}

/** What differs between two answers to the same question. */
const withoutIds = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')
    .replace(/"created":\d+/g, '"created":0')
    .replaceAll('late-', '')

const readWhole = async (bench: Bench, surface: Surface): Promise<string> => {
  const asked = openKeyed(bench, surface, `whole ${surface}`)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  bench.upstream.goOn()
  return readUntil(response, 'never')
}

for (const layout of layouts)
  t.test(`edge and proxy ${layout}`, async (t) => {
    const bench = await startBench(t, layout)
    for (const surface of surfaces)
      t.test(`${surface}: left after its first words, and before its head`, async (t) => {
        const whole = await readWhole(bench, surface)
        const ways = [
          { key: `words ${surface}`, body: bodyOf(surface) },
          { key: `head ${surface}`, body: bodyOf(surface, `late-${surface}`) },
        ]
        for (const { key, body } of ways) {
          const calls = bench.upstream.calls()
          const asked = openKeyed(bench, surface, key, body)
          let seen = ''
          if (key.startsWith('head')) {
            await until(() => bench.upstream.calls() > calls)
            asked.destroy()
          } else {
            const [response] = (await once(asked, 'response')) as [IncomingMessage]
            seen = await readUntil(response, 'one')
          }
          await bench.haveLeft()
          const early = await askKeyed({ ...bench, key, path: scripts[surface].path, body })
          t.match(early, { status: 409, code: 'idempotency_key_in_use', shouldRetry: 'true' })
          bench.upstream.goOn()
          const again = await repeat(bench, surface, key, body)
          t.match(again, { status: 200, isReplayed: true }, key)
          t.ok(again?.text.startsWith(seen), 'it begins with what was seen')
          t.equal(withoutIds(again?.text ?? ''), withoutIds(whole), 'all of its bytes')
          t.equal(bench.upstream.calls(), calls + 1, 'the upstream was asked once')
          t.match(await billOf(bench.running, again?.originalId), {
            outcome: 'client_gone',
            source: 'reported',
            total: reportedUsd,
          })
        }
      })
    t.test('a stream that is too large is not kept', async (t) => {
      const asked = openKeyed(bench, 'chat', 'large')
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      await readUntil(response, 'one')
      await bench.haveLeft()
      bench.upstream.goOn(' two'.repeat(200_000))
      const again = await repeat(bench, 'chat', 'large')
      t.match(again, { status: 409, code: 'idempotency_outcome_not_kept', shouldRetry: 'false' })
      t.match(await billOf(bench.running, again?.originalId), { source: 'reported', total: reportedUsd })
    })
  })

for (const layout of layouts)
  t.test(`a stream whose bound ends it is not kept, edge and proxy ${layout}`, async (t) => {
    const bench = await startBench(t, layout, { drainMs: 200 })
    const asked = openKeyed(bench, 'chat', 'bound')
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    await readUntil(response, 'one')
    const again = await repeat(bench, 'chat', 'bound')
    t.match(again, { status: 409, code: 'idempotency_outcome_not_kept', shouldRetry: 'false' })
    t.equal(bench.upstream.calls(), 1)
  })
