import { readFile, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startSandbox } from '../../../../sandbox/server.ts'
import { chatBody, until } from '../../../support/clients.ts'
import { prepareDataFolder } from '../../../support/clusters.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../../../support/gateway.ts'
import { GatewayProcess } from '../../../support/gateway-process.ts'
import { isLong } from '../../../support/long-form.ts'
import { scrape } from '../../../support/metrics.ts'

const restarts = Number(process.env['CHAOS_ROUNDS'] ?? 1)
const clients = 4
/** Between a client's requests: most of the machine is for the processes that start. */
const thinkMs = isLong ? 20 : 80
const limitedPerMinute = 240

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

/** `200`, the status and body of a refusal, or why there is no whole answer. */
const ask = (url: string, key: string, agent: Agent, model = 'openai/plain'): Promise<string> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const asked = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      response.on('error', (fault: NodeJS.ErrnoException) => resolve(`cut: ${fault.code}`))
      let body = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece
      })
      response.on('end', () => {
        if (!response.complete) resolve('incomplete')
        else resolve(response.statusCode === 200 ? '200' : `${response.statusCode}: ${body}`)
      })
    })
    asked.on('error', (fault: NodeJS.ErrnoException) => resolve(`none: ${fault.code}`))
    asked.end(chatBody(model, false))
  })

t.test(
  'workers that are restarted under load, killed, and stopped',
  { timeout: 180_000 + 60_000 * restarts },
  async (t) => {
    const dataFolder = await temporaryFolder(t)
    await prepareDataFolder(dataFolder)
    const sandbox = await startSandbox(runtime)
    t.teardown(() => sandbox.stop())
    const speaks = { name: 'limited', dialect: 'openai', profile: 'openai' } as const
    const upstream = { ...speaks, baseUrl: sandbox.url, apiKey: 'sk-upstream-secret' }
    const only = { name: 'only', weight: 1, requestsPerMinute: limitedPerMinute, provider: upstream }
    const config = configOf(dataFolder, sandbox.url, {
      providers: [{ ...upstream, models: {}, deployments: [only] }],
      sheets: { 'openai/plain': sheetOf(), 'limited/plain': sheetOf() },
    })
    const observe = { host: '127.0.0.1', port: 0 }
    const gateway = await GatewayProcess.start({ ...config, observe }, { workers: 2, logLevel: 'info' })
    const operator = await openOperator(config)
    const outcomes = new Map<string, number>()
    // On a machine that is too busy to sync the log in time, requests are refused, whether workers are replaced or not.
    const note = (outcome: string): void => {
      if (!outcome.includes('"log_unavailable"')) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }

    const keptAlive = new Agent({ keepAlive: true })
    const anew = new Agent({ keepAlive: false })
    const askedMs = performance.now()
    const asks = Array.from({ length: 60 }, () => ask(gateway.url, gateway.demoKey, anew, 'limited/plain'))
    const admitted = (await Promise.all(asks)).filter((outcome) => outcome === '200')
    const perSecond = limitedPerMinute / 60
    const most = limitedPerMinute / 30 + (perSecond * (performance.now() - askedMs)) / 1_000 + 2
    t.ok(
      admitted.length <= most,
      `${admitted.length} of at most ${most}: the workers have the deployment's limit together`,
    )
    for (const outcome of admitted) note(outcome)

    let isLoaded = true
    t.teardown(() => {
      isLoaded = false // Also after a failure: its clients would ask for ever.
      keptAlive.destroy()
    })
    const load = Array.from({ length: 2 * clients }, async (_, index) => {
      while (isLoaded) {
        note(await ask(gateway.url, gateway.demoKey, index < clients ? keptAlive : anew))
        await pause(thinkMs)
      }
    })
    for (let round = 1; round <= restarts; round += 1) {
      gateway.tell('SIGUSR2')
      await until(() => linesOf(gateway, 'supervisor.restarted').length === round, 60_000)
    }
    const file = join(dataFolder, 'gateway.yaml')
    const configured = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify({ ...configured, aliases: { ...configured.aliases, other: 'openai/plain' } }))
    gateway.tell('SIGHUP')
    await until(() => linesOf(gateway, 'config.reloaded').length === 4, 30_000)
    note(await ask(gateway.url, gateway.demoKey, anew, 'other'))
    await writeFile(file, JSON.stringify({ ...configured, aliases: { other: 'nowhere/plain' } }))
    gateway.tell('SIGHUP')
    await until(() => linesOf(gateway, 'config.rejected').length === 1, 30_000)
    const rejecting = async () =>
      (await scrape(gateway.observeUrl)).text.match(/^gateway_config_rejected\S* 1$/gm)?.length
    await until(async () => (await rejecting()) === 3, 30_000)
    note(await ask(gateway.url, gateway.demoKey, anew, 'other'))
    t.equal(
      linesOf(gateway, 'config.reloaded').length,
      4,
      'all processes have changed once, and none to what is invalid',
    )
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
    t.equal(linesOf(gateway, 'supervisor.process_ended').length, 1, 'it started although its files cannot be used')
    await until(async () => (await rejecting()) === 3, 30_000)
    note(await ask(gateway.url, gateway.demoKey, anew, 'other'))
    await writeFile(file, JSON.stringify(configured))
    gateway.tell('SIGHUP')
    await until(() => linesOf(gateway, 'config.usable').length === 1, 30_000)
    for (let requests = 0; requests < 2 * clients; requests += 1) note(await ask(gateway.url, gateway.demoKey, anew))
    t.same([...outcomes.keys()], ['200'])

    const served = outcomes.get('200')
    const billed = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
    t.equal(billed.length, served, 'one bill for each answer')
    t.equal(sandbox.calls().length, served, 'and one call upstream')
    await operator.stop()
    t.equal(await gateway.end('SIGTERM'), 0)
  },
)
