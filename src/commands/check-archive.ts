import type { Verifier } from '../audit/note.ts'
import { type Verification, type VerifyParts, verify } from '../audit/verify.ts'
import type { Config } from '../config.ts'
import { ArchiveSource } from '../infrastructure/archive/archive-source.ts'
import { printFindings } from './findings-report.ts'
import { showing } from './progress.ts'
import { verifiersFor } from './public-keys.ts'
import { CommandError, type Output } from './report.ts'

/** What is held against its checkpoints, and `what` the terminal calls that. */
export const check = (
  what: string,
  parts: Omit<VerifyParts, 'verifiers' | 'onProgress'>,
  verifiers: readonly Verifier[],
): Promise<Verification> =>
  showing(what, (progress) =>
    verify({ ...parts, verifiers, onProgress: (sequence, last) => progress.update(sequence, last) }),
  )

/** An archive's frames and checkpoints, as `verify` takes them. */
export const partsOf = (source: ArchiveSource): Pick<VerifyParts, 'source' | 'known' | 'lastCheckpoint'> => {
  const { checkpoints: known, lastCheckpoint } = source
  return { source, known, ...(lastCheckpoint === undefined ? {} : { lastCheckpoint }) }
}

/** How an archive is believed that a command reads from, and how what is found in it is printed. */
export interface BelievedArchive extends Output {
  /** Keys named on the command line; the configured ones where there are none. */
  readonly publicKey: readonly string[]
}

/**
 * Opens an archive that is what was sealed, as all of its own checkpoints tell. Throws UsageError where no key is known; what is found is printed, and thrown as
 * CommandError, which begins with `refusal`.
 */
export const openSealed = async (
  folder: string,
  config: () => Config,
  { publicKey, json }: BelievedArchive,
  refusal: string,
): Promise<ArchiveSource> => {
  const verifiers = verifiersFor(publicKey, config)
  const archive = await ArchiveSource.open(folder)
  const { findings, total } = await check('check the archive', partsOf(archive), verifiers)
  printFindings(findings, total, { json })
  if (total > 0) throw new CommandError(`${refusal}: the archive is not what was sealed`)
  return archive
}
