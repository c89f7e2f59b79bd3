import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { cliLimits } from '../../../src/cli/command-limits.ts'
import { admissionLimits } from '../../../src/roles/edge/admission/limits.ts'
import type { RoleName } from '../../../src/roles/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import type { Operator } from '../../support/gateway.ts'
import { failing, healthAt } from '../../support/metrics.ts'

const drainMs = 1_000
/** A proxy waits for the log as long as it may, since it has bills: the short form does not wait for that, and stops some roles in its own process. */
const isLong = process.env['FAULTS_STREAMS'] !== undefined
const observe = { host: '127.0.0.1', port: 0 }
/** On a busy machine the product's own two seconds may not do for the errors of a dozen clients to reach them. */
const lastAnswerMs = 20_000
/** After the drain: the answers that are broken off, their bills, and what was set aside. */
const restMs = lastAnswerMs + sharedLimits.closingAckMs + admissionLimits.allowanceReturnMs

const models = {
  /** Whole, half a second. */
  slow: 'slow;delay_ms=500',
  /** Two seconds: a drain cuts some of them. */
  longer: 'longer;chunk_delay_ms=100;output_tokens=20',
  endless: 'endless;chunk_delay_ms=50;output_tokens=10000',
  hanging: 'hanging;hang=1',
}

/** What the log charges, less what it gave back, by request. */
const chargedIn = async (operator: Operator): Promise<ReadonlyMap<string, number>> => {
  await operator.caughtUp()
  const charged = new Map<string, number>()
  for (const { type, data } of await operator.events()) {
    if (type === 'UsageRecorded') charged.set(data.requestId, (charged.get(data.requestId) ?? 0) + 1)
    if (type === 'AdjustmentPosted' && data.reason === 'undelivered') charged.delete(data.corrects ?? '')
  }
  return charged
}

const nothingIsHeld = (t: Test, operator: Operator): void => {
  const wallet = operator.tail.ledger.wallets.get('acme')!
  t.equal(wallet.heldPicos, 0n, 'all allowances are back')
  t.equal(wallet.holds.size, 0)
}

const billsAreRight = (t: Test, charged: ReadonlyMap<string, number>, journal: readonly Seen[]): void => {
  const answered = journal.filter(({ status, complete }) => status === 200 && complete)
  t.comment(`${answered.length} answers of ${journal.length} requests, ${charged.size} charged`)
  t.same(
    answered.filter(({ requestId }) => charged.get(requestId!) !== 1),
    [],
    'every answer is charged once',
  )
  const begun = new Set(journal.filter(({ status }) => status === 200).map(({ requestId }) => requestId))
  t.same(
    [...charged.keys()]
      .filter((requestId) => !begun.has(requestId))
      .map(
        (requestId) => `${requestId}: ${journal.find((seen) => seen.requestId === requestId)?.status ?? 'no answer'}`,
      ),
    [],
    'nobody else is charged',
  )
}

