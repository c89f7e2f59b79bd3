import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { startTestGateway, untilKeyIsKnown } from '../../support/gateway.ts'
import { startHostileUpstream } from '../../support/hostile-upstream.ts'

const openRequestsMax = 20
const answerMs = 200
const calmRequests = 40

const answer = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'plain' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})

const quantileOf = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * part) - 1]!

t.test('one workspace on all connections leaves the other its share', async (t) => {
  const running = { all: 0, most: 0 }
  const upstreamUrl = await startHostileUpstream(t, {
    plain: async (response) => {
      running.all += 1
      running.most = Math.max(running.most, running.all)
      await pause(answerMs)
      running.all -= 1
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    },
  })
  const provider = { dialect: 'openai', profile: 'openai', baseUrl: upstreamUrl, apiKey: 'sk-upstream-secret' } as const
  const {
    gateway,
    operator,
    account: hog,
  } = await startTestGateway(t, {
    config: { providers: [{ name: 'openai', ...provider, models: {} }] },
    bounds: { edge: { openRequestsMax, workspaceOpenRequestsMax: openRequestsMax } },
  })
  const neighbour = await operator.openAccount('neighbour', '100')
  await untilKeyIsKnown(gateway.url, neighbour)
  const ask = () => chat(gateway.url, neighbour.secret, chatBody('openai/plain', false))
  const askMany = async () => {
    const seen = []
    for (let count = 0; count < calmRequests; count += 1) seen.push(await ask())
    return seen
  }
  const calm = await askMany()
  t.ok(calm.every(({ status }) => status === 200))

  const hogs = new Clients(2 * openRequestsMax, async () => {
    const seen = await chat(gateway.url, hog.secret, chatBody('openai/plain', false))
    if (seen.status !== 200) await pause(500)
    return seen
  })
  t.teardown(() => hogs.stop())
  await until(() => running.all >= openRequestsMax - 1)
  t.pass('alone it has all but the place for the next one')

  const attacked = await askMany()
  const refused = attacked.filter(({ status }) => status !== 200).length
  const took = [calm, attacked].map((seen) => seen.map(({ tookMs }) => tookMs))
  const [calmMs = 0, attackedMs = 0] = took.map((times) => quantileOf(times, 0.5))
  const [calmMostMs = 0, attackedMostMs = 0] = took.map((times) => quantileOf(times, 0.99))
  t.comment(`median ${Math.round(calmMs)} ms calm, ${Math.round(attackedMs)} ms attacked`)
  t.comment(`p99 ${Math.round(calmMostMs)} ms calm, ${Math.round(attackedMostMs)} ms attacked`)
  t.equal(refused, 0, 'a place within its share is free')
  t.ok(attackedMs <= Math.max(2 * calmMs, calmMs + 50), 'it is as fast as without the other')
  await until(() => running.all >= openRequestsMax - 1)
  t.ok(running.most <= openRequestsMax)
  const journal = await hogs.stop()
  t.ok(journal.every(({ status }) => status === 200 || status === 429 || status === 503))
  t.ok(
    journal.some(({ status }) => status === 429),
    'the other was held to what is left',
  )
  await checkCharges(t, { operator })
})
