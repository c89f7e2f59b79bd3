import type { Administrator, Config } from '../config/config.ts'
import { ensureAdminToken } from '../embedded/admin-token.ts'
import { sha256Hex } from './accounts.ts'

/** In whose name the data folder's own token speaks. */
const ownName = 'local'

/**
 * Who may call the admin API: those of the configuration, or else, on embedded servers, who can read the data folder. `newToken` where its
 * token was made just now.
 */
export const resolveAdministrators = ({
  admins,
  external,
  dataFolder,
}: Config): { readonly admins: readonly Administrator[]; readonly newToken: string | null } => {
  if (admins.length > 0 || external !== null) return { admins, newToken: null }
  const { token, isNew } = ensureAdminToken(dataFolder)
  return { admins: [{ name: ownName, sha256: sha256Hex(token) }], newToken: isNew ? token : null }
}
