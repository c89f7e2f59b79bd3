import t from 'tap'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { checkBilledOnce } from '../../support/bills.ts'
import { checkRefused, startClients, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startTestGateway } from '../../support/gateway.ts'

t.test('NATS stops and starts under load', async (t) => {
  const { direct, nats } = await startExternalServers(t)
  const { gateway, operator, account } = await startTestGateway(t, { config: { external: direct } })
  const clients = startClients(t, gateway.url, account.secret)
  await until(() => clients.journal.length > 50)

  await nats.stop('SIGKILL')
  const answeredBefore = clients.journal.length
  await until(() => clients.journal.slice(answeredBefore).some(({ status }) => status === 503))
  await checkRefused(t, gateway.url, account.secret)

  await nats.start()
  const refusedSoFar = clients.journal.length
  await until(() => clients.journal.slice(refusedSoFar).filter(({ status }) => status === 200).length > 50)
  const journal = await clients.stop()
  t.same([...new Set(journal.map(({ status }) => status))].sort(), [200, 503])
  const longestMs = Math.max(...journal.map(({ tookMs }) => tookMs))
  t.ok(
    longestMs < sharedLimits.closingAckMs + sharedLimits.routedAckMs,
    `no request hung: the longest took ${Math.round(longestMs)} ms`,
  )

  await operator.caughtUp()
  await checkBilledOnce(t, operator, journal)
})
