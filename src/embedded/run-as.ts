import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { faultCode } from '../errors/gateway-error.ts'
import { sharedLimits } from '../runtime/limits.ts'

const run = promisify(execFile)

const databaseUser = 'postgres'

/** The user that a child runs as; empty: ours. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
  /** Lets the child pass folders that are closed to its user, such as a checkout in root's home. */
  readonly capability?: Capability
}

type Capability = 'dac_read_search' | 'dac_override'

// The one that permits less comes first; a Docker container has only the second.
const capabilities: readonly Capability[] = ['dac_read_search', 'dac_override']

interface Start {
  readonly file: string
  readonly args: readonly string[]
  readonly user: { readonly uid?: number; readonly gid?: number }
}

/** Without `no_setuid_fixup` the change of user drops the capability before exec, and initdb's access(2) ignores it. */
const withCapability = (uid: number, gid: number, capability: Capability): readonly string[] => {
  const only = `-all,+${capability}`
  return [
    ...['--securebits=+no_setuid_fixup', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs'],
    ...[`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`],
  ]
}

export const startAs = ({ uid, gid, capability }: Identity, file: string, args: readonly string[]): Start => {
  if (uid === undefined || gid === undefined) return { file, args, user: {} }
  if (capability === undefined) return { file, args, user: { uid, gid } }
  return { file: 'setpriv', args: [...withCapability(uid, gid, capability), file, ...args], user: {} }
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

const wordsOf = (fault: unknown): string => {
  const output = fault instanceof Error && 'stderr' in fault ? String(fault.stderr).trim() : ''
  return output === '' ? String(fault) : output
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

const notGranted = (fault: unknown): Error =>
  faultCode(fault) === 'ENOENT'
    ? new Error('setpriv, which could let it pass, is not installed: it is part of util-linux', { cause: fault })
    : new Error(`setpriv (util-linux) cannot grant it ${capabilities.join(' or ')}: ${wordsOf(fault)}`)

/** The fault that keeps an identity from running `binary` in `folder`; null where it can. */
const findObstacle = async (identity: Identity, binary: string, folder: string): Promise<unknown> => {
  const words = ['-c', 'cd -- "$1" && exec "$2" --version', 'sh', folder, binary]
  const { file, args, user } = startAs(identity, '/bin/sh', words)
  try {
    await run(file, [...args], { ...user, cwd: '/', timeout: sharedLimits.startMs })
    return null
  } catch (error) {
    return error
  }
}

/**
 * As root PostgreSQL refuses to run: it runs as `postgres`, created where missing, with a capability if it needs one.
 */
export const databaseIdentity = async (binary: string, folder: string): Promise<Identity> => {
  if (process.getuid?.() !== 0) return {}
  const user = await findUser().catch(createUser)
  if ((await findObstacle(user, binary, folder)) === null) return user
  let obstacle: unknown
  for (const capability of capabilities) {
    obstacle = await findObstacle({ ...user, capability }, binary, folder)
    if (obstacle === null) return { ...user, capability }
  }
  const path = [binary, folder].find((each) => closedFolder(each) !== null) ?? binary
  throw unreachable(path, notGranted(obstacle))
}

/** Throws an error that names the folder when the identity cannot enter it. */
export const mustEnter = async (identity: Identity, folder: string): Promise<void> => {
  const { file, args, user } = startAs(identity, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder])
  await run(file, [...args], { ...user, cwd: '/' }).catch(() => {
    throw unreachable(folder)
  })
}

/** The output of `binary --version`; throws an error with the reason where it cannot be run. */
export const readVersion = async (binary: string): Promise<string> => {
  try {
    return (await run(binary, ['--version'], { cwd: '/', timeout: sharedLimits.startMs })).stdout.trim()
  } catch (error) {
    if (faultCode(error) === 'ENOENT') throw new Error(`there is no ${binary}`, { cause: error })
    throw new Error(`${binary} does not run here: ${wordsOf(error)}`, { cause: error })
  }
}
