import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { startClients, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startTestGateway } from '../../support/gateway.ts'

t.test('PostgreSQL stops and starts under load', async (t) => {
  const { direct, postgres } = await startExternalServers(t)
  const { gateway, operator, account } = await startTestGateway(t, { config: { external: direct } })
  const headers = { authorization: `Bearer ${account.secret}` }
  const usage = (): Promise<Response> => fetch(`${gateway.url}/v1/dashboard/billing/usage`, { headers })
  await until(async () => (await usage()).status === 200)
  const clients = startClients(t, gateway.url, account.secret)
  await until(() => clients.journal.length > 50)

  await postgres.stop()
  const before = clients.journal.length
  await until(() => clients.journal.length > before + 200)
  const away = await usage()
  t.equal(away.status, 503)
  t.ok(Number(away.headers.get('retry-after')) >= 1)
  t.match(await away.json(), { error: { code: 'read_models_unavailable' } })

  await postgres.start()
  const journal = await clients.stop()
  t.same([...new Set(journal.map(({ status }) => status))], [200], 'no request noticed')
  await operator.caughtUp()
  const charged = operator.tail.ledger.wallets.get(account.workspaceId)!.chargesPicos
  await until(async () => (await (await usage()).text()).includes(`"total_usage":${formatUsd(charged * 100n)}}`))
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, journal.length, 'every answer has its bill, and the tables caught up with them all')
})
