import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { limits } from '../../limits.ts'

const run = promisify(execFile)

const databaseUser = 'postgres'

/** The user that a child runs as; empty: ours. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
}

const idOf = async (flag: '-u' | '-g'): Promise<number> => Number((await run('id', [flag, databaseUser])).stdout)

const findUser = async (): Promise<Identity> => ({ uid: await idOf('-u'), gid: await idOf('-g') })

const createUser = async (): Promise<Identity> => {
  try {
    await run('groupadd', ['-f', databaseUser])
    await run('useradd', ['-g', databaseUser, databaseUser])
    return await findUser()
  } catch (error) {
    throw new Error(
      `PostgreSQL refuses to run as root, and the user ${databaseUser} is missing and cannot be created: create it, or run the gateway as another user`,
      { cause: error },
    )
  }
}

/** PostgreSQL refuses to run as root: then it runs as the user `postgres`, who is created where missing. */
export const databaseIdentity = async (): Promise<Identity> =>
  process.getuid?.() === 0 ? findUser().catch(createUser) : {}

const closedFolder = (path: string): string | null => {
  const folder = dirname(path)
  if ((statSync(folder).mode & 0o001) === 0) return folder
  return folder === dirname(folder) ? null : closedFolder(folder)
}

const unreachable = (path: string, cause: unknown): Error => {
  const folder = closedFolder(path)
  const why = folder === null ? '' : `: ${folder} is closed to other users (chmod o+x ${folder} would let it pass)`
  return new Error(
    `started by root, PostgreSQL runs as the user ${databaseUser}, who cannot reach ${path}${why}; or run the gateway as another user, or move it`,
    { cause },
  )
}

/** Throws an error that names the folder in the way when the identity cannot enter `folder`. */
export const mustEnter = async (identity: Identity, folder: string): Promise<void> => {
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...identity, cwd: '/' })
  } catch (error) {
    throw unreachable(folder, error)
  }
}

const refusal = (binary: string, error: unknown): Error => {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
    return new Error(`there is no ${binary}`, { cause: error })
  if (error instanceof Error && 'code' in error && error.code === 'EACCES') return unreachable(binary, error)
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
  return new Error(`${binary} does not run here: ${said}`, { cause: error })
}

/** What `binary --version` prints; throws an error that says why it cannot be run. */
export const versionOf = async (binary: string, identity: Identity = {}): Promise<string> => {
  try {
    return (await run(binary, ['--version'], { ...identity, cwd: '/', timeout: limits.startMs })).stdout.trim()
  } catch (error) {
    throw refusal(binary, error)
  }
}
