import { jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { ensureRates, type OpenRates, openRates, type RatesOptions } from '../../../../src/adapters/nats/rates/open.ts'
import { until } from '../../../support/clients.ts'
import { type RecordingLogger, recordingLogger } from '../../../support/log-lines.ts'
import { NatsCluster } from '../cluster.ts'
import { NatsServer } from '../server.ts'

type Opened = { readonly rates: OpenRates; readonly logger: RecordingLogger }

const open = async (
  t: Test,
  access: Parameters<typeof connectNats>[0],
  { name = 'GATEWAY', role = 'edge', replicas = 1 }: Partial<RatesOptions> = {},
): Promise<Opened> => {
  const connection = await connectNats(access)
  t.teardown(() => connection.close())
  const logger = recordingLogger()
  const rates = await openRates({ connection, name, role, replicas, logger })
  t.teardown(() => rates.close())
  return { rates, logger }
}

t.test('one server', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const access = { url: server.url, name: 'test', role: 'edge' }

  await t.test('of two who expect the same, one puts its record', async (t) => {
    const [one, other] = [await open(t, access), await open(t, access)]
    const name = 'workspace:acme:requests:openai/gpt-5 *.>'
    t.same(await one.rates.find(name), { sequence: 0, value: null })
    const put = await Promise.all([one, other].map(({ rates }, index) => rates.put(name, { level: index }, 0)))
    t.equal(put.filter((sequence) => sequence === null).length, 1)
    const sequence = put.find((each) => each !== null)!
    t.match(await other.rates.find(name), { sequence, value: { name, level: put.indexOf(sequence) } })
    t.equal(await one.rates.put(name, { level: 7 }, sequence - 1), null)
    const next = await other.rates.put(name, { level: 8 }, sequence)
    t.match(await one.rates.find(name), { sequence: next, value: { level: 8 } })
    t.equal(await one.rates.put('another', { level: 9 }, 0), next! + 1)
  })

  await t.test('a server that forgot the stream is given it again', async (t) => {
    const { rates, logger } = await open(t, access, { name: 'FORGOTTEN' })
    const sequence = await rates.put('limit', { level: 1 }, 0)
    await server.stop()
    await t.rejects(rates.find('limit'), { code: 'log_unavailable', retryAfterSeconds: 1 })
    await server.start()
    await until(() =>
      rates.find('limit').then(
        (found) => found.value === null,
        () => false,
      ),
    )
    t.equal(await rates.put('limit', { level: 1 }, sequence!), null, 'what was known of it does not stand any more')
    t.ok((await rates.put('limit', { level: 1 }, 0)) !== null)
    t.same(
      logger.lines.map(({ event }) => event),
      ['rates.store_unavailable', 'rates.store_available'],
    )
  })

  await t.test('a stream with other settings is refused', async (t) => {
    const connection = await connectNats(access)
    t.teardown(() => connection.close())
    const jsm = await jetstreamManager(connection)
    await jsm.streams.add({ name: 'OTHER_RATES', subjects: ['other.rate.*'], max_msgs_per_subject: 5 })
    const options = { connection, name: 'OTHER', role: 'edge', replicas: 1, logger: recordingLogger() }
    await t.rejects(
      ensureRates(options),
      /cannot hold the rates: .*storage is "file", not "memory".*max_msgs_per_subject is 5, not 1/,
    )
  })
})

t.test('a cluster with a user for each role', async (t) => {
  const cluster = await NatsCluster.create()
  t.teardown(() => cluster.remove())
  const accessOf = (role: 'edge' | 'operator' | 'proxy') => ({ ...cluster.accessOf(role), role, name: role })
  await t.rejects(
    open(t, accessOf('edge'), { replicas: 3 }),
    /the rates GATEWAY_RATES does not exist, and this user may not make it/,
  )
  const connection = await connectNats(accessOf('operator'))
  t.teardown(() => connection.close())
  await ensureRates({ connection, name: 'GATEWAY', role: 'operator', replicas: 3, logger: recordingLogger() })
  const { rates } = await open(t, accessOf('edge'), { replicas: 3 })
  const sequence = await rates.put('limit', { level: 1 }, 0)
  t.match(await rates.find('limit'), { sequence, value: { level: 1 } })

  const leader = await cluster.leaderOf('GATEWAY_RATES')
  await cluster.kill(leader ?? 0)
  await until(() =>
    rates.find('limit').then(
      (found) => found.sequence === sequence,
      () => false,
    ),
  )
  t.ok((await rates.put('limit', { level: 2 }, sequence!)) !== null, 'another node has the record')
  await cluster.start(leader ?? 0)
})
