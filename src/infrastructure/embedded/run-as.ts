import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { faultCode } from '../../errors.ts'
import { limits } from '../../limits.ts'

const run = promisify(execFile)

const databaseUser = 'postgres'

/** The user that a child runs as; empty: ours. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
  /** The child may pass folders that are closed to its user, such as a checkout in root's home. */
  readonly passesClosedFolders?: boolean
}

interface Start {
  readonly file: string
  readonly args: readonly string[]
  readonly user: { readonly uid?: number; readonly gid?: number }
}

const passing = '+dac_override,+dac_read_search'

/** How a command is started as an identity. */
export const startAs = ({ uid, gid, passesClosedFolders }: Identity, file: string, args: readonly string[]): Start => {
  if (uid === undefined || gid === undefined) return { file, args, user: {} }
  if (passesClosedFolders !== true) return { file, args, user: { uid, gid } }
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  return {
    file: 'setpriv',
    args: [...user, `--inh-caps=${passing}`, `--ambient-caps=${passing}`, file, ...args],
    user: {},
  }
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

const canEnter = async (identity: Identity, folder: string): Promise<boolean> => {
  const { file, args, user } = startAs(identity, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder])
  return run(file, [...args], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

/**
 * PostgreSQL refuses to run as root: then it runs as the user `postgres`, who is created where missing. Where that user cannot enter
 * all of `folders`, it gets the capability to, if the system can grant it.
 */
export const databaseIdentity = async (folders: readonly string[]): Promise<Identity> => {
  if (process.getuid?.() !== 0) return {}
  const user = await findUser().catch(createUser)
  const entered = await Promise.all(folders.map((folder) => canEnter(user, folder)))
  if (!entered.includes(false)) return user
  const capable = { ...user, passesClosedFolders: true }
  return (await canEnter(capable, '/')) ? capable : user
}

const closedFolder = (path: string): string | null => {
  const folder = dirname(path)
  if ((statSync(folder).mode & 0o001) === 0) return folder
  return folder === dirname(folder) ? null : closedFolder(folder)
}

const unreachable = (path: string, cause?: unknown): Error => {
  const folder = closedFolder(path)
  const why = folder === null ? '' : `: ${folder} is closed to other users (chmod o+x ${folder} would let it pass)`
  return new Error(
    `started by root, PostgreSQL runs as the user ${databaseUser}, who cannot reach ${path}${why}; or run the gateway as another user, or move it`,
    { cause },
  )
}

/** Throws an error that names the folder in the way when the identity cannot enter `folder`. */
export const mustEnter = async (identity: Identity, folder: string): Promise<void> => {
  if (!(await canEnter(identity, folder))) throw unreachable(folder)
}

const refusal = (binary: string, error: unknown): Error => {
  if (faultCode(error) === 'ENOENT') return new Error(`there is no ${binary}`, { cause: error })
  if (faultCode(error) === 'EACCES') return unreachable(binary, error)
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
  return new Error(`${binary} does not run here: ${said}`, { cause: error })
}

/** What `binary --version` prints; throws an error that says why it cannot be run. */
export const versionOf = async (binary: string, identity: Identity = {}): Promise<string> => {
  try {
    const { file, args, user } = startAs(identity, binary, ['--version'])
    return (await run(file, [...args], { ...user, cwd: '/', timeout: limits.startMs })).stdout.trim()
  } catch (error) {
    throw refusal(binary, error)
  }
}
