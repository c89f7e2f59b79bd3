import type { Verifier } from '../audit/note.ts'
import { type Verification, type VerifyParts, verify } from '../audit/verify.ts'
import type { ArchiveSource } from '../infrastructure/archive/archive-source.ts'
import { showing } from './progress.ts'

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

/** Holds a whole archive against its own checkpoints, before anything is made from it. */
export const checkArchive = (source: ArchiveSource, verifiers: readonly Verifier[]): Promise<Verification> =>
  check('check the archive', partsOf(source), verifiers)
