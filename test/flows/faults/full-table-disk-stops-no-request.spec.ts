import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { residentBytes } from '../../bench/procfs.ts'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startGatewayApart } from '../../support/gateway-apart.ts'
import { failing, healthAt, scrape } from '../../support/metrics.ts'
import { mountSmallDisk, noSmallDisk } from '../../support/small-disk.ts'

const diskMegabytes = 160
const growthBytesMax = 128 * 1024 * 1024

t.test('the disk under PostgreSQL is full, and has room again', async (t) => {
  const disk = await mountSmallDisk(t, diskMegabytes)
  if (disk === null) return t.plan(0, noSmallDisk)
  const servers = await startExternalServers(t, { postgresBelow: disk.folder })
  const { process: gateway, operator, account } = await startGatewayApart(t, { servers })
  const clients = new Clients(8, async () => {
    const seen = await chat(gateway.url, account.secret, chatBody('openai/plain', false))
    await pause(20)
    return seen
  })
  t.teardown(async () => {
    await clients.stop()
  })
  await until(() => clients.journal.length > 30)
  const beforeBytes = residentBytes(gateway.pid)

  disk.fill()
  const full = clients.journal.length
  const tellsWhy = async (): Promise<boolean> => {
    const { checks } = await healthAt(gateway.observeUrl, '/readyz')
    return /No space left|recovery|terminat|ECONNREFUSED|refused/i.test(
      `${checks['projecting']?.reason} ${checks['database']?.reason}`,
    )
  }
  await until(tellsWhy)
  const ready = await healthAt(gateway.observeUrl, '/readyz')
  t.equal(ready.httpStatus, 503)
  t.comment('/readyz:', ready.checks)
  t.notOk(failing(ready).includes('log'))
  t.equal((await fetch(`${gateway.url}/readyz`)).status, 200, 'the public check: requests are served')
  await until(() => clients.journal.length > full + 200)
  let lag = await scrape(gateway.observeUrl)
  // PostgreSQL may find room once more, in what it has preallocated.
  await until(async () => {
    lag = await scrape(gateway.observeUrl)
    return lag.value('gateway_follower_lag_frames', { follower: 'tables' })! > 0
  })
  t.ok(lag.value('gateway_follower_lag_frames', { follower: 'tables' })! > 0, 'the tables fall behind')
  t.equal(lag.value('gateway_follower_lag_frames', { follower: 'ledger' }), 0)
  t.comment('gateway_follower_lag_seconds', lag.values('gateway_follower_lag_seconds'))
  const afterBytes = residentBytes(gateway.pid)
  if (beforeBytes !== null && afterBytes !== null)
    t.ok(
      afterBytes - beforeBytes < growthBytesMax,
      `memory grew by ${Math.round((afterBytes - beforeBytes) / 2 ** 20)} MB`,
    )

  disk.free()
  await until(async () => (await healthAt(gateway.observeUrl, '/readyz')).httpStatus === 200)
  const journal = await clients.stop()
  t.same([...new Set(journal.map(({ status }) => status))], [200], 'no request noticed')
  await checkCharges(t, { operator })
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, journal.length, 'every answer has its bill')
  const { database, place } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  t.ok((await rebuildReadModels({ log: operator.log, place, swap: false })).equal, 'the tables equal a rebuild')
})
