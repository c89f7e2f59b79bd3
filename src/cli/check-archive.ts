import { ArchiveSource } from '../adapters/archive/archive-source.ts'
import type { Verifier } from '../audit/note.ts'
import { type Verification, type VerifyParts, verifyLog } from '../audit/verify.ts'
import { verifyArchivedSnapshot } from '../audit/verify-snapshots.ts'
import type { Config } from '../config/config.ts'
import { printFindings } from './findings-report.ts'
import { withProgress } from './progress.ts'
import { resolveVerifiers } from './public-keys.ts'
import { CommandError, type OutputOptions } from './report.ts'

export const verifyWithProgress = (
  what: string,
  parts: Omit<VerifyParts, 'verifiers' | 'onProgress'>,
  verifiers: readonly Verifier[],
): Promise<Verification> => withProgress(what, (onProgress) => verifyLog({ ...parts, verifiers, onProgress }))

export const toVerifyParts = (source: ArchiveSource): Pick<VerifyParts, 'source' | 'known' | 'lastCheckpoint'> => {
  const { checkpoints: known, lastCheckpoint } = source
  return { source, known, ...(lastCheckpoint === undefined ? {} : { lastCheckpoint }) }
}

/** Nothing but the snapshot may differ where the frames are proven. */
export const withArchivedSnapshot = async (
  found: Verification,
  archive: ArchiveSource,
  verifiers: readonly Verifier[],
): Promise<Verification> => {
  if (found.total > 0) return found
  const { snapshots: store } = archive
  const findings = await verifyArchivedSnapshot({ store, log: archive, verifiers }, found.snapshots)
  return findings.length === 0 ? found : { ...found, findings, total: findings.length }
}

export interface VerifiedArchiveOptions extends OutputOptions {
  /** Keys from the command line; empty: the configured ones. */
  readonly publicKey: readonly string[]
}

/** Verifies the whole archive. Throws UsageError without keys, CommandError that begins with `refusal` for findings. */
export const openVerifiedArchive = async (
  folder: string,
  config: () => Config,
  { publicKey, json }: VerifiedArchiveOptions,
  refusal: string,
): Promise<ArchiveSource> => {
  const verifiers = resolveVerifiers(publicKey, config)
  const archive = await ArchiveSource.open(folder)
  const frames = await verifyWithProgress('check the archive', toVerifyParts(archive), verifiers)
  const { findings, total } = await withArchivedSnapshot(frames, archive, verifiers)
  printFindings(findings, total, { json })
  if (total > 0) throw new CommandError(`${refusal}: the archive is not what was sealed`)
  return archive
}
