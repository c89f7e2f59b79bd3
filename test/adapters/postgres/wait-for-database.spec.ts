import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { createDatabase, waitForDatabase } from '../../../src/adapters/postgres/wait-for-database.ts'
import { startEmbedded } from '../../../src/embedded/embedded.ts'
import { pickPorts } from '../../../src/embedded/free-ports.ts'
import { silentLogger } from '../../support/log-lines.ts'

t.test('a database is created once and answers', async (test) => {
  const dataFolder = join(test.testdir({}), 'data')
  const { databaseUrl, stop } = await startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger })
  test.teardown(stop)
  const newUrl = Object.assign(new URL(databaseUrl), { pathname: '/a "new" one' }).href
  await test.rejects(waitForDatabase(newUrl, 60_000), { code: '3D000' }, 'refused at once, not after a minute')
  await createDatabase(databaseUrl, 'a "new" one')
  await createDatabase(databaseUrl, 'a "new" one')
  await waitForDatabase(newUrl, 60_000)
})

t.test('waiting ends after its time, or with its signal', async (test) => {
  const [port] = await pickPorts(1)
  const url = `postgres://nobody@127.0.0.1:${port}/none`
  await test.rejects(waitForDatabase(url, 50), { code: 'ECONNREFUSED' })
  const controller = new AbortController()
  const waits = waitForDatabase(url, 60_000, controller.signal)
  controller.abort()
  await test.rejects(waits, { code: 'ECONNREFUSED' })
})

t.test('a server that hangs up is asked again until the time is over', async (test) => {
  let asked = 0
  const server = createServer((socket) => {
    asked++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  const { port } = server.address() as { readonly port: number }
  await test.rejects(waitForDatabase(`postgres://nobody@127.0.0.1:${port}/none`, 200))
  test.ok(asked > 1)
})
