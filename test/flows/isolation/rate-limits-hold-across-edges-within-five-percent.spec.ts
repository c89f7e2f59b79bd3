import OpenAI, { RateLimitError } from 'openai'
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
  await t.test('the official SDK waits as long as it is told, and then succeeds', { skip }, async (t) => {
    const secret = await openLimited(deployment, 'sdk', {})
    await setLimits(deployment, 'sdk', { requestsPerMinute: 30 })
    const { chat } = new OpenAI({ baseURL: `${urls[0]}/v1`, apiKey: secret })
    const ask = { model: 'openai/plain', messages: [{ role: 'user' as const, content: 'Hello!' }] }
    let refused: unknown
    let askedMs = 0
    await until(async () => {
      askedMs = performance.now()
      refused = await chat.completions.create(ask, { maxRetries: 0 }).catch((fault: unknown) => fault)
      return refused instanceof RateLimitError
    })
    t.match(refused, { status: 429, code: 'rate_limit_exceeded' })
    const { data, response } = await chat.completions.create(ask).withResponse()
    const tookMs = performance.now() - askedMs
    t.equal(data.object, 'chat.completion')
    t.equal(response.headers.get('x-ratelimit-limit-requests'), '30')
    const waitMs = Number((refused as RateLimitError).headers?.get('retry-after')) * 1_000
    // It is told in whole seconds, of which the last is not over.
    t.ok(tookMs > waitMs - 1_000, `told to wait ${waitMs} ms, it waited ${Math.round(tookMs)} ms`)
  })
})
