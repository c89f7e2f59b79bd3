import OpenAI from 'openai'
import t from 'tap'
import type { Limits } from '../../../src/events/types.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { edgesAreWorkers } from '../../support/gateway-process.ts'
import { LimitedClients, openLimited, setLimits } from '../../support/limited-clients.ts'

const answerTokens = 90
const loadMs = 8_000
const silentMsMax = 500
const triesMax = 10
/** The SDK's own pause before it asks again for the first time is shorter. */
const statedMsMin = 2_000
/** Clocks of timers may differ so far. */
const earlyMsMax = 500

/**
 * Asks for so long without a pause; answers with how many were served, and with the minutes until no more were asked, and until all were
 * answered. A busy machine may need more than one try, each with a workspace of its own.
 */
const askFor = async (deployment: Deployment, name: string, limits: Limits, body: string) => {
  for (let tries = 1; ; tries += 1) {
    const workspaceId = `${name}-${tries}`
    const secret = await openLimited(deployment, workspaceId, limits)
    const load = new LimitedClients(deployment, secret, body)
    await until(() => load.minutes * 60_000 >= loadMs && load.refused > 0)
    const leastMinutes = load.minutes
    await load.stop()
    if (load.silentMs <= silentMsMax || tries === triesMax)
      return { workspaceId, served: load.served, leastMinutes, mostMinutes: load.minutes }
  }
}

t.test('20 clients of two edges', async (t) => {
  const { direct } = await startExternalServers(t)
  const models = { words: `words;output_tokens=${answerTokens}` }
  const deployment = await Deployment.start(t, { external: direct, counts: { edge: 2 }, apart: () => false, models })
  const { operator, urls } = deployment

  await t.test('requests a minute', async (t) => {
    const perMinute = 300
    const limits = { requestsPerMinute: perMinute }
    const body = chatBody('openai/plain', false)
    const { served, leastMinutes, mostMinutes } = await askFor(deployment, 'requests', limits, body)
    t.comment(`${served} in ${(leastMinutes * 60).toFixed(2)} s of ${perMinute} a minute`)
    t.ok(served >= perMinute * leastMinutes * 0.95, `not less than 95 %: ${served}`)
    t.ok(served <= perMinute * (mostMinutes + 0.05), `not more than the limit and 5 % of a minute: ${served}`)
  })

  await t.test('tokens a minute, as they are billed', async (t) => {
    const perMinute = 30_000
    const limits = { tokensPerMinute: perMinute }
    const body = chatBody('openai/words', false, answerTokens)
    const { workspaceId, leastMinutes, mostMinutes } = await askFor(deployment, 'tokens', limits, body)
    const used = (await operator.events())
      .flatMap((event) =>
        event.type === 'UsageRecorded' && event.data.workspaceId === workspaceId ? [event.data] : [],
      )
      .map(({ usage }) => usage.promptTotal + usage.outputTotal)
    const total = used.reduce((sum, tokens) => sum + tokens, 0)
    t.comment(`${total} tokens in ${(leastMinutes * 60).toFixed(2)} s of ${perMinute} a minute`)
    t.ok(total >= perMinute * leastMinutes * 0.95, `not less than 95 %: ${total}`)
    const inFlight = 20 * Math.max(...used)
    t.ok(total <= perMinute * (mostMinutes + 0.05) + inFlight, `not more than the limit and 5 % of a minute: ${total}`)
  })

  await t.test('a raised limit counts within a second', async () => {
    const secret = await openLimited(deployment, 'raised', {})
    const everywhere = (status: number) => async (): Promise<boolean> => {
      const body = chatBody('openai/plain', false)
      return (await Promise.all(urls.map((url) => chat(url, secret, body)))).every((seen) => seen.status === status)
    }
    await setLimits(deployment, 'raised', { requestsPerMinute: 1 })
    await until(everywhere(429))
    await setLimits(deployment, 'raised', { requestsPerMinute: 60_000 })
    await until(everywhere(200), 1_000)
  })

  const skip = edgesAreWorkers && 'another worker may have room'
  await t.test('the official SDK waits as long as Retry-After states, and then succeeds', { skip }, async (t) => {
    const secret = await openLimited(deployment, 'sdk', {})
    await setLimits(deployment, 'sdk', { requestsPerMinute: 15 })
    const exchanges: { askedMs: number; endedMs: number; status: number; code: unknown; waitMs: number }[] = []
    const timedFetch: typeof fetch = async (input, init) => {
      const askedMs = performance.now()
      const response = await fetch(input, init)
      const { error } = (await response.clone().json()) as { readonly error?: { readonly code: unknown } }
      const waitMs = Number(response.headers.get('retry-after')) * 1_000
      exchanges.push({ askedMs, endedMs: performance.now(), status: response.status, code: error?.code, waitMs })
      return response
    }
    const sdk = new OpenAI({ baseURL: `${urls[0]}/v1`, apiKey: secret, fetch: timedFetch })
    const ask = { model: 'openai/plain', messages: [{ role: 'user' as const, content: 'Hello!' }] }
    const findRefused = () => exchanges.findIndex(({ status, waitMs }) => status === 429 && waitMs >= statedMsMin)
    await until(async () => {
      const { data, response } = await sdk.chat.completions.create(ask).withResponse()
      const isLimited = response.headers.get('x-ratelimit-limit-requests') === '15'
      return data.object === 'chat.completion' && isLimited && findRefused() >= 0
    })
    const at = findRefused()
    const [refused, next] = exchanges.slice(at, at + 2)
    t.equal(refused?.code, 'rate_limit_exceeded')
    const statedMs = refused?.waitMs ?? 0
    const waitedMs = (next?.askedMs ?? 0) - (refused?.endedMs ?? 0)
    t.ok(waitedMs >= statedMs - earlyMsMax, `${statedMs} ms are stated, it waited ${Math.round(waitedMs)} ms`)
  })
})
