import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { type Gateway, startGateway } from '../../../src/cli/gateway.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import type { Logger } from '../../../src/runtime/logger.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { configOf, openOperator, runtime, temporaryFolder } from '../../support/gateway.ts'
import { type LogLine, recordingLogger } from '../../support/log-lines.ts'

const ask = async ({ url, demoKey }: Gateway): Promise<number | null> =>
  (await chat(url, demoKey!, chatBody('openai/plain', false))).status

const readCharges = async ({ url, demoKey }: Gateway): Promise<number> =>
  (await fetch(`${url}/v1/ledger/charges`, { headers: { authorization: `Bearer ${demoKey}` } })).status

t.test('the log of an earlier day under tables of a later one', async (t) => {
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const config = configOf(dataFolder, sandbox.url, {})
  const [store, backup] = [join(dataFolder, 'nats'), join(dataFolder, 'backup')]
  const start = (logger: Logger = runtime.logger): ReturnType<typeof startGateway> =>
    startGateway(config, { ...runtime, logger }, (fault) => t.fail(fault.message))
  const startLogged = async () => {
    const lines: LogLine[] = []
    return [await start(recordingLogger(lines)), lines] as const
  }
  const connectToTables = async (): Promise<pg.Client> => {
    const operator = await openOperator(config)
    const { place } = requireTables(operator.platform)
    await operator.stop()
    const client = new pg.Client({ connectionString: place.url, options: `-c search_path=${place.schema}` })
    await client.connect()
    return client
  }
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

  const [gateway, lines] = await startLogged()
  t.equal(await ask(gateway), 200, 'it serves and bills')
  await until(() => lines.some(({ event }) => event === 'projection.other_log'))
  t.match(lines.find(({ event }) => event === 'projection.other_log')?.fields, {
    fault: { message: /tables are at sequence \d+, but the log ends at \d+.*drop the schema/ },
  })
  t.equal(await readCharges(gateway), 503, 'the tables of the later day are not read')

  const client = await connectToTables()
  await client.query('drop schema ledger cascade')
  await until(async () => (await readCharges(gateway)) === 200)
  await client.end()
  await gateway.stop()
  await serve(1)

  for (const forgery of ["first_frame = 'other:1'", 'sequence = 1000000000', 'sequence = 2']) {
    const running = await start()
    const tables = await connectToTables()
    // In one statement: the projector may go on between two, and what it wrote then would be written again.
    const { rows } = await tables.query(
      `update checkpoint set ${forgery} returning old.sequence as sequence, old.first_frame as first_frame`,
    )
    t.equal(await readCharges(running), 503, `${forgery}: while it runs`)
    await tables.end()
    await running.stop()
    const [restarted, logged] = await startLogged()
    t.equal(await readCharges(restarted), 503, 'after a restart')
    t.equal(await ask(restarted), 200, 'no process is kept from starting')
    await until(() => logged.some(({ event }) => event === 'projection.other_log'))
    const { sequence, first_frame } = rows[0]
    const mended = await connectToTables()
    await mended.query('update checkpoint set sequence = $1, first_frame = $2', [sequence, first_frame])
    await until(async () => (await readCharges(restarted)) === 200)
    await mended.end()
    await restarted.stop()
  }
  const again = await openOperator(config)
  t.teardown(() => again.stop())
  const bills = (await again.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, 7, 'two from before the backup, five from after it was restored')
})
