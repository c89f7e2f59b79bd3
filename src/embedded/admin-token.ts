import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateFile } from './private-file.ts'

const tokenBytes = 36

export const adminTokenFile = (dataFolder: string): string => join(dataFolder, 'admin-token')

/** Made at the first start; `isNew` only then. */
export const ensureAdminToken = (dataFolder: string): { readonly token: string; readonly isNew: boolean } => {
  const file = adminTokenFile(dataFolder)
  const isNew = !existsSync(file)
  if (isNew) {
    mkdirSync(dataFolder, { recursive: true })
    createPrivateFile(file, `${randomBytes(tokenBytes).toString('base64url')}\n`)
  }
  return { token: readFileSync(file, 'utf8').trim(), isNew }
}
