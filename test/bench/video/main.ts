/**
 * `make bench-video`: submits with their holds against a bare POST that waits for one synced publish, in turn; then all of them brought to
 * their ends; then many open tasks in one video-poller. The ledger is checked after each against the vendor's own count. Exits with 1 when
 * it is wrong; targets are reported, not enforced.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { pollerLimits } from '../../../src/roles/video-poller/limits.ts'
import { startRoles } from '../apart/roles.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { openBooks } from '../ledger.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { openAccounts } from './accounts.ts'
import { installVideo, startWhole } from './installation.ts'
import { type Checked, checkHeld, checkSettled, countOpenTasks } from './ledger.ts'
import { measureOpenTasks, type OpenTasks } from './open-tasks.ts'
import { type Report, reportText, type Settling, targetsOf } from './report.ts'
import { type Cell, measureSubmits, rowsOf, ways } from './submits.ts'
import type { VendorCount, VendorQuestion } from './vendor.ts'

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      workspaces: { type: 'string', default: '1000' },
      tasks: { type: 'string', default: '10000' }, // Open at once.
      watch: { type: 'string', default: '30' }, // Seconds.
      ...placeOptions,
    },
  })
  const { seconds, rounds, connections, workspaces, tasks, watch, folder, json } = values
  return {
    seconds: numberOf(seconds),
    rounds: numberOf(rounds),
    connections: connections.split(',').map(numberOf),
    workspaces: numberOf(workspaces),
    tasks: numberOf(tasks),
    watchedSeconds: numberOf(watch),
    folder,
    json,
  }
}
type Options = ReturnType<typeof readOptions>

/** While submits are measured: what an account usually allows. */
const usualCallsPerSecond = 10
/** Otherwise: what one process makes of them is the question. */
const manyCallsPerSecond = 2_000
/** A poller that was started anew first lets that time pass in which what it may have submitted before could still arrive. */
const settleWithinSeconds = 600 + pollerLimits.taskDoubtMs / 1_000
const lookMs = 5_000

interface Place {
  readonly folder: string
  readonly vendorUrl: string
  readonly vendor: BenchProcess
  readonly load: BenchProcess
  /** Submits that were accepted so far. */
  accepted: number
}

const countOf = (vendor: BenchProcess, directives: string | null = null): Promise<VendorCount> =>
  vendor.ask<VendorCount>({ directives } satisfies VendorQuestion)

const cellLine = ({ connections, measured }: Cell): string =>
  `${String(connections).padStart(4)} connections: ${ways
    .map((way) => `${way} ${Math.round(measured[way].result.perSecond)}/s`)
    .join(', ')}`

interface Submits {
  readonly cells: readonly Cell[]
  readonly keys: readonly string[]
  readonly ledger: Checked
}

const measureAllSubmits = async (place: Place, options: Options): Promise<Submits> => {
  await using stack = new AsyncDisposableStack()
  const { folder, vendorUrl, vendor, load } = place
  const gateway = await startWhole(installVideo(folder, vendorUrl, usualCallsPerSecond), stack)
  const keys = await openAccounts(gateway, options.workspaces)
  const { books, addresses } = await openBooks(gateway, stack)
  const post = stack.adopt(startProcess('video/synced-post.ts', [addresses.natsUrl]), (each) => each.stop())
  const { url: postUrl } = await post.ask<ServerAddress>()
  const cells: Cell[] = []
  for await (const { cell, warmUp } of measureSubmits({ load, gateway, postUrl, books, keys }, options)) {
    progress(`${warmUp ? 'warm-up  ' : 'measured '} ${cellLine(cell)}`)
    for (const way of ways) if (way !== 'synced post') place.accepted += cell.measured[way].result.answers
    if (!warmUp) cells.push(cell)
  }
  const database = stack.adopt(openDatabase(addresses.databaseUrl), (each) => each.close())
  const ledger = await checkHeld(gateway, database, place.accepted, () => countOf(vendor))
  return { cells, keys, ledger }
}

/** Lets all tasks come to their ends. */
const settleAll = async (place: Place): Promise<{ readonly settling: Settling; readonly ledger: Checked }> => {
  await using stack = new AsyncDisposableStack()
  const { folder, vendorUrl, vendor, accepted } = place
  const gateway = await startWhole(installVideo(folder, vendorUrl, manyCallsPerSecond), stack)
  const { books, addresses } = await openBooks(gateway, stack)
  const database = stack.adopt(openDatabase(addresses.databaseUrl), (each) => each.close())
  const open = await countOpenTasks(database)
  const fromMs = performance.now()
  for (let left = open; left > 0; left = await countOpenTasks(database)) {
    if (performance.now() - fromMs > settleWithinSeconds * 1_000) throw new Error(`${left} tasks do not settle`)
    progress(`settling  ${left} tasks are open`)
    await delay(lookMs)
  }
  await books.settled()
  const seconds = (performance.now() - fromMs) / 1_000
  const ledger = await checkSettled(gateway, database, accepted, await countOf(vendor))
  return { settling: { tasks: open, seconds }, ledger }
}

const rolesApart = ['projector', 'scheduler', 'video-poller'] as const

const measureManyOpen = async (
  place: Place,
  keys: readonly string[],
  options: Options,
): Promise<{ readonly openTasks: OpenTasks; readonly ledger: Checked }> => {
  await using stack = new AsyncDisposableStack()
  const { folder, vendorUrl, vendor, load } = place
  const installation = installVideo(folder, vendorUrl, manyCallsPerSecond)
  const openAccount = async (): Promise<string> => keys[0]!
  const gateway = stack.adopt(await startRoles(installation, { roles: rolesApart, openAccount }), (each) => each.stop())
  await countOf(vendor, '[[never]]')
  const { books, addresses } = await openBooks(gateway, stack)
  const openTasks = await measureOpenTasks({ load, vendor, gateway, keys }, options.tasks, options.watchedSeconds)
  place.accepted += options.tasks
  await books.settled()
  const database = stack.adopt(openDatabase(addresses.databaseUrl), (each) => each.close())
  const ledger = await checkHeld(installation, database, place.accepted, () => countOf(vendor))
  return { openTasks, ledger }
}

const measureAll = async (options: Options, stack: AsyncDisposableStack): Promise<Report> => {
  const folder = await temporaryFolder(options.folder, stack)
  const started = (script: string): BenchProcess => stack.adopt(startProcess(script), (each) => each.stop())
  const vendor = started('video/vendor.ts')
  const { url: vendorUrl } = await vendor.ask<ServerAddress>()
  await countOf(vendor, '[[queue_ms=0;run_ms=0]]')
  const place: Place = { folder, vendorUrl, vendor, load: started('video/load.ts'), accepted: 0 }
  const submits = await measureAllSubmits(place, options)
  const settled = await settleAll(place)
  const many = await measureManyOpen(place, submits.keys, options)
  const { rounds, seconds, workspaces, connections } = options
  return {
    rounds,
    seconds,
    workspaces,
    rows: rowsOf(submits.cells, connections),
    cells: submits.cells,
    settling: settled.settling,
    openTasks: many.openTasks,
    ledgers: [submits.ledger, settled.ledger, many.ledger],
  }
}

const options = readOptions()
const report = await runToEnd((stack) => measureAll(options, stack))
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = report.ledgers.every(({ differences }) => differences.length === 0) ? 0 : 1
