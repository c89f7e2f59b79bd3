import { Agent, request } from 'node:http'
import t from 'tap'
import { startSandbox } from '../../../../sandbox/server.ts'
import { chatBody, until } from '../../../support/clients.ts'
import { prepareDataFolder } from '../../../support/clusters.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../../../support/gateway.ts'
import { GatewayProcess } from '../../../support/gateway-process.ts'

const restarts = Number(process.env['CHAOS_ROUNDS'] ?? 1)
const clients = 4

interface ProcessLine {
  readonly event: string
  readonly process: string
  readonly pid: number
}

const linesOf = ({ logged }: GatewayProcess, code: string): readonly ProcessLine[] =>
  logged
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ProcessLine)
    .filter(({ event }) => event === code)

/** The status of a whole answer, or why there is none. */
const ask = (url: string, key: string, agent: Agent): Promise<string> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const asked = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      response.on('error', (fault: NodeJS.ErrnoException) => resolve(`cut: ${fault.code}`))
      response.on('end', () => resolve(response.complete ? String(response.statusCode) : 'incomplete'))
      response.resume()
    })
    asked.on('error', (fault: NodeJS.ErrnoException) => resolve(`none: ${fault.code}`))
    asked.end(chatBody('openai/plain', false))
  })

t.test('workers that are restarted under load, killed, and stopped', { timeout: 240_000 }, async (t) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(dataFolder, sandbox.url, { sheets: { 'openai/plain': sheetOf() } })
  const gateway = await GatewayProcess.start(config, { workers: 2, logLevel: 'info' })
  const operator = await openOperator(config)
  const outcomes = new Map<string, number>()
  const note = (outcome: string): unknown => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)

  let isLoaded = true
  const keptAlive = new Agent({ keepAlive: true })
  const anew = new Agent({ keepAlive: false })
  t.teardown(() => keptAlive.destroy())
  const load = Array.from({ length: 2 * clients }, async (_, index) => {
    while (isLoaded) note(await ask(gateway.url, gateway.demoKey, index < clients ? keptAlive : anew))
  })
  for (let round = 1; round <= restarts; round += 1) {
    gateway.tell('SIGUSR2')
    await until(() => linesOf(gateway, 'supervisor.restarted').length === round, 60_000)
  }
  isLoaded = false
  await Promise.all(load)
  t.same([...outcomes.keys()], ['200'], 'each request has its whole answer')
  t.equal(linesOf(gateway, 'supervisor.process_started').length, 3 * (restarts + 1))
  t.same(linesOf(gateway, 'supervisor.process_ended'), [])

  const worker = linesOf(gateway, 'supervisor.process_started').findLast(({ process }) => process === 'worker-1')!
  note(await ask(gateway.url, gateway.demoKey, anew))
  await until(() => operator.tail.ledger.wallets.get('demo')!.holds.size > 0)
  process.kill(worker.pid, 'SIGKILL')
  await until(() => linesOf(gateway, 'supervisor.process_ended').length > 0)
  t.match(linesOf(gateway, 'supervisor.process_ended'), [{ process: 'worker-1', pid: worker.pid, signal: 'SIGKILL' }])
  await until(() => linesOf(gateway, 'supervisor.process_started').length === 3 * (restarts + 1) + 1, 30_000)
  await until(() => operator.tail.ledger.wallets.get('demo')!.holds.size === 0, 30_000)
  t.pass('what was set aside is available again')
  for (let requests = 0; requests < 2 * clients; requests += 1) note(await ask(gateway.url, gateway.demoKey, anew))
  t.same([...outcomes.keys()], ['200'])

  const served = outcomes.get('200')
  const billed = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(billed.length, served, 'one bill for each answer')
  t.equal(sandbox.calls().length, served, 'and one call upstream')
  await operator.stop()
  t.equal(await gateway.end('SIGTERM'), 0)
})
