import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { residentBytes } from '../../bench/procfs.ts'
import { FuzzRun } from '../../fuzz/run.ts'
import { checkCharges } from '../../support/bills.ts'
import { chat, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { documentedModel, documentedSheets } from '../../support/documented-operations.ts'
import { configOf, type Operator, openOperator, runtime, temporaryFolder } from '../../support/gateway.ts'
import { GatewayProcess } from '../../support/gateway-process.ts'
import { scrape } from '../../support/metrics.ts'
import { runProgram } from '../../support/program.ts'
import { eventsOf, quick, videoOptions } from '../../support/video.ts'

const megabyte = 1024 * 1024
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 100_000)
/** The long form, `make fuzz`, has 100,000. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 150)
/** Of the runs, before memory is measured for the first time: caches, pools and the allocator have had their peaks by then. */
const warmUp = 0.5
/** Only a run that is long enough tells growth from noise. */
const measuredRunsMin = 20_000
/** What a process may hold more after the run than after its warm-up: keys, prices and tasks that the run made stay in its ledger. */
const growthBytesMax = 8 * megabyte
/** And what may be resident more: a later peak, of which V8 and the allocator keep what nothing holds. */
const residentGrowthBytesMax = 64 * megabyte
/** Of glibc: with one for each thread that allocates, some 75 MB more are resident, and 1 MB more with each 1,000 requests, though no more is held. */
const oneArena = { MALLOC_ARENA_MAX: '1' }
const answerMs = 120_000
const settledMs = 120_000

const bounds = {
  ...quick,
  edge: { headersTimeoutMs: 3_000, requestBodyTimeoutMs: 4_000, slowClientsCheckMs: 100, clientStallMs: 5_000 },
}

const start = async (t: Test) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const options = videoOptions(documentedSheets, {
    audit: { sealing: true, origin: 'gateway.test/ledger', signer: null, verifier: null, previous: [] },
    observe: { host: '127.0.0.1', port: 0 },
    logRequests: false,
  })
  const config = configOf(dataFolder, sandbox.url, options)
  const collector = new URL('../../fuzz/collect-garbage.ts', import.meta.url).href
  const gateway = await GatewayProcess.start(config, {
    bounds,
    env: { ...oneArena, NODE_OPTIONS: `--import=${collector}` },
  })
  t.teardown(() => gateway.end('SIGTERM'))
  const operator = await openOperator(config, bounds)
  t.teardown(() => operator.stop())
  const { secret } = await operator.openAccount('payer', '1000000')
  await operator.openAccount('acme', '1000')
  const adminToken = (await readFile(join(dataFolder, 'admin-token'), 'utf8')).trim()
  return { gateway, operator, dataFolder, secret, adminToken }
}

/** What a process holds once its garbage is collected. */
const heldBytes = async ({ pid, observeUrl }: GatewayProcess) => {
  for (let turn = 0; turn < 3; turn += 1) {
    process.kill(pid, 'SIGUSR2')
    await scrape(observeUrl)
  }
  const metrics = await scrape(observeUrl)
  const heap = metrics.value('nodejs_heap_size_used_bytes') ?? 0
  const external = metrics.value('nodejs_external_memory_bytes') ?? 0
  return { heldBytes: heap + external, residentBytes: residentBytes(pid) ?? 0 }
}

type Held = Awaited<ReturnType<typeof heldBytes>>

const heldText = ({ heldBytes, residentBytes }: Held): string =>
  `${(heldBytes / megabyte).toFixed(1)} MB held, ${(residentBytes / megabyte).toFixed(0)} MB resident`

/** For an answer whose tokens the gateway counts itself: the tables of its tokenizer, 20 MB, come with the first. */
const uncounted = JSON.stringify({
  model: documentedModel,
  messages: [{ role: 'user', content: 'Hello!' }],
  metadata: { sandbox: 'no_usage' },
})

/** Nothing is on its way any more: requests have their ends, videos theirs, and the tables follow. */
const settle = async ({ observeUrl }: GatewayProcess, operator: Operator): Promise<void> => {
  const { database } = requireTables(operator.platform)
  await until(async () => {
    const { value, values } = await scrape(observeUrl)
    const openTasks = Object.values(values('gateway_tasks_open')).reduce((sum, each) => sum + each, 0)
    return value('gateway_requests_unfinished') === 0 && openTasks === 0
  }, settledMs)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()), settledMs)
}

/** Every end of a request has its request, and every request one end. */
const checkEnds = async (t: Test, operator: Operator): Promise<void> => {
  const routed = (await eventsOf(operator, 'RequestRouted')).map(({ requestId }) => requestId)
  const charged = (await eventsOf(operator, 'UsageRecorded')).map(({ requestId }) => requestId)
  const failed = (await eventsOf(operator, 'RequestFailed')).map(({ requestId }) => requestId)
  t.comment(`${routed.length} requests in the log: ${charged.length} charged, ${failed.length} failed`)
  t.same(new Set([...charged, ...failed]), new Set(routed), 'the ends are those of the requests')
  t.equal(new Set(charged).size, charged.length, 'nothing is charged twice')
}

const faultLines = (logged: string): readonly string[] =>
  logged.split('\n').filter((line) => /"level":"error"/.test(line))

t.test(
  'requests, however wrong: no 500, no hang, no growth, and a ledger that holds',
  { timeout: 3_600_000 },
  async (t) => {
    t.comment(`FUZZ_SEED=${seed} FUZZ_RUNS=${runs}`)
    const { gateway, operator, dataFolder, secret, adminToken } = await start(t)
    const { url, observeUrl } = gateway
    const fuzz = await FuzzRun.open({
      gateway: { url, secret, adminToken, workspaceId: 'acme' },
      observeUrl,
      seed,
      answerMs,
    })
    t.teardown(() => fuzz.stop())
    await until(async () => (await chat(url, secret, uncounted)).status === 200)
    const startedMs = performance.now()
    await fuzz.send(0, runs * warmUp)
    if (runs >= measuredRunsMin) await settle(gateway, operator)
    const before = await heldBytes(gateway)
    await fuzz.send(runs * warmUp, runs)
    const seconds = (performance.now() - startedMs) / 1_000
    for (const fault of fuzz.faults) t.fail(fault)
    t.equal(fuzz.faultsCount, 0)
    t.comment(`${runs} requests in ${seconds.toFixed(1)} s: ${(runs / seconds).toFixed(0)} requests/s`)
    for (const [status, count] of [...fuzz.statuses].sort()) t.comment(`${status}: ${count}`)

    await settle(gateway, operator)
    const after = await heldBytes(gateway)
    t.comment(`after the warm-up ${heldText(before)}; after the run ${heldText(after)}`)
    if (runs >= measuredRunsMin) {
      t.ok(after.heldBytes - before.heldBytes < growthBytesMax, 'what is held does not grow')
      t.ok(after.residentBytes - before.residentBytes < residentGrowthBytesMax, 'nor does what is resident')
    }
    t.same(faultLines(gateway.logged), [], 'no fault of ours is logged')

    await checkEnds(t, operator)
    await checkCharges(t, { operator })
    const { comparisons } = await rebuildReadModels({
      log: operator.log,
      place: requireTables(operator.platform).place,
      swap: false,
    })
    t.same(
      comparisons.filter(({ differences }) => differences > 0),
      [],
      'the tables, wallets among them, are the fold of the log',
    )
    t.match(await runProgram(dataFolder, dataFolder, 'verify', '--events'), { code: 0 })
  },
)