t.test('SIGTERM under load, of each process in turn, and then of the last edge', async (t) => {
  const { direct } = await startExternalServers(t)
  const deployment = await Deployment.start(t, {
    external: direct,
    models,
    counts: { edge: 2, proxy: 2 },
    apart: (role, index) => role !== 'proxy' || index === 0, // The other one stays.
    config: { drainMs, observe },
    bounds: { edge: { lastAnswerMs } },
  })
  const { operator } = deployment
  const { secret } = await operator.openAccount('acme', '100')
  const [first, last] = deployment.urls as [string, string]
  let asked = 0
  const load = (url: () => string): Clients =>
    new Clients(6, async () => {
      asked += 1
      const [model, stream] = [['plain', false] as const, ['longer', true] as const, ['slow', false] as const][
        asked % 3
      ]!
      const seen = await chat(url(), secret, chatBody(`openai/${model}`, stream, 64))
      if (seen.status !== 200) await pause(50)
      return seen
    })
  const onFirst = load(() => first)
  const onLast = load(() => last)
  t.teardown(async () => {
    await Promise.all([onFirst.stop(), onLast.stop()])
  })
  const answers = (): number => onLast.journal.filter(({ complete }) => complete).length
  const serves = async (): Promise<void> => {
    const before = answers()
    await until(() => answers() >= before + 6)
  }
  const ends = async (role: RoleName, index: number, signal: 'SIGTERM' | 'SIGINT'): Promise<void> => {
    const startedMs = performance.now()
    const code = await deployment.end(role, index, signal)
    const tookMs = Math.round(performance.now() - startedMs)
    t.equal(code, 0, `${signal}: the ${role} ends well`)
    t.ok(tookMs < drainMs + restMs, `within ${tookMs} ms`)
  }

  await serves()
  await ends('edge', 0, 'SIGTERM')
  const journalOfFirst = await onFirst.stop()
  await serves()
  await ends('proxy', 0, 'SIGTERM')
  await serves()
  await Promise.all([
    ends('scheduler', 0, 'SIGINT'),
    ends('projector', 0, 'SIGINT'),
    ends('video-poller', 0, 'SIGTERM'),
  ])
  await serves()
  const bodies: string[] = []
  const endless = fetch(`${last}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: chatBody('openai/endless', true, 1_000),
  }).then(async (response) => {
    for await (const chunk of response.body!) bodies.push(Buffer.from(chunk).toString())
    return response.headers.get('x-gateway-request-id')
  })
  await until(() => bodies.length > 3)
  const process = deployment.process('edge', 1)
  const ended = ends('edge', 1, 'SIGTERM')
  await until(async () => failing(await healthAt(process.observeUrl, '/readyz')).includes('phase'))
  const cutId = await endless
  await ended
  const journal = [...journalOfFirst, ...(await onLast.stop())]
  t.match(bodies.join(''), /"code":"upstream_stream_interrupted"/, 'a stream that is cut at the deadline says so')
  const charged = await chargedIn(operator)
  t.equal(charged.get(cutId!), 1, 'and what came of it is charged')
  billsAreRight(t, charged, [...journal, { requestId: cutId, status: 200, complete: false, tookMs: 0 }])
  nothingIsHeld(t, operator)
})

t.test('a second SIGTERM is quick, and loses nothing that was acknowledged', async (t) => {
  const { direct } = await startExternalServers(t)
  const deployment = await Deployment.start(t, {
    external: direct,
    models,
    counts: { projector: 0, scheduler: 0, 'video-poller': 0 },
    config: { drainMs: 600_000, observe },
  })
  const { operator, urls, sandbox } = deployment
  const { secret } = await operator.openAccount('acme', '100')
  const journal = await Promise.all(
    Array.from({ length: 5 }, () => chat(urls[0]!, secret, chatBody('openai/plain', false))),
  )
  const hanging = chat(urls[0]!, secret, chatBody('openai/hanging', false))
  await until(() => sandbox.totals().open === 1)
  for (const role of ['edge', 'proxy'] as const) {
    const process = deployment.forget(role, 0)
    process.tell('SIGTERM')
    await until(async () => failing(await healthAt(process.observeUrl, '/readyz')).includes('phase'))
    const toldMs = performance.now()
    const repeated = setInterval(() => process.tell('SIGTERM'), cliLimits.signalEchoMs)
    t.equal(await process.ended(), 3, `the exit code of the ${role}`)
    clearInterval(repeated)
    t.ok(performance.now() - toldMs < cliLimits.shutdownMs / 2, `within ${Math.round(performance.now() - toldMs)} ms`)
  }
  t.match(await hanging, { complete: false })
  billsAreRight(t, await chargedIn(operator), journal)
})

t.test('nothing hangs where NATS or PostgreSQL is away during the stop', async (t) => {
  const { direct, nats, postgres } = await startExternalServers(t)
  const deployment = await Deployment.start(t, {
    external: direct,
    models,
    apart: (role) => isLong || role === 'edge' || role === 'projector',
    config: { drainMs },
    bounds: { edge: { closingAckMs: 2_000, allowanceReturnMs: 1_000 }, proxy: { closingAckMs: 2_000 } },
  })
  const { operator, urls } = deployment
  const { secret } = await operator.openAccount('acme', '100')
  const answered = await chat(urls[0]!, secret, chatBody('openai/plain', false))
  const hanging = chat(urls[0]!, secret, chatBody('openai/hanging', false))
  await until(() => deployment.sandbox.totals().open === 1)
  const endsWithin = async (role: RoleName, withinMs: number): Promise<void> => {
    const startedMs = performance.now()
    const code = await deployment.end(role, 0, 'SIGTERM')
    const tookMs = Math.round(performance.now() - startedMs)
    t.comment(`the ${role} ended with ${code} after ${tookMs} ms`)
    t.ok(tookMs < withinMs, `the ${role} ends within ${tookMs} ms`)
  }
  await postgres.stop()
  await endsWithin('projector', drainMs + restMs)
  await nats.stop('SIGKILL')
  await Promise.all(
    (['edge', 'scheduler', 'video-poller', ...(isLong ? ['proxy' as const] : [])] as const).map((role) =>
      endsWithin(role, drainMs + restMs + 2 * sharedLimits.stopMs),
    ),
  )
  t.match(await hanging, { complete: false })
  await nats.start()
  await postgres.start()
  await until(() => operator.log.lastSequence().then(Boolean, () => false)) // Its connection comes back by itself.
  const charged = await chargedIn(operator)
  t.same([...charged.keys()], [answered.requestId], 'what was acknowledged stands, and nothing else')
})
