import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pickPorts } from '../../../src/embedded/free-ports.ts'
import { startDatabase } from './database.ts'
import type { Asked, Command, Peer, Place } from './peer.ts'

const readyWithinMs = 240_000
const stopWithinMs = 10_000
const pollMs = 50
const logTailMax = 2_000

export interface RunningPeer {
  readonly place: Place
  readonly asked: Asked
  /** Of its process and its PostgreSQL. */
  readonly pids: readonly number[]
}

export const isInstalled = (peer: Peer, installed: string): boolean => existsSync(join(installed, peer.program))

/** A group of its own, so that what it starts ends with it. */
const run = ({ file, args, environment }: Command, folder: string, stack: AsyncDisposableStack) => {
  const log = openSync(join(folder, 'peer.log'), 'w')
  const env = { PATH: process.env['PATH'], HOME: folder, TZ: 'UTC', ...environment }
  const child = spawn(file, args, { cwd: folder, detached: true, stdio: ['ignore', log, log], env })
  closeSync(log)
  const end = (signal: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal)
  }
  const atExit = (): void => end('SIGKILL')
  process.once('exit', atExit)
  stack.defer(async () => {
    process.off('exit', atExit)
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    end('SIGTERM')
    await Promise.race([ended, delay(stopWithinMs, null, { ref: false }).then(() => end('SIGKILL'))])
    await ended
  })
  return child
}

const answers = async (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ status }) => status < 500,
    () => false,
  )

/** Starts an installed peer in a new folder; rejects with the end of its log where it does not serve. */
export const startPeer = async (
  peer: Peer,
  { installed, folder, upstreamUrl }: Pick<Place, 'installed' | 'folder' | 'upstreamUrl'>,
  stack: AsyncDisposableStack,
): Promise<RunningPeer> => {
  const own = join(folder, peer.name)
  await mkdir(own)
  const database = peer.hasDatabase ? await startDatabase(own, stack) : null
  const [port = 0] = await pickPorts(1)
  const home = dirname(join(installed, peer.program))
  const place = { installed: home, folder: own, port, upstreamUrl, databaseUrl: database?.url ?? '' }
  const child = run(await peer.configure(place), own, stack)
  const untilMs = performance.now() + readyWithinMs
  while (!(await answers(`http://127.0.0.1:${port}${peer.readyPath}`))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > untilMs)
      throw new Error(
        `${peer.name} does not serve:\n${(await readFile(join(own, 'peer.log'), 'utf8')).slice(-logTailMax)}`,
      )
    await delay(pollMs)
  }
  return { place, asked: await peer.asked(place), pids: [child.pid!, ...(database === null ? [] : [database.pid])] }
}
