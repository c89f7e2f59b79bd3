import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { openPlatform, requireTables } from '../../../src/cli/platform.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { configOf, openOperator, runtime, temporaryFolder } from '../../support/gateway.ts'

t.test('the log of an earlier day under tables of a later one', async (t) => {
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const dataFolder = await temporaryFolder(t)
  const config = configOf(dataFolder, sandbox.url, {})
  const [store, backup] = [join(dataFolder, 'nats'), join(dataFolder, 'backup')]
  const start = (): ReturnType<typeof startGateway> => startGateway(config, runtime, () => {})
  const serve = async (requests: number): Promise<void> => {
    const gateway = await start()
    for (let request = 0; request < requests; request += 1)
      t.equal((await chat(gateway.url, gateway.demoKey!, chatBody('openai/plain', false))).status, 200)
    const operator = await openOperator(config)
    const { database } = requireTables(operator.platform)
    await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
    await operator.stop()
    await gateway.stop()
  }
  await serve(2)
  await cp(store, backup, { recursive: true })
  await serve(3)
  await rm(store, { recursive: true })
  await cp(backup, store, { recursive: true })

  await t.rejects(start(), { message: /tables are at sequence \d+, but the log ends at \d+.*drop the schema/ })

  const platform = await openPlatform(config, runtime, {
    role: 'operator',
    embedded: 'any',
    onFatal: (fault) => t.fail(fault.message),
  })
  const { place } = requireTables(platform)
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  await client.query(`drop schema ${place.schema} cascade`)
  await client.end()
  await platform.stop()
  await serve(1)
  const again = await openOperator(config)
  t.teardown(() => again.stop())
  const bills = (await again.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, 3, 'two from before the backup, one from after it was restored')
})
