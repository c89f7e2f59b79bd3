/**
 * Prints the files of `src` whose functions run for a chat request that is not streamed, with edge and proxy in one process; with
 * `--write` also into docs/architecture.md. Run by `make request-path`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type Profiler, Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startSandbox } from '../../sandbox/server.ts'
import { startGateway } from '../../src/cli/gateway.ts'
import { chat, chatBody } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { configOf, openOperator, runtime } from '../support/gateway.ts'

const sources = new URL('../../src/', import.meta.url).href
const rounds = 5
/** Between rounds, so that one does not count what the one before left to do. */
const pauseMs = 500
/** After the answer, until the edge has folded the closing event and ended the reservation. */
const foldMs = 50

/** A whole gateway has every role in its process: what the others do with the events of a request is not on its path. */
const besideThePath = /^(?:roles\/(?:projector|scheduler|video-poller)|audit|projections|adapters\/postgres)\//

const session = new Session()
session.connect()

/** A function that ran; one that begins with its file is the module itself. */
const hasRun = ({ ranges: [range] }: Profiler.FunctionCoverage): boolean =>
  range !== undefined && range.startOffset > 0 && range.count > 0

/** Also resets the counts. */
const takeRunFiles = async (): Promise<readonly string[]> => {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url, functions }) => url.startsWith(sources) && functions.some(hasRun))
    .map(({ url }) => url.slice(sources.length))
    .filter((file) => !besideThePath.test(file))
}

const measure = async (url: string, secret: string): Promise<readonly string[]> => {
  await setTimeout(pauseMs)
  await takeRunFiles()
  const { status } = await chat(url, secret, chatBody('openai/plain', false))
  if (status !== 200) throw new Error(`the request was answered ${status}`)
  await setTimeout(foldMs)
  return takeRunFiles()
}

const folder = await mkdtemp(join(tmpdir(), 'request-path-'))
await prepareDataFolder(folder)
const sandbox = await startSandbox(runtime)
const config = configOf(folder, sandbox.url, {})
const gateway = await startGateway(config, runtime, (fault) => {
  throw fault
})
const operator = await openOperator(config)
const { secret } = await operator.openAccount('acme', '100')
await operator.stop()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await measure(gateway.url, secret) // The first request loads modules and places an allowance.

let path: readonly string[] | null = null
for (let round = 0; round < rounds; round += 1) {
  const ran = await measure(gateway.url, secret)
  path = path === null ? ran : path.filter((file) => ran.includes(file)) // What timers run is not in every round.
}
await gateway.stop()
await sandbox.stop()
await rm(folder, { recursive: true })

const files = path?.toSorted() ?? []
const byFolder = Object.entries(Object.groupBy(files, dirname)).map(
  ([folder, found = []]) => `src/${folder}/: ${found.map((file) => basename(file, '.ts')).join(' ')}`,
)
const summary = [`${files.length} files`, ...byFolder].join('\n')
console.log(summary)

if (process.argv.includes('--write')) {
  const page = new URL('../../docs/architecture.md', import.meta.url)
  const block = /(?<=^<!-- make request-path -->\n```\n).*?(?=^```$)/ms
  writeFileSync(page, readFileSync(page, 'utf8').replace(block, `${summary}\n`))
}
