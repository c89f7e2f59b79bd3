import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { orderByAffinity } from '../../../src/domain/routing/deployments.ts'
import type { Deployment, Provider } from '../../../src/providers/dialect/provider.ts'
import { makerOf, markOf } from '../../../src/providers/dialect/provider-mark.ts'
import { cancelAtOnce } from '../../../src/roles/dispatch.ts'
import { DeploymentTurns } from '../../../src/roles/proxy/deployment-turns.ts'
import { Deployments } from '../../../src/roles/proxy/deployments.ts'
import { noObserver } from '../../../src/runtime/observer.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { type Bench, callOf, hear, startBench, stay } from './forwarding.ts'

const answer = (response: ServerResponse, tokens = 10, cached = 0): void => {
  const message = { role: 'assistant', content: 'one two three', refusal: null }
  const prompt_tokens_details = { cached_tokens: cached }
  const usage = { prompt_tokens: tokens - 3, completion_tokens: 3, total_tokens: tokens, prompt_tokens_details }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
}

interface Upstream {
  readonly calls: { readonly key: string; readonly model: string; readonly body: string }[]
  behave: (response: ServerResponse, body: string) => void
}

/** A server of the deployment's own, which does as it is told from call to call. */
const startUpstream = async (t: Test) => {
  const upstream: Upstream = { calls: [], behave: (response) => answer(response) }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { model } = JSON.parse(body) as { readonly model: string }
    upstream.calls.push({ key: request.headers.authorization ?? '', model, body })
    upstream.behave(response, body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { upstream, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

const names = ['east', 'west', 'north'] as const
type Name = (typeof names)[number]

interface Divided {
  readonly bench: Bench
  readonly upstreams: { readonly [N in Name]: Upstream }
  /** In the order of the workspace `acme` for the model `openai/a`. */
  readonly order: readonly [Name, Name, Name]
  advance(ms: number): void
}

const startDivided = async (
  t: Test,
  more: { readonly [N in Name]?: Partial<Omit<Deployment, 'name' | 'provider'>> } = {},
  sharers = 1,
): Promise<Divided> => {
  const started = await Promise.all(names.map(async (name) => ({ name, ...(await startUpstream(t)) })))
  const deployments = started.map(({ name, baseUrl }) => ({
    ...{ name, weight: 1, ...more[name] },
    provider: {
      ...({ name: 'openai', deployment: name, dialect: 'openai', profile: 'openai' } as const),
      ...{ baseUrl, apiKey: `sk-key-of-${name}` },
    },
  }))
  let nowMs = Date.now()
  const bench = await startBench(t, { deployments, sharers, clock: () => nowMs })
  const [first, second, third] = orderByAffinity(deployments, 'acme openai/a').map(({ name }) => name)
  return {
    bench,
    upstreams: Object.fromEntries(started.map(({ name, upstream }) => [name, upstream])) as Divided['upstreams'],
    order: [first!, second!, third!],
    advance: (ms) => {
      nowMs += ms
    },
  }
}

const ask = async ({ bench }: Divided, call: Parameters<typeof callOf>[1] = {}) => {
  const heard = await hear(bench.dispatch(callOf('openai/a', { deadlineMs: Date.now() + 3_600_000, ...call }), stay()))
  await bench.inFlight.idle()
  const end = bench.log.events.at(-1)
  const attempts = end?.type === 'UsageRecorded' || end?.type === 'RequestFailed' ? end.data.attempts : []
  return { ...heard, end, attempts }
}

const callsOf = ({ upstreams }: Divided): { readonly [N in Name]: number } => ({
  east: upstreams.east.calls.length,
  west: upstreams.west.calls.length,
  north: upstreams.north.calls.length,
})

t.test('a workspace stays with one deployment, whose key is used and whose name is billed', async (t) => {
  const divided = await startDivided(t)
  const [home] = divided.order
  for (let call = 0; call < 5; call += 1)
    t.match((await ask(divided)).attempts, [{ outcome: 'served', deployment: home }])
  t.same(callsOf(divided), { east: 0, west: 0, north: 0, [home]: 5 })
  t.match(divided.upstreams[home].calls, [{ key: `Bearer sk-key-of-${home}` }])
  t.notMatch(JSON.stringify(divided.bench.log.events), /sk-key/)
})

t.test('one that fails is followed by the next at once, is left alone, and comes back by a probe', async (t) => {
  const divided = await startDivided(t)
  const { upstreams, order, bench } = divided
  const [home, next] = order
  upstreams[home].behave = (response) => void response.destroy()
  for (let call = 0; call < 3; call += 1) {
    const { error, attempts } = await ask(divided)
    t.equal(error, null)
    t.match(attempts, [
      { outcome: 'failed', deployment: home },
      { outcome: 'served', deployment: next },
    ])
  }
  for (let call = 0; call < 4; call += 1) t.match((await ask(divided)).attempts, [{ deployment: next }])
  t.equal(upstreams[home].calls.length, 3, 'no call while it is ejected')
  t.match(bench.lines.at(-1), {
    event: 'upstream.deployment_ejected',
    fields: { provider: 'openai', deployment: home, model: 'openai/a', reason: 'failed', seconds: 5 },
  })
  divided.advance(5_000)
  t.match((await ask(divided)).attempts, [{ outcome: 'failed', deployment: home }, { deployment: next }], 'a probe')
  t.match((await ask(divided)).attempts, [{ deployment: next }], 'that failed')
  divided.advance(10_000)
  upstreams[home].behave = (response) => answer(response)
  t.match((await ask(divided)).attempts, [{ outcome: 'served', deployment: home }], 'another is answered')
  t.match(bench.lines.at(-1), { event: 'upstream.deployment_returned', fields: { deployment: home } })
  t.match((await ask(divided)).attempts, [{ deployment: home }])
})

t.test('a rate limit moves its requests on for as long as Retry-After says', async (t) => {
  const divided = await startDivided(t)
  const { upstreams, order } = divided
  const [home, next] = order
  const limit = (response: ServerResponse): void => void response.writeHead(429, { 'retry-after': '30' }).end('{}')
  upstreams[home].behave = limit
  t.match((await ask(divided)).attempts, [{ status: 429, deployment: home }, { deployment: next }])
  upstreams[home].behave = (response) => answer(response)
  divided.advance(29_000)
  t.match((await ask(divided)).attempts, [{ deployment: next }])
  divided.advance(1_000)
  t.match((await ask(divided)).attempts, [{ deployment: home }])
  for (const name of names) upstreams[name].behave = limit
  const { error, attempts } = await ask(divided)
  t.match([error?.status, error?.retryAfterSeconds, attempts.length], [429, 30, 3])
  const again = await ask(divided)
  t.match([again.error?.status, again.error?.retryAfterSeconds], [429, 30])
  t.match(again.attempts, [{ reason: 'rate_limited', status: null }], 'none is called before its time')
})

t.test("a rate limit that one workspace meets is no other workspace's, until another meets it too", async (t) => {
  const divided = await startDivided(t)
  const { upstreams } = divided
  const limit = (response: ServerResponse): void => void response.writeHead(429, { 'retry-after': '30' }).end('{}')
  for (const name of names) upstreams[name].behave = limit
  t.equal((await ask(divided, { workspaceId: 'large' })).error?.status, 429)
  for (const name of names) upstreams[name].behave = (response) => answer(response)
  t.equal((await ask(divided, { workspaceId: 'large' })).attempts[0]?.status, null, 'it is not called for the first')
  t.equal((await ask(divided, { workspaceId: 'other' })).error, null)
  for (const name of names) upstreams[name].behave = limit
  t.equal((await ask(divided, { workspaceId: 'other' })).error?.status, 429)
  for (const name of names) upstreams[name].behave = (response) => answer(response)
  t.equal((await ask(divided, { workspaceId: 'third' })).error?.status, 429, 'it is for all')
  divided.advance(30_000)
  for (const workspaceId of ['large', 'other', 'third']) t.equal((await ask(divided, { workspaceId })).error, null)
})

t.test('an account is refused at once by a status or a code, and by a text after three', async (t) => {
  const answers = (response: ServerResponse, error: object): void =>
    void response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  const byText = { message: 'Your credit balance is too low to access the API.', type: 'invalid_request_error' }
  const byCode = { message: 'No.', type: 'invalid_request_error', code: 'billing_not_active' }
  for (const [error, calls, reason] of [[byText, 3, 'failed'] as const, [byCode, 1, 'account'] as const]) {
    const divided = await startDivided(t)
    const [home, next] = divided.order
    divided.upstreams[home].behave = (response) => answers(response, error)
    for (let call = 0; call < 4; call += 1) t.match((await ask(divided)).attempts.at(-1), { deployment: next })
    t.equal(divided.upstreams[home].calls.length, calls)
    t.match(divided.bench.lines.at(-1), { event: 'upstream.deployment_ejected', fields: { deployment: home, reason } })
  }
})

t.test('a request that is at fault is sent to one alone', async (t) => {
  const divided = await startDivided(t)
  for (const name of names)
    divided.upstreams[name].behave = (response) =>
      void response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  for (let call = 0; call < 5; call += 1) t.equal((await ask(divided)).error?.status, 400)
  t.same(callsOf(divided), { east: 0, west: 0, north: 0, [divided.order[0]]: 5 })
})

t.test('limits a minute: what is beyond goes to the next, and then waits', async (t) => {
  const limits = { requestsPerMinute: 30 }
  const divided = await startDivided(t, { east: limits, west: limits, north: limits })
  const [home, next, last] = divided.order
  const served: unknown[] = []
  for (let call = 0; call < 3; call += 1) served.push((await ask(divided)).attempts.at(-1)?.deployment)
  t.same(served, [home, next, last])
  const { error, attempts } = await ask(divided)
  t.match([error?.status, attempts.length], [429, 1])
  divided.advance(2_000)
  t.match((await ask(divided)).attempts, [{ deployment: home }])
})

const answeredIn = async (divided: Divided, seconds: number, hogAsks: number) => {
  const answered = { hog: 0, other: 0 }
  for (let second = 0; second < seconds; second += 1) {
    for (let call = 0; call < hogAsks; call += 1)
      if ((await ask(divided, { workspaceId: 'hog' })).error === null) answered.hog += 1
    if ((await ask(divided, { workspaceId: 'other' })).error === null) answered.other += 1
    divided.advance(1_000)
  }
  return answered
}

t.test('a limit a minute is divided among the workspaces that ask', async (t) => {
  const limits = { requestsPerMinute: 30 }
  const divided = await startDivided(t, { east: limits, west: { models: {} }, north: { models: {} } })
  const alone = await answeredIn(divided, 60, 3)
  t.ok(alone.hog + alone.other <= 32, 'the limit holds')
  const { hog, other } = await answeredIn(divided, 120, 3)
  t.comment(`hog ${hog}, other ${other}`)
  t.ok(hog + other <= 62)
  t.ok(other >= 20, 'a third of the limit, which is its share while one more may come')
  t.ok(hog >= 20)
  t.equal(divided.upstreams.east.calls.length, alone.hog + alone.other + hog + other)
})

t.test('of a large limit a workspace has its share within seconds', async (t) => {
  const divided = await startDivided(t, {
    east: { requestsPerMinute: 600 },
    west: { models: {} },
    north: { models: {} },
  })
  const { hog, other } = await answeredIn(divided, 10, 30)
  t.comment(`hog ${hog}, other ${other}`)
  t.equal(other, 10, 'also before the hog has had its share')
  t.ok(hog + other >= 80 && hog + other <= 121, 'most of the limit is used, and not more')
})

t.test('of several processes each has an equal part of a limit', async (t) => {
  const others = { west: { models: {} }, north: { models: {} } }
  const divided = await startDivided(t, { east: { requestsPerMinute: 600 }, ...others }, 4)
  const { hog, other } = await answeredIn(divided, 10, 30)
  t.comment(`hog ${hog}, other ${other}`)
  t.ok(hog + other >= 20 && hog + other <= 31, 'of 100 in 10 s, and a burst of 20')
  const small = await startDivided(t, { east: { requestsPerMinute: 2 }, ...others }, 4)
  t.equal((await ask(small)).error, null)
  small.advance(119_000)
  t.equal((await ask(small)).error?.status, 429)
  small.advance(1_000)
  t.equal((await ask(small)).error, null)
})

t.test('tokens count when an answer has ended', async (t) => {
  const divided = await startDivided(t)
  const [home] = divided.order
  const limited = await startDivided(t, { [home]: { tokensPerMinute: 300 } })
  limited.upstreams[home].behave = (response) => answer(response, 310)
  t.match((await ask(limited)).attempts, [{ deployment: home }])
  t.notMatch((await ask(limited)).attempts, [{ deployment: home }])
  limited.advance(61_000)
  t.match((await ask(limited)).attempts, [{ deployment: home }])
})

t.test('one that lists models serves these alone, under their names there', async (t) => {
  const others = { b: 'b-upstream' }
  const divided = await startDivided(t, {
    east: { models: others },
    west: { models: { a: 'a-west' } },
    north: { models: others },
  })
  for (let call = 0; call < 3; call += 1) t.match((await ask(divided)).attempts, [{ deployment: 'west' }])
  t.match(divided.upstreams.west.calls, [{ model: 'a-west' }])
  const none = await startDivided(t, { east: { models: {} }, west: { models: {} }, north: { models: {} } })
  t.match(await ask(none), { error: { code: 'model_not_found' }, attempts: [{ outcome: 'passed_over' }] })
})

t.test('hidden state goes to the deployment that made it for models of its family, and to no other', async (t) => {
  const divided = await startDivided(t)
  const [home, , last] = divided.order
  const item = (maker: string) => ({ type: 'reasoning', summary: [], encrypted_content: `${markOf(maker)}AbC=` })
  const made = (deployment: string, upstreamModel: string): object => {
    const provider = { name: 'openai', deployment, baseUrl: 'http://127.0.0.1/v1' }
    return item(makerOf({ provider, model: 'openai/a', upstreamModel }))
  }
  const input = [made(last, 'a'), made(home, 'claude'), { role: 'user', content: 'go on' }]
  const call = { surface: 'responses', body: { model: 'openai/a', input } } as const
  for (const name of names) divided.upstreams[name].behave = (response) => void response.writeHead(503).end()
  const { attempts } = await ask(divided, call)
  t.match(attempts, [{ deployment: last }, { deployment: home }, {}])
  t.match(divided.upstreams[last].calls[0]?.body, /"encrypted_content":"AbC="/)
  t.notMatch(divided.upstreams[home].calls[0]?.body, /AbC=/, 'another is called without it')
})

t.test('what continues a stored response is called at its keeper alone', async (t) => {
  const divided = await startDivided(t)
  const [, , keeper] = divided.order
  const [candidate] = callOf('openai/a').candidates
  const at = (deployment: string) => ({ candidates: [{ ...candidate!, deployment }] })
  t.match((await ask(divided, at(keeper))).attempts, [{ outcome: 'served', deployment: keeper }])
  divided.upstreams[keeper].behave = (response) => void response.destroy()
  for (let call = 0; call < 4; call += 1) t.equal((await ask(divided, at(keeper))).attempts.length, 1)
  const gone = await ask(divided, at('south'))
  t.match(gone.error, { code: 'invalid_value', message: /`south`, which is not configured any more/ })
})

t.test('one probe at a time, also where the client leaves', async (t) => {
  const divided = await startDivided(t)
  const { upstreams, order, bench } = divided
  const [home, next] = order
  upstreams[home].behave = (response) => void response.destroy()
  for (let call = 0; call < 3; call += 1) await ask(divided)
  divided.advance(5_000)
  const held: ServerResponse[] = []
  upstreams[home].behave = (response) => void held.push(response)
  const leaving = new AbortController()
  const call = callOf('openai/a', { stream: true, deadlineMs: Date.now() + 3_600_000 })
  const probing = hear(bench.dispatch(call, leaving.signal))
  while (held.length === 0) await new Promise(setImmediate)
  const beside = await hear(bench.dispatch(callOf('openai/a', { deadlineMs: Date.now() + 3_600_000 }), stay()))
  t.equal(beside.error, null)
  t.same([upstreams[home].calls.length, upstreams[next].calls.length], [4, 4])
  leaving.abort(cancelAtOnce)
  await probing
  await bench.inFlight.idle()
  upstreams[home].behave = (response) => answer(response)
  t.match(
    (await ask(divided)).attempts,
    [{ outcome: 'served', deployment: home }],
    'nothing was learned: the next probes',
  )
})

/** What of 1,000 tokens a provider's deployment has cached: the prompts that it has read itself. */
const cachePrompts = (upstream: Upstream): void => {
  const known = new Set<string>()
  upstream.behave = (response, body) => {
    const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly content: string }[] }
    const prefix = messages[0]?.content ?? ''
    answer(response, 1_003, known.has(prefix) ? 1_000 : 0)
    known.add(prefix)
  }
}

const cachedTokens = async (divided: Divided): Promise<number> => {
  for (const name of names) cachePrompts(divided.upstreams[name])
  for (let turn = 0; turn < 5; turn += 1)
    for (let at = 0; at < 40; at += 1) {
      const messages = [{ role: 'system', content: `The rules of workspace ${at}.` }]
      await hear(
        divided.bench.dispatch(callOf('openai/a', { workspaceId: `w${at}`, body: { model: 'm', messages } }), stay()),
      )
    }
  await divided.bench.inFlight.idle()
  return divided.bench.log.events.reduce(
    (sum, event) => sum + (event.type === 'UsageRecorded' ? event.data.usage.cacheRead : 0),
    0,
  )
}

t.test('prompt caches stay as warm with three deployments as with one', async (t) => {
  const three = await startDivided(t)
  const one = await startDivided(t, { west: { models: {} }, north: { models: {} } })
  const [ofThree, ofOne] = [await cachedTokens(three), await cachedTokens(one)]
  const calls = callsOf(three)
  t.ok(Math.min(...Object.values(calls)) > 0, `each has a part: ${JSON.stringify(calls)}`)
  t.equal(ofOne, 4 * 40 * 1_000)
  t.ok(ofThree >= 0.95 * ofOne, `${ofThree} of ${ofOne} cached tokens`)
})

t.test('what is ejected is listed until its time is over, or its key was replaced', (t) => {
  let nowMs = 0
  const clock = (): number => nowMs
  const deployments = new Deployments({ clock, steadyClock: clock, logger: recordingLogger([]), observer: noObserver })
  const named = (name: string): Deployment => ({ name, weight: 1, provider: { name: 'openai' } as Provider })
  const [east, west, north] = [named('east'), named('west'), named('north')]
  const list = (...current: readonly Deployment[]) =>
    deployments.ejections(new Map([['openai', { ...east.provider, deployments: current }]]))
  deployments.note(east, 'openai/a', { type: 'failed', reason: 'limited', retryAfterMs: 7_000 })
  deployments.note(west, 'openai/a', { type: 'failed', reason: 'failed', retryAfterMs: null })
  deployments.note(north, 'openai/a', { type: 'failed', reason: 'account', retryAfterMs: null })
  const ejection = { provider: 'openai', deployment: 'east', model: 'openai/a', reason: 'limited' }
  const refused = { ...ejection, deployment: 'north', reason: 'account' }
  const ofEast = { ...ejection, until: new Date(7_000) }
  t.same(list(east, west, north), [ofEast, { ...refused, until: new Date(60_000) }])
  t.same(list(named('east'), named('west'), named('north')), [ofEast], 'a limit is of the deployment, with any key')
  t.same(list(west, north), [{ ...refused, until: new Date(60_000) }], 'it is not configured any more')
  nowMs = 7_000
  t.same(list(east, west), [], 'a call may probe it')
  t.end()
})

t.test('a limit a minute that the configuration raises is in force for the next request', (t) => {
  let nowMs = 0
  const steadyClock = (): number => nowMs
  const deployments = new Deployments({
    clock: Date.now,
    steadyClock,
    logger: recordingLogger([]),
    observer: noObserver,
  })
  const waitsMs = (requestsPerMinute: number, everyMs: number, calls: number): readonly number[] =>
    Array.from({ length: calls }, () => {
      nowMs += everyMs
      const east = { name: 'east', weight: 1, provider: { name: 'openai' } as Provider, requestsPerMinute }
      const { waitMs } = deployments.statusOf(east, 'openai/a', 'acme')
      if (waitMs === 0) deployments.noteCalled(east, 'openai/a', 'acme')
      return waitMs
    })
  t.ok(waitsMs(60, 500, 60).some((waitMs) => waitMs > 0))
  t.same(waitsMs(6_000, 20, 200), Array(200).fill(0))
  t.end()
})

t.test('a wall clock that is set back keeps nothing limited or ejected', (t) => {
  let [wallMs, steadyMs] = [Date.now(), 0]
  const clocks = { clock: () => wallMs, steadyClock: () => steadyMs }
  const deployments = new Deployments({ ...clocks, logger: recordingLogger([]), observer: noObserver })
  const east: Deployment = { name: 'east', weight: 1, provider: { name: 'openai' } as Provider, requestsPerMinute: 600 }
  const servedIn = (seconds: number): number => {
    let served = 0
    for (const untilMs = steadyMs + seconds * 1_000; steadyMs < untilMs; ) {
      steadyMs += 100
      wallMs += 100
      if (deployments.statusOf(east, 'openai/a', 'acme').waitMs > 0) continue
      deployments.noteCalled(east, 'openai/a', 'acme')
      served += 1
    }
    return served
  }
  t.equal(servedIn(60), 600)
  deployments.note(east, 'openai/a', { type: 'failed', reason: 'limited', retryAfterMs: 7_000 })
  wallMs -= 3_600_000
  t.equal(servedIn(60), 600)
  t.same(deployments.ejections(new Map([['openai', { ...east.provider, deployments: [east] }]])), [])
  t.end()
})

t.test('a body is read for the choice of a deployment, and not where there is none', (t) => {
  const deployments = new Deployments({ clock: () => 0, logger: recordingLogger([]), observer: noObserver })
  const unread = {
    workspaceId: 'acme',
    get body(): never {
      throw new Error('a large body would be read at once')
    },
  }
  const { candidates } = callOf('openai/a')
  const provider: Provider = { name: 'openai', dialect: 'openai', profile: 'openai', baseUrl: 'http://a', apiKey: 'k' }
  const only: Deployment = { name: 'east', weight: 1, provider: { ...provider, deployment: 'east' } }
  for (const each of [provider, { ...provider, deployments: [only] }])
    t.match(new DeploymentTurns(deployments, each, candidates[0]!, unread).next(), { candidate: candidates[0] })
  const divided = { ...provider, deployments: [only, { ...only, name: 'west' }] }
  t.throws(() => new DeploymentTurns(deployments, divided, candidates[0]!, unread), /at once/)
  t.end()
})
