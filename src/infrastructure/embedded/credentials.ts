import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from './private-file.ts'

/** What the servers of one data folder ask for. Other users of the machine can reach the loopback ports too. */
export interface Credentials {
  readonly databasePassword: string
  readonly natsPassword: string
}

const freshPassword = (): string => randomBytes(24).toString('hex')

const createCredentials = (path: string): Credentials => {
  const credentials = { databasePassword: freshPassword(), natsPassword: freshPassword() }
  writePrivateFile(path, `${JSON.stringify(credentials, null, 2)}\n`)
  return credentials
}

/** Reads `credentials.json` of the data folder, made at the first start. */
export const ensureCredentials = (folder: string): Credentials => {
  const path = join(folder, 'credentials.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Credentials) : createCredentials(path)
}
