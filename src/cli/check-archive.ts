import { ArchiveSource } from '../adapters/archive/archive-source.ts'
import type { Verifier } from '../audit/note.ts'
import { type Verification, type VerifyParts, verifyLog } from '../audit/verify.ts'
import type { Config } from '../config/config.ts'
import { printFindings } from './findings-report.ts'
import { withProgress } from './progress.ts'
import { resolveVerifiers } from './public-keys.ts'
import { CommandError, type OutputOptions } from './report.ts'

/** What is held against its checkpoints, and `what` the terminal calls that. */
export const verifyWithProgress = (
  what: string,
  parts: Omit<VerifyParts, 'verifiers' | 'onProgress'>,
  verifiers: readonly Verifier[],
): Promise<Verification> =>
  withProgress(what, (progress) =>
    verifyLog({ ...parts, verifiers, onProgress: (sequence, last) => progress.update(sequence, last) }),
  )

/** An archive's frames and checkpoints, as `verify` takes them. */
export const toVerifyParts = (source: ArchiveSource): Pick<VerifyParts, 'source' | 'known' | 'lastCheckpoint'> => {
  const { checkpoints: known, lastCheckpoint } = source
  return { source, known, ...(lastCheckpoint === undefined ? {} : { lastCheckpoint }) }
}

/** How an archive is believed that a command reads from, and how what is found in it is printed. */
export interface VerifiedArchiveOptions extends OutputOptions {
  /** Keys named on the command line; the configured ones where there are none. */
  readonly publicKey: readonly string[]
}

/**
 * Opens an archive that is what was sealed, as all of its own checkpoints tell. Throws UsageError where no key is known; what is found is printed, and thrown as
 * CommandError, which begins with `refusal`.
 */
export const openVerifiedArchive = async (
  folder: string,
  config: () => Config,
  { publicKey, json }: VerifiedArchiveOptions,
  refusal: string,
): Promise<ArchiveSource> => {
  const verifiers = resolveVerifiers(publicKey, config)
  const archive = await ArchiveSource.open(folder)
  const { findings, total } = await verifyWithProgress('check the archive', toVerifyParts(archive), verifiers)
  printFindings(findings, total, { json })
  if (total > 0) throw new CommandError(`${refusal}: the archive is not what was sealed`)
  return archive
}
