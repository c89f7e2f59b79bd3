import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { v7 } from 'uuid'
import { publishPlan, subscribe } from '../../../src/administration/plan-changes.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { runtime, startTestGateway } from '../../support/gateway.ts'
import { askKeyed, exactUsd, keyedOptions, netUsd } from '../../support/keyed.ts'
import { failing, healthAt, scrape } from '../../support/metrics.ts'
import {
  newVideo,
  openKnownAccount,
  plainUsd,
  pollVideo,
  quick,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const { sheets } = keyedOptions
/** Each lasts through two jumps. */
const models = {
  ...keyedOptions.models,
  slow: 'slow;output_tokens=20;delay_ms=3000',
  long: 'long;output_tokens=40;chunk_delay_ms=80',
}

const clients = 4
const jumps = [hourMs, -2 * hourMs, hourMs]

t.test('the clock goes forward an hour, back two, and forward again', async (t) => {
  let aheadMs = 0
  const clock = (): number => Date.now() + aheadMs
  const newId = (): string => v7({ msecs: clock() })
  const options = videoOptions(
    { ...sheets, 'openai/long': sheets['openai/exact']! },
    { observe: { host: '127.0.0.1', port: 0 } },
  )
  const running = await startTestGateway(t, {
    ...options,
    bounds: quick,
    models,
    runtime: { ...runtime, clock, newId },
  })
  const { gateway, operator } = running
  const { url } = gateway
  const open = (workspaceId: string): Promise<string> => openKnownAccount(operator, [url], workspaceId, '10')
  const [streams, keyed, films, limited] = (await Promise.all(['streams', 'keyed', 'films', 'limited'].map(open))) as [
    string,
    string,
    string,
    string,
  ]
  await open('planned')
  await operator.log.append([
    {
      type: 'LimitsSet',
      data: { workspaceId: 'limited', limits: { requestsPerMinute: 1_200, concurrentRequests: 4 } },
    },
  ])
  const plan = { planId: 'daily', name: 'Daily', price: '2', period: 'day', includedCredit: '0.5', limits: {} } as const
  await publishPlan(operator, plan)
  // Its period ends within the hour that the clock takes and gives back.
  await subscribe(operator, {
    workspaceId: 'planned',
    planId: 'daily',
    subscriptionId: 'sub',
    startsAtMs: clock() - dayMs + hourMs / 2,
    renews: true,
    again: true,
  })

  const load = new Clients(clients, async () => {
    const seen = await chat(url, streams, chatBody('openai/long', true, 40))
    await pause(20)
    return seen
  })
  const few = new Clients(2, async () => {
    const seen = await chat(url, limited, chatBody('openai/exact', false, 20))
    await pause(100)
    return seen
  })
  t.teardown(async () => {
    await Promise.all([load.stop(), few.stop()])
  })
  const taskId = await newVideo(url, films, { prompt: 'A cat. [[queue_ms=0;never]]' })
  const body = chatBody('openai/slow', false, 20)
  const named = { url, secret: keyed, key: 'the-key', body }
  const first = askKeyed(named)
  await until(() => running.sandbox.totals().open >= 5)
  await until(() => few.journal.some(({ status }) => status === 200))

  for (const jumpMs of jumps) {
    aheadMs += jumpMs
    t.comment(`the clock is ${aheadMs / hourMs} h ahead`)
    const before = [load.journal.length, few.journal.length] as const
    const repeated = askKeyed(named)
    await until(() => load.journal.slice(before[0]).filter(({ complete }) => complete).length >= 4)
    await until(() => few.journal.slice(before[1]).filter(({ status }) => status === 200).length >= 4)
    t.ok([200, 409].includes((await repeated)!.status), 'a repeat is answered, or told to wait')
    t.match((await pollVideo(url, films, taskId)).body.data.status, /IN_PROGRESS|SUBMITTED/)
    // Nothing takes an hour that did not pass for a stall; a busy machine has short ones.
    const expected = aheadMs === 0 ? '' : 'clock'
    await until(async () => failing(await healthAt(gateway.observeUrl, '/readyz')).join() === expected)
    const publicly = await fetch(`${url}/readyz`)
    t.equal(publicly.status, aheadMs === 0 ? 200 : 503)
    const said = new RegExp(`^is 3(599|600)(\\.\\d)? s ${aheadMs > 0 ? 'ahead of' : 'behind'} the log server's$`)
    if (aheadMs !== 0) t.match(await publicly.json(), { checks: { clock: { ok: false, reason: said } } })
    const metrics = await scrape(gateway.observeUrl)
    t.ok(Math.abs(metrics.value('gateway_clock_skew_seconds')! - aheadMs / 1_000) < 5)
    for (const name of [
      'gateway_money_usd',
      'gateway_holds_usd',
      'gateway_request_duration_seconds_sum',
      'gateway_request_stage_duration_seconds_sum',
    ])
      for (const [labels, value] of Object.entries(metrics.values(name)))
        if (value < 0) t.fail(`${name}{${labels}} is ${value}`)
  }

  t.ok([200, 409, 503].includes((await first)!.status))
  await until(async () => (await askKeyed(named))?.status === 200)
  t.equal(await netUsd(operator, 'keyed'), exactUsd, 'the key is charged once')
  running.sandbox.videos.end(taskId)
  await until(async () => (await pollVideo(url, films, taskId)).body.data.status === 'SUCCESS')
  t.equal(await netUsd(operator, 'films'), plainUsd)
  const journal = [...(await load.stop()), ...(await few.stop())]
  t.same(
    [...new Set(journal.map(({ status }) => status))].filter((status) => ![200, 429, 502].includes(status!)),
    [],
    'every request was served, or limited, or met its deadline in the jump',
  )
  const caught = journal.filter(({ status }) => status === 502)
  t.ok(caught.length <= clients * jumps.length, `${caught.length} were between edge and proxy at that moment`)
  for (const workspaceId of ['streams', 'keyed', 'films', 'limited'])
    await until(async () => (await walletFigures(operator, workspaceId)).held === '0')
  await checkCharges(t, running)
  const events = await operator.events()
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no two events have one id')
  const bills = events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.requestId] : []))
  const answered = journal
    .filter(({ complete, status }) => complete && status === 200)
    .map(({ requestId }) => requestId!)
  t.same(
    answered.filter((requestId) => bills.filter((each) => each === requestId).length !== 1),
    [],
    'each answer is charged once',
  )
  t.same(
    events.filter(({ type, data }) => type === 'HoldReleased' && data.reason === 'expired'),
    [],
    'no hold was taken back early',
  )
  t.equal(events.filter(({ type }) => type === 'PlanRenewed').length, 0, 'no period that nobody lived is paid for')
  t.equal((await walletFigures(operator, 'planned')).balance, '8.5')
  const times = events.map(({ time }) => Date.parse(time))
  t.ok(
    times.some((time, index) => index > 0 && time < times[index - 1]! - hourMs),
    'time in the log goes back',
  )
  const { database, place } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  t.ok(
    (await rebuildReadModels({ log: operator.log, place, swap: false })).equal,
    'the tables equal a rebuild all the same',
  )
})
