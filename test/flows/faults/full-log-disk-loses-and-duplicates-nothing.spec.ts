import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { residentBytes } from '../../bench/procfs.ts'
import { checkCharges } from '../../support/bills.ts'
import { checkRefused, startClients, until } from '../../support/clients.ts'
import { type ExternalServers, startExternalServers } from '../../support/external-servers.ts'
import { type GatewayApart, startGatewayApart } from '../../support/gateway-apart.ts'
import { failing, healthAt, scrape } from '../../support/metrics.ts'
import { mountSmallDisk, noSmallDisk } from '../../support/small-disk.ts'

const growthBytesMax = 128 * 1024 * 1024

/** How the log's disk is filled, and how it has room again. */
interface Disk {
  fill(): Promise<void>
  free(): Promise<void>
  /** What the readiness check says of it. */
  readonly reason: RegExp
}

const endure = async (t: Test, { process: gateway, operator, account }: GatewayApart, disk: Disk): Promise<void> => {
  const clients = startClients(t, gateway.url, account.secret)
  const statusesSince = (start: number): readonly (number | null)[] =>
    clients.journal.slice(start).map(({ status }) => status)
  await until(() => clients.journal.length > 30)
  const beforeBytes = residentBytes(gateway.pid)

  await disk.fill()
  const full = clients.journal.length
  await until(() => statusesSince(full).filter((status) => status === 503).length > 50)
  await checkRefused(t, gateway.url, account.secret)
  await until(async () => disk.reason.test((await healthAt(gateway.observeUrl, '/readyz')).checks['log']?.reason ?? ''))
  const ready = await healthAt(gateway.observeUrl, '/readyz')
  t.equal(ready.httpStatus, 503)
  t.ok(failing(ready).includes('log'))
  t.comment('/readyz:', ready.checks['log']?.reason)
  t.equal((await healthAt(gateway.observeUrl, '/healthz')).httpStatus, 200, 'nobody takes it for dead')
  const metrics = await scrape(gateway.observeUrl)
  const waitsSeconds = metrics.value('gateway_log_unacknowledged_seconds')!
  t.ok(waitsSeconds > 2, `gateway_log_unacknowledged_seconds is ${waitsSeconds}`)
  t.ok((metrics.values('gateway_requests_total')['status=5xx,surface=chat'] ?? 0) > 50)
  const afterBytes = residentBytes(gateway.pid)
  if (beforeBytes !== null && afterBytes !== null)
    t.ok(
      afterBytes - beforeBytes < growthBytesMax,
      `memory grew by ${Math.round((afterBytes - beforeBytes) / 2 ** 20)} MB`,
    )

  await disk.free()
  const freed = clients.journal.length
  await until(() => statusesSince(freed).filter((status) => status === 200).length > 50)
  await until(async () => (await healthAt(gateway.observeUrl, '/readyz')).httpStatus === 200)
  const journal = await clients.stop()
  t.same([...new Set(journal.map(({ status }) => status))].sort(), [200, 503], 'served or told, and nothing else')

  await until(() => operator.tail.ledger.wallets.get('acme')?.heldPicos === 0n)
  await checkCharges(t, { operator })
  const bills = (await operator.events()).flatMap((event) =>
    event.type === 'UsageRecorded' ? [event.data.requestId] : [],
  )
  const answered = new Set(journal.filter(({ status }) => status === 200).map(({ requestId }) => requestId))
  const givenBack = new Set(
    (await operator.events()).flatMap(({ type, data }) => (type === 'AdjustmentPosted' ? [data.corrects] : [])),
  )
  t.equal(new Set(bills).size, bills.length, 'no charge is doubled')
  t.same(
    [...answered].filter((requestId) => !bills.includes(requestId!)),
    [],
    'and none is lost',
  )
  t.same(
    bills.filter((requestId) => !answered.has(requestId) && !givenBack.has(requestId)),
    [],
    'what was charged and not delivered is given back',
  )
}

const onNats = async <T>({ nats }: ExternalServers, work: (connection: NatsConnection) => Promise<T>): Promise<T> => {
  const connection = await connect({ servers: nats.url })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}

const megabyte = 1024 * 1024
const fillerBytes = megabyte / 2

const withStoreOf = async ({ nats }: ExternalServers, bytesMax: number): Promise<void> => {
  await nats.stop()
  await nats.limitStore(bytesMax)
  await nats.start()
}

t.test('JetStream has reached its max_file_store', async (t) => {
  const servers = await startExternalServers(t)
  const running = await startGatewayApart(t, { servers })
  await onNats(servers, async (connection) => {
    const manager = await jetstreamManager(connection)
    await manager.streams.update('GATEWAY_OUTCOMES', { max_bytes: megabyte }) // All that is reserved must fit.
    await manager.streams.add({ name: 'FILLER', subjects: ['filler'] })
  })
  await withStoreOf(servers, 24 * megabyte)
  await endure(t, running, {
    fill: () =>
      onNats(servers, async (connection) => {
        const filler = new Uint8Array(fillerBytes)
        for (;;)
          try {
            await jetstream(connection).publish('filler', filler)
          } catch {
            return // There is no room left.
          }
      }),
    free: () =>
      onNats(servers, async (connection) => {
        await (await jetstreamManager(connection)).streams.purge('FILLER')
      }),
    reason: /insufficient|resource/i,
  })
})

t.test('the disk under NATS is full, and NATS is started anew once there is room', async (t) => {
  const disk = await mountSmallDisk(t, 48)
  if (disk === null) return t.plan(0, noSmallDisk)
  const servers = await startExternalServers(t, { natsBelow: disk.folder })
  await withStoreOf(servers, megabyte ** 2) // The disk is the bound, as it is with embedded servers.
  await endure(t, await startGatewayApart(t, { servers }), {
    fill: async () => disk.fill(),
    free: async () => {
      disk.free()
      await servers.nats.stop() // What whoever watches its /healthz does; the embedded one is watched by the gateway.
      await servers.nats.start()
    },
    reason: /no space left/,
  })
})
