import { readHeads } from '../audit/signed-heads.ts'
import type { Config } from '../config/config.ts'
import { headStores } from './audit-keys.ts'
import type { Platform } from './platform.ts'

interface Judged {
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
}

/** Throws what hinders the sealing, in words for an operator. `platform` is null where the servers do not run. */
export const checkSealing = async (
  config: Config,
  platform: Pick<Platform, 'log' | 'tables'> | null,
): Promise<Judged> => {
  const { audit, auditStateFile, external } = config
  if (!audit.sealing) return { result: 'skipped', detail: '`audit.sealing` is off' }
  if (external !== null && audit.signer === null)
    return { result: 'warning', detail: 'no signing key is configured: nothing is sealed' }
  const { head, place, unread } = await readHeads(headStores(config, platform?.tables ?? null))
  if (unread.length > 0) throw new Error(`the state of the sealing cannot be read from ${unread.join(' and ')}`)
  if (head !== null && head.origin !== audit.origin)
    throw new Error(`${place} is of the log ${head.origin}, and the configuration of ${audit.origin}`)
  if (platform === null) return { result: 'ok', detail: `the state is kept in ${auditStateFile}` }
  const frames = await platform.log.lastSequence()
  if (head === null && frames > 0)
    throw new Error('it is not known what was signed of the log last, see `gateway serve --first-seal`')
  if (head !== null && head.size > frames)
    throw new Error(`the log ends at frame ${frames}, and ${place} has signed ${head.size}`)
  return { result: 'ok', detail: `the state of ${head?.size ?? 0} frames is kept in ${auditStateFile}` }
}
