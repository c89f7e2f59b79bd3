import t from 'tap'
import { chatBody, until } from '../clients.ts'
import { startExternalServers } from '../external-servers.ts'
import { startTestGateway } from '../gateway.ts'

t.test('a client leaves a call that still runs, and the gateway is stopped', { timeout: 60_000 }, async (t) => {
  const { direct } = await startExternalServers(t)
  const { gateway, operator, sandbox, account } = await startTestGateway(t, {
    models: { slow: 'slow;delay_ms=4000' },
    config: { external: direct },
  })
  const leaving = new AbortController()
  const asked = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    body: chatBody('openai/slow', false),
    signal: leaving.signal,
  }).catch(() => null)
  await until(() => sandbox.calls().length > 0)
  leaving.abort()
  await asked
  await gateway.stop()
  await operator.caughtUp()
  const wallet = operator.tail.ledger.wallets.get(account.workspaceId)!
  t.match(
    (await operator.events()).filter(({ type }) => type === 'UsageRecorded'),
    [{ data: { outcome: 'client_gone', source: 'reported' } }],
  )
  t.ok(wallet.chargesPicos > 0n)
  t.equal(wallet.heldPicos, 0n, 'what the call did not need went back')
  t.equal(wallet.holds.size, 0)
})
