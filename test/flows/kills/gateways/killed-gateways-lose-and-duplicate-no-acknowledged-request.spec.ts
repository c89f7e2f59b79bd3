import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startSandbox } from '../../../../sandbox/server.ts'
import { checkBilledOnce } from '../../../support/bills.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../../support/clients.ts'
import { prepareDataFolder } from '../../../support/clusters.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../../../support/gateway.ts'
import { GatewayProcess } from '../../../support/gateway-process.ts'
import { randomOf } from '../../../support/random.ts'

const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 1)
/** The short form shares the machine: of fewer requests, slower ones, as many are under way when the gateway is killed. */
const [thinkMs, upstreamMs] = rounds === 1 ? [50, 100] : [0, 0]
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)

t.test(`kill -9 of the gateway under load, ${rounds} rounds, seed ${seed}`, async (t) => {
  const random = randomOf(seed)
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(dataFolder, sandbox.url, {
    models: { slow: `slow;delay_ms=${upstreamMs}` },
    sheets: { 'openai/slow': sheetOf() },
  })
  const journal: Seen[] = []

  for (let round = 0; round < rounds; round += 1) {
    const gateway = await GatewayProcess.start(config)
    const clients = new Clients(16, async () => {
      const seen = await chat(gateway.url, gateway.demoKey, chatBody('openai/slow', random() < 0.5))
      await pause(thinkMs)
      return seen
    })
    await until(() => clients.journal.filter(({ complete, status }) => complete && status === 200).length > 10)
    await pause(200 + random() * 1_500)
    await gateway.end('SIGKILL')
    journal.push(...(await clients.stop()))
  }

  const survivor = await GatewayProcess.start(config)
  const operator = await openOperator(config)
  t.teardown(async () => {
    await operator.stop()
    await survivor.end('SIGTERM')
  })
  const bills = await checkBilledOnce(t, operator, journal)
  t.ok(bills > rounds * 10, 'the gateway was killed under load')
  t.ok(sandbox.totals().calls >= bills, 'nothing is billed that the upstream did not serve')
})
