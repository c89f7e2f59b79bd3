import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Ended, programEnvironment } from '../support/program.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

export interface Release {
  readonly name: string
  /** A checkout with its packages. */
  readonly folder: string
  /** For `serve`, besides the port. */
  readonly options: readonly string[]
}

export const thisRelease: Release = { name: 'this release', folder: repository, options: ['--observe-port', 'off'] }

const unpack = (commit: string, folder: string): Promise<unknown> =>
  run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'unpack', commit, folder], { cwd: repository })

/** The files of a commit, with the packages of its lockfile; kept for the next run. Not below `node_modules`: Node strips no types there. */
export const installRelease = async (name: string, commit: string, options: readonly string[]): Promise<Release> => {
  const folder = join(tmpdir(), 'gateway-releases', commit)
  if (existsSync(folder)) return { name, folder, options }
  const unfinished = `${folder}.unfinished`
  mkdirSync(unfinished, { recursive: true })
  await unpack(commit, unfinished)
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: unfinished })
  renameSync(unfinished, folder)
  return { name, folder, options }
}

const nodeOf = ({ folder }: Release): string => join(folder, 'node_modules', '.bin', 'node')

const spawnRelease = (release: Release, dataFolder: string, words: readonly string[]): ChildProcess =>
  spawn(nodeOf(release), ['src/main.ts', '--data', dataFolder, ...words], {
    cwd: release.folder,
    env: programEnvironment({ NO_COLOR: '1' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })

export const runRelease = async (release: Release, dataFolder: string, ...words: readonly string[]): Promise<Ended> => {
  const child = spawnRelease(release, dataFolder, words)
  const [out, err, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')])
  return { code: Number(code), out, err }
}

export interface Running {
  readonly release: Release
  readonly process: ChildProcess
  /** Of its demo workspace. */
  readonly key: string
}

/** Resolves when it answers; rejects with what it wrote when it ended before. */
export const startRelease = async (release: Release, dataFolder: string, port: number): Promise<Running> => {
  const child = spawnRelease(release, dataFolder, ['serve', '--port', String(port), ...release.options])
  let written = ''
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
    written += piece
  })
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout! })) {
    written += `${line}\n`
    const key = /Demo key: (\S+)/.exec(line)?.[1]
    if (key === undefined) continue
    child.stdout!.resume()
    return { release, process: child, key }
  }
  await closed
  throw new Error(`${release.name} ended before it answered: ${written}`)
}

export const stopRelease = async ({ process }: Running): Promise<unknown> => {
  const exited = once(process, 'exit')
  process.kill('SIGTERM')
  const [code] = await exited
  return code
}
