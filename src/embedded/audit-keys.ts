import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signingKeyText } from '../audit/keys.ts'
import { createPrivateFile } from './private-file.ts'

const seedBytes = 32
const folderIn = (dataFolder: string): string => join(dataFolder, 'audit')
const signingKeyFile = (dataFolder: string): string => join(folderIn(dataFolder), 'signing-key')
const publicKeyFile = (dataFolder: string): string => join(folderIn(dataFolder), 'public-key.txt')

const readTrimmed = (file: string): string | null => (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)

/** Made at the first start. */
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
