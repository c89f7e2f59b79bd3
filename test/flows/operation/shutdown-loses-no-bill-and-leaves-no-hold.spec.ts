import t, { type Test } from 'tap'
import { chat, chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { type Operator, startTestGateway } from '../../support/gateway.ts'

const ask = (url: string, secret: string, signal: AbortSignal): Promise<Response | null> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: chatBody('openai/slow', false),
    signal,
  }).catch(() => null)

const nothingIsHeld = async (t: Test, operator: Operator, chargedPicos: (picos: bigint) => boolean): Promise<void> => {
  await operator.caughtUp()
  const wallet = operator.tail.ledger.wallets.get('acme')!
  t.ok(chargedPicos(wallet.chargesPicos), `charged ${wallet.chargesPicos}`)
  t.equal(wallet.heldPicos, 0n, 'what was not needed went back')
  t.equal(wallet.holds.size, 0)
}

const isFree = (picos: bigint): boolean => picos === 0n

t.test('a client leaves a call that still runs, and the gateway is stopped', async (t) => {
  const { direct } = await startExternalServers(t)
  const { gateway, operator, sandbox, account } = await startTestGateway(t, {
    models: { slow: 'slow;delay_ms=4000' },
    config: { external: direct },
  })
  const leaving = new AbortController()
  const asked = ask(gateway.url, account.secret, leaving.signal)
  await until(() => sandbox.calls().length > 0)
  leaving.abort()
  await asked
  await gateway.stop()
  await nothingIsHeld(t, operator, (picos) => picos > 0n)
  t.match(
    (await operator.events()).filter(({ type }) => type === 'UsageRecorded'),
    [{ data: { outcome: 'client_gone', source: 'reported' } }],
  )
})

t.test('a call outlives the drain of one process, its client there or gone', async (t) => {
  for (const leaves of [false, true]) {
    const { direct } = await startExternalServers(t)
    const { gateway, operator, sandbox, account } = await startTestGateway(t, {
      models: { slow: 'slow;hang=1' },
      config: { external: direct, drainMs: 500 },
    })
    const leaving = new AbortController()
    const asked = ask(gateway.url, account.secret, leaving.signal)
    await until(() => sandbox.calls().length > 0)
    if (leaves) leaving.abort()
    await gateway.stop()
    t.equal((await asked)?.status, leaves ? undefined : 503)
    await until(() => sandbox.totals().open === 0)
    await nothingIsHeld(t, operator, isFree)
  }
})

t.test('a call outlives the drain of its edge, its client there or gone', async (t) => {
  const { direct } = await startExternalServers(t)
  const deployment = await Deployment.start(t, {
    external: direct,
    models: { slow: 'slow;hang=1' },
    counts: { edge: 2 },
    apart: (role, index) => role === 'edge' && index === 0,
    config: { drainMs: 1_000 },
  })
  const { operator, sandbox } = deployment
  const { secret } = await operator.openAccount('acme', '1')
  const leaving = new AbortController()
  const left = ask(deployment.urls[0]!, secret, leaving.signal)
  const kept = ask(deployment.urls[0]!, secret, new AbortController().signal)
  await until(() => sandbox.calls().length === 2)
  leaving.abort()
  const stoppedMs = Date.now()
  t.equal(await deployment.end('edge', 0, 'SIGTERM'), 0)
  t.ok(Date.now() - stoppedMs < 30_000, `stopped in ${Date.now() - stoppedMs} ms`)
  t.equal(await left, null)
  t.equal((await kept)?.status, 503)
  await until(() => sandbox.totals().open === 0)
  await nothingIsHeld(t, operator, isFree)
  const failures = (await operator.events()).filter(({ type }) => type === 'RequestFailed')
  t.match(
    failures.map(({ data }) => data),
    [{ attempts: [{ reason: 'shutdown' }] }, { attempts: [{ reason: 'shutdown' }] }],
  )
  t.match(await chat(deployment.urls[0]!, secret, chatBody('openai/plain', false)), { status: 200 })
})
