import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startSandbox } from '../../sandbox/server.ts'
import { Clients, chat, chatBody, until } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../support/gateway.ts'
import { GatewayProcess } from '../support/gateway-process.ts'
import { randomOf } from '../support/random.ts'

const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 2)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)

t.test(
  `kill -9 of the gateway under load, ${rounds} rounds, seed ${seed}`,
  { timeout: 60_000 + rounds * 30_000 },
  async (t) => {
    const random = randomOf(seed)
    const dataFolder = await temporaryFolder(t)
    await prepareDataFolder(dataFolder)
    const sandbox = await startSandbox(runtime)
    t.teardown(() => sandbox.stop())
    const config = configOf(dataFolder, sandbox.url, { sheets: { 'openai/plain': sheetOf() } })
    const answered = new Set<string>()

    for (let round = 0; round < rounds; round += 1) {
      const gateway = await GatewayProcess.start(config)
      const clients = new Clients(16, () =>
        chat(gateway.url, gateway.demoKey, chatBody('openai/plain', random() < 0.5)),
      )
      await until(() => clients.journal.filter(({ complete, status }) => complete && status === 200).length > 10)
      await pause(200 + random() * 1_500)
      await gateway.end('SIGKILL')
      const journal = await clients.stop()
      for (const { requestId, complete, status } of journal)
        if (complete && status === 200 && requestId !== null) answered.add(requestId)
    }

    const survivor = await GatewayProcess.start(config)
    const operator = await openOperator(config)
    t.teardown(async () => {
      await operator.stop()
      await survivor.end('SIGTERM')
    })
    const bills = new Map<string, number>()
    for (const event of await operator.events())
      if (event.type === 'UsageRecorded') bills.set(event.data.requestId, (bills.get(event.data.requestId) ?? 0) + 1)

    t.ok(answered.size > rounds * 10, `${answered.size} answers were acknowledged`)
    t.same(
      [...answered].filter((requestId) => !bills.has(requestId)),
      [],
      'every acknowledged answer has its bill',
    )
    t.same(
      [...bills].filter(([, count]) => count > 1),
      [],
      'no request has two',
    )
    t.ok(sandbox.totals().calls >= bills.size, 'nothing is billed that the upstream did not serve')
  },
)
