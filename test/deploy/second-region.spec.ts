import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { withFreshPorts } from '../../src/embedded/free-ports.ts'
import { users } from '../adapters/nats/cluster.ts'
import { NatsProcess } from '../adapters/nats/server.ts'
import { fencesOf } from '../structure/documentation.ts'
import { makeCertificates } from '../support/certificates.ts'
import { until } from '../support/clients.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { pickServerPorts } from '../support/ports.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string): Promise<string> => readFile(join(repository, name), 'utf8')
const passwords = users.map((user) => [`GATEWAY_${user.toUpperCase().replace('-', '_')}_PASSWORD`, `secret-${user}`])

interface RunningRegion {
  readonly connection: NatsConnection
}

interface RegionFiles {
  readonly text: string
  readonly accounts: string
}

const startRegion = async (
  t: Test,
  { text, accounts }: RegionFiles,
  [port, monitoringPort]: readonly [number, number],
): Promise<RunningRegion> => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'accounts.conf'), accounts)
  const listen = `listen: 127.0.0.1:${port}\nhttp: 127.0.0.1:${monitoringPort}\n`
  await writeFile(
    join(folder, 'nats.conf'),
    `${listen}${text.replace('store_dir: /data', `store_dir: "${folder}/store"`)}\ninclude accounts.conf\n`,
  )
  const server = new NatsProcess(join(folder, 'nats.conf'), monitoringPort, Object.fromEntries(passwords))
  t.teardown(() => server.stop())
  server.launch()
  await server.whenHealthy()
  const connection = await connect({ servers: `127.0.0.1:${port}`, user: 'by-hand', pass: 'secret-by-hand' })
  t.teardown(() => connection.close())
  return { connection }
}

t.test(
  'the log is copied to a second region by the files of the documentation, beside the users of deploy/',
  async (t) => {
    const page = { path: 'docs/deployment.md', text: await read('docs/deployment.md') }
    const example = fencesOf(page).find(({ body }) => body.includes('leafnodes'))?.body ?? ''
    const certificates = await makeCertificates()
    t.teardown(() => certificates.remove())
    // As the page has it: a user without `permissions` changes streams by hand.
    const accounts = (await read('deploy/nats/accounts.conf')).replace(
      'users: [',
      'users: [ { user: by-hand, password: secret-by-hand }',
    )
    const [west, east] = await withFreshPorts(async () => {
      const [leaf = 0, ...ports] = await pickServerPorts(5)
      const [westText = '', eastText = ''] = example
        .replace('0.0.0.0:7422', `127.0.0.1:${leaf}`)
        .replace('nats.west.example:7422', `localhost:${leaf}`)
        .replace('/secrets/node.pem', certificates.server.certFile)
        .replace('/secrets/node.key', certificates.server.keyFile)
        .replace('/secrets/ca.pem', certificates.caFile)
        .split('# in the second')
      const [first = 0, second = 0, third = 0, fourth = 0] = ports
      const west = await startRegion(t, { text: westText, accounts }, [first, second])
      return [west, await startRegion(t, { text: `#${eastText}`, accounts }, [third, fourth])]
    })
    const [ofWest, ofEast] = [await jetstreamManager(west.connection), await jetstreamManager(east.connection)]
    const { config } = await ofWest.streams.add({
      name: 'GATEWAY',
      subjects: ['gateway.journal.*', 'gateway.wallet.*'],
      storage: StorageType.File,
      deny_delete: true,
      deny_purge: true,
    })
    await jetstream(west.connection).publish('gateway.journal.edge', 'a frame')
    const { subjects, duplicate_window, ...settings } = config
    await ofEast.streams.add({ ...settings, mirror: { name: 'GATEWAY', domain: 'west' } })
    await until(async () => (await ofEast.streams.info('GATEWAY')).state.last_seq === 1)
    t.match(await ofEast.streams.info('GATEWAY'), { mirror: { lag: 0 } })
  },
)
