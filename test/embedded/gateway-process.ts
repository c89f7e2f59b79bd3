/** A gateway reduced to its embedded servers: says their addresses, ends on SIGTERM, and on SIGINT checks them before it stops them. */

import { once } from 'node:events'
import { createConnection } from 'node:net'
import { waitForDatabase } from '../../src/adapters/postgres/wait-for-database.ts'
import { findEmbedded, startEmbedded } from '../../src/embedded/embedded.ts'
import { silentLogger } from '../support/log-lines.ts'

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

const [command, dataFolder = ''] = process.argv.slice(2)

const reachesNats = async (url: string) => {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'data')
  socket.destroy()
}

const serve = async () => {
  const embedded = await startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger })
  const { databaseUrl, natsUrl, natsMonitoringUrl } = embedded
  process.once('SIGTERM', () => embedded.stop())
  process.once('SIGINT', async () => {
    await waitForDatabase(databaseUrl, 1_000)
    await reachesNats(natsUrl)
    say({ serversAliveAfterInterrupt: true })
    await embedded.stop()
  })
  say({ databaseUrl, natsUrl, natsMonitoringUrl })
  // The servers alone do not keep a process alive; a real gateway has its HTTP server.
  const alive = setInterval(() => {}, 60_000)
  process.once('SIGTERM', () => clearInterval(alive)).once('SIGINT', () => clearInterval(alive))
}

const fail = (error: unknown) => {
  say({ error: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
}

if (command === 'find') say({ found: await findEmbedded(dataFolder) })
else await serve().catch(fail)
