import t from 'tap'
import { revokeKey } from '../../../src/administration/account-changes.ts'
import { publishPrices } from '../../../src/administration/price-changes.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { pricesOf, sheetOf } from '../../support/gateway.ts'
import { turnMsOf } from '../../support/turn-clock.ts'

const withinMs = 1_000

t.test('keys, prices and credit at three edges', async (t) => {
  const { direct } = await startExternalServers(t)
  const deployment = await Deployment.start(t, { external: direct, counts: { edge: 3 }, apart: () => false })
  const { operator } = deployment
  const statuses = async (secret: string, model: string): Promise<readonly (number | null)[]> =>
    Promise.all(deployment.urls.map(async (url) => (await chat(url, secret, chatBody(model, false))).status))
  const everywhere = (secret: string, model: string, status: number) => async (): Promise<boolean> =>
    (await statuses(secret, model)).every((each) => each === status)

  const { secret } = await operator.openAccount('acme', '10')
  await until(everywhere(secret, 'openai/plain', 200), withinMs)

  await publishPrices(operator, pricesOf({ 'openai/new': sheetOf() }))
  await until(everywhere(secret, 'openai/new', 200), withinMs)

  const poor = await operator.openAccount('poor', '0')
  await until(everywhere(poor.secret, 'openai/plain', 402), withinMs)
  await operator.credit('poor', '10', 'more')
  await until(everywhere(poor.secret, 'openai/plain', 200), withinMs)

  const key = [...operator.tail.ledger.accounts.keys.values()].find(({ workspaceId }) => workspaceId === 'acme')!
  const tookMs = await turnMsOf(async () => {
    await revokeKey(operator, key.keyId)
    await until(everywhere(secret, 'openai/plain', 401), withinMs)
  })
  t.ok(tookMs < withinMs, 'a revoked key works nowhere')
})
