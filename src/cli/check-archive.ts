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
  const refusalText = `${refusal}: the archive is not what was sealed`
  const archive = await ArchiveSource.open(folder)
  const frames = await verifyWithProgress('check the archive', toVerifyParts(archive), verifiers)
  printFindings(frames.findings, frames.total, { json })
  if (frames.total > 0) throw new CommandError(refusalText)
  if (frames.unknownKey !== null) throw new CommandError(`${refusal}: ${frames.unknownKey}`)
  const { snapshots: store } = archive
  const { findings, unproven } = await verifyArchivedSnapshot({ store, log: archive, verifiers }, frames.snapshots)
  printFindings(findings, findings.length, { json })
  if (findings.length > 0) throw new CommandError(refusalText)
  for (const reason of unproven) console.error(reason) // The frames are proven: they are all that is needed.
  return archive
}
