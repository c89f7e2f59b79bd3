import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../support/clients.ts'
import { startTestGateway, untilKeyIsKnown } from '../../support/gateway.ts'
import { startHostileUpstream } from '../../support/hostile-upstream.ts'

const openRequestsMax = 20
const answerMs = 200
const calmRequests = 40
/** What else the machine does may slow one of them. */
const triesMax = 3

const answer = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'plain' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})

const quantileOf = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * part) - 1]!

const medianMs = (seen: readonly Seen[]): number =>
  quantileOf(
    seen.map(({ tookMs }) => tookMs),
    0.5,
  )

const isAsFast = (calm: readonly Seen[], attacked: readonly Seen[]): boolean =>
  medianMs(attacked) <= Math.max(2 * medianMs(calm), medianMs(calm) + 50)

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

  let attacked = await askMany()
  const ofAllTries = [...attacked]
  for (let tries = 1; tries < triesMax && !isAsFast(calm, attacked); tries += 1) {
    attacked = await askMany()
    ofAllTries.push(...attacked)
  }
  const refused = ofAllTries.filter(({ status }) => status !== 200).length
  const took = [calm, attacked].map((seen) => seen.map(({ tookMs }) => tookMs))
  const [calmMostMs = 0, attackedMostMs = 0] = took.map((times) => quantileOf(times, 0.99))
  t.comment(`median ${Math.round(medianMs(calm))} ms calm, ${Math.round(medianMs(attacked))} ms attacked`)
  t.comment(`p99 ${Math.round(calmMostMs)} ms calm, ${Math.round(attackedMostMs)} ms attacked`)
  t.equal(refused, 0, 'a place within its share is free')
  t.ok(isAsFast(calm, attacked), 'it is as fast as without the other')
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
