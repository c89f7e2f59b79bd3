import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from './private-file.ts'

/** What the servers of one data folder ask for. Other users of the machine can reach the loopback ports too. */
export interface Credentials {
  readonly databasePassword: string
  readonly natsPassword: string
  /** What callbacks are signed with, where nothing else is configured. */
  readonly callbackSecret: string
}

const freshPassword = (): string => randomBytes(24).toString('hex')

const freshCredentials = (): Credentials => ({
  databasePassword: freshPassword(),
  natsPassword: freshPassword(),
  callbackSecret: freshPassword(),
})

const pathOf = (folder: string): string => join(folder, 'credentials.json')

const readCredentials = (path: string): Partial<Credentials> =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Credentials>) : {}

/** Reads `credentials.json` of the data folder, made at the first start; what an older gateway did not need is made now. */
export const ensureCredentials = (folder: string): Credentials => {
  const path = pathOf(folder)
  const found = readCredentials(path)
  const credentials = { ...freshCredentials(), ...found }
  if (Object.keys(found).length < Object.keys(credentials).length)
    writePrivateFile(path, `${JSON.stringify(credentials, null, 2)}\n`)
  return credentials
}

/** What callbacks are signed with on a data folder whose servers run; null where they were started by an older gateway. */
export const readCallbackSecret = (folder: string): string | null =>
  readCredentials(pathOf(folder)).callbackSecret ?? null
