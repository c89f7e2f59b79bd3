import { sha256Hex } from '../administration/account-changes.ts'
import type { Administrator, Config } from '../config/config.ts'
import { ensureAdminToken } from '../embedded/admin-token.ts'

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
  return { admins: [{ name: ownName, sha256: sha256Hex(token) }], newToken: isNew ? token : null }
}
