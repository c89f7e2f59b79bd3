import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { endProcess, isAlive, type ProcessIdentity } from '../../src/embedded/processes.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { inLongForm } from '../support/long-form.ts'
import { programEnvironment } from '../support/program.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))

interface RunByNpm {
  readonly npm: ChildProcess
  readonly url: string
  readonly key: string
  /** The gateway itself and its servers. */
  readonly processes: readonly ProcessIdentity[]
  readonly dataFolder: string
}

/** The gateway as npm runs it, through a shell, in a process group of its own as a terminal's. */
const startByNpm = async (t: Test): Promise<RunByNpm> => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const words = ['run', '-s', 'gateway', '--', '--data', dataFolder, 'serve', '--port', '0', '--observe-port', 'off']
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  const npm = spawn('npm', words, { cwd: repository, env: programEnvironment(), stdio: [...stdio], detached: true })
  t.teardown(() => npm.kill('SIGKILL'))
  let url: string | undefined
  for await (const line of createInterface({ input: npm.stdout! })) {
    url ??= /answers at (http:\S+)\/v1/.exec(line)?.[1]
    const key = /Demo key: (\S+)/.exec(line)?.[1]
    if (url === undefined || key === undefined) continue
    const { owner, servers } = readRecord(dataFolder)!
    const processes = [owner, ...servers]
    t.teardown(() => Promise.all(processes.map((each) => endProcess(each, ['SIGKILL']))))
    return { npm, url, key, processes, dataFolder }
  }
  throw new Error('npm ended before the gateway answered')
}

/** A stream of about a second, of which the first piece has come. */
const openStream = async ({ url, key }: RunByNpm): Promise<AsyncIterator<string>> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'openai/gpt-4o-mini',
      stream: true,
      messages: [{ role: 'user', content: 'Hello!' }],
      metadata: { sandbox: 'output_tokens=40;chunk_delay_ms=25' },
    }),
  })
  const pieces = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  await pieces.next()
  return pieces
}

const restOf = async (pieces: AsyncIterator<string>): Promise<string> => {
  let text = ''
  for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) text += piece.value
  return text
}

const stops = [
  { name: 'SIGTERM to npm alone, as an orchestrator sends it', group: false, signal: 'SIGTERM' },
  { name: 'SIGINT to all, as Ctrl-C sends it', group: true, signal: 'SIGINT' },
] as const

for (const { name, group, signal } of inLongForm(stops, ({ group }) => !group))
  t.test(`run by npm: ${name}, lets an answer end and leaves no process`, async (t) => {
    const run = await startByNpm(t)
    const exited = once(run.npm, 'exit')
    const pieces = await openStream(run)
    process.kill(group ? -run.npm.pid! : run.npm.pid!, signal)
    t.match(await restOf(pieces), /data: \[DONE\]\n\n$/)
    t.same(await exited, [0, null])
    t.notOk(run.processes.some(isAlive))
    t.equal(readRecord(run.dataFolder), null, 'nothing is left to clear')
  })
