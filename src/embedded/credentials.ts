import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from './private-file.ts'

/** Passwords of one data folder's servers. Other users of the machine can reach the loopback ports too. */
export interface Credentials {
  readonly databasePassword: string
  readonly natsPassword: string
  /** Signs callbacks where no secret is configured. */
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

/** Made at the first start; members that an older gateway did not write are added. */
export const ensureCredentials = (folder: string): Credentials => {
  const path = pathOf(folder)
  const found = readCredentials(path)
  const credentials = { ...freshCredentials(), ...found }
  if (Object.keys(found).length < Object.keys(credentials).length)
    writePrivateFile(path, `${JSON.stringify(credentials, null, 2)}\n`)
  return credentials
}

/** Null where the running servers were started by an older gateway. */
export const readCallbackSecret = (folder: string): string | null =>
  readCredentials(pathOf(folder)).callbackSecret ?? null
