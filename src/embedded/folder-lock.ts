import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createPrivateFile, ownerOnly } from '../runtime/private-file.ts'
import { isAlive } from './processes.ts'
import { readRecord } from './record.ts'

/** SQLITE_BUSY, https://www.sqlite.org/rescode.html */
const sqliteBusy = 5

// A handle that the garbage collector closes would drop its lock.
const heldLocks = new Set<DatabaseSync>()

export interface FolderLock {
  release(): void
}

const othersMayPass = 0o001

/** Returns the real path, by which the servers' command lines name the folder. */
export const openDataFolder = (dataFolder: string): string => {
  mkdirSync(dirname(dataFolder), { recursive: true })
  if (!existsSync(dataFolder)) mkdirSync(dataFolder, { mode: 0o700 })
  const folder = realpathSync(dataFolder)
  // Started by root, PostgreSQL runs as another user, who must pass through to its own folder inside.
  if (process.getuid?.() === 0) chmodSync(folder, statSync(folder).mode | othersMayPass)
  return folder
}

const inUse = (folder: string, cause: unknown): Error => {
  const owner = readRecord(folder)?.owner
  const who = owner && isAlive(owner) ? `the gateway with pid ${owner.pid}` : 'another process'
  return new Error(`the data folder ${folder} is in use by ${who}: stop it first, or choose another folder`, { cause })
}

/** The kernel drops the lock with the process, however that ends; throws `whenBusy` when another process holds it. */
export const lockFile = (path: string, whenBusy: (cause: unknown) => Error): FolderLock => {
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) throw whenBusy(error)
    throw new Error(`cannot lock ${path}`, { cause: error })
  }
  heldLocks.add(database)
  return { release: () => heldLocks.delete(database) && database.close() }
}

/** Throws when another process holds the lock. The file is private: any user who can read it can lock it. */
export const lockFolder = (folder: string): FolderLock => {
  const path = join(folder, 'lock.sqlite')
  // An existing file is not opened and closed here: that would drop a lock of this process.
  if (!existsSync(path)) createPrivateFile(path, '')
  const lock = lockFile(path, (cause) => inUse(folder, cause))
  for (const file of [path, `${path}-journal`]) if (existsSync(file)) chmodSync(file, ownerOnly)
  return lock
}
