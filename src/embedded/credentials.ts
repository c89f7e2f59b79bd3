import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signingKeyText } from '../audit/keys.ts'
import { createPrivateFile, writePrivateFile } from '../runtime/private-file.ts'

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

const seedBytes = 32
const folderIn = (dataFolder: string): string => join(dataFolder, 'audit')
const signingKeyFile = (dataFolder: string): string => join(folderIn(dataFolder), 'signing-key')
const publicKeyFile = (dataFolder: string): string => join(folderIn(dataFolder), 'public-key.txt')

const readTrimmed = (file: string): string | null => (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)

export const ensureSigningKey = (dataFolder: string): string => {
  const file = signingKeyFile(dataFolder)
  if (!existsSync(file)) {
    mkdirSync(folderIn(dataFolder), { recursive: true, mode: 0o700 })
    createPrivateFile(file, `${signingKeyText(randomBytes(seedBytes))}\n`)
  }
  return readTrimmed(file)!
}

export const keepPublicKey = (dataFolder: string, text: string): void => {
  if (readPublicKey(dataFolder) === text) return
  mkdirSync(folderIn(dataFolder), { recursive: true, mode: 0o700 })
  writeFileSync(publicKeyFile(dataFolder), `${text}\n`)
}

/** Null where nothing was sealed on this data folder yet. */
export const readPublicKey = (dataFolder: string): string | null => readTrimmed(publicKeyFile(dataFolder))
