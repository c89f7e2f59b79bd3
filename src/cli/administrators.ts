import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../administration/account-changes.ts'
import type { Administrator, Config } from '../config/config.ts'
import { createPrivateFile } from '../runtime/private-file.ts'

const tokenBytes = 36

/** Made at the first start; `isNew` only then. */
const ensureAdminToken = (dataFolder: string): { readonly token: string; readonly isNew: boolean } => {
  const file = join(dataFolder, 'admin-token')
  const isNew = !existsSync(file)
  if (isNew) {
    mkdirSync(dataFolder, { recursive: true })
    createPrivateFile(file, `${randomBytes(tokenBytes).toString('base64url')}\n`)
  }
  return { token: readFileSync(file, 'utf8').trim(), isNew }
}

/** The actor name of the data folder's own token. */
const ownName = 'local'

/** `newToken` only where the token of the data folder's own administrator was made now. */
export const resolveAdministrators = ({
  admins,
  external,
  dataFolder,
}: Config): { readonly admins: readonly Administrator[]; readonly newToken: string | null } => {
  if (admins.length > 0 || external !== null) return { admins, newToken: null }
  const { token, isNew } = ensureAdminToken(dataFolder)
  return { admins: [{ name: ownName, sha256: sha256Hex(token), role: 'owner' }], newToken: isNew ? token : null }
}
