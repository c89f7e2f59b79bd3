import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SnapshotHead } from '../../audit/seal.ts'
import { parseJson } from '../../encoding/json.ts'
import { getValidator, problemsText, type SchemaProblem } from '../../encoding/schema-validation.ts'
import { faultCode } from '../../errors/gateway-error.ts'
import { schemaIdOf } from '../../events/envelope.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import { replaceFile } from './files.ts'

/** One file of frames, as `schemas/archive-manifest.json` describes it. */
export interface Segment {
  /** Relative to the archive's folder. */
  readonly file: string
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly file_bytes: number
  readonly sha256: string
  /** The signed checkpoint of size `last`. */
  readonly checkpoint: string
}

export interface ArchivedSnapshot extends SnapshotHead {
  /** Relative to the archive's folder. */
  readonly file: string
  readonly file_bytes: number
}

export interface Manifest {
  readonly format: 'gateway-archive/1'
  readonly log: string
  readonly compression: 'gzip'
  readonly size: number
  readonly peaks: readonly string[]
  readonly segments: readonly Segment[]
  readonly checkpoint: CheckpointSealed | null
  readonly snapshot?: ArchivedSnapshot
}

export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault'
}

export const manifestName = 'manifest.json'

export const emptyManifest = (log: string): Manifest => ({
  format: 'gateway-archive/1',
  log,
  compression: 'gzip',
  size: 0,
  peaks: [],
  segments: [],
  checkpoint: null,
})

const problemOfOrder = ({ segments, size, checkpoint, snapshot }: Manifest): string | null => {
  let next = 1
  for (const { file, first, last } of segments) {
    if (first !== next) return `${file} begins at sequence ${first}, not at ${next}`
    if (last < first) return `${file} ends at sequence ${last}, before its first`
    next = last + 1
  }
  if (size !== next - 1) return `the segments end at sequence ${next - 1}, not at ${size}`
  if (snapshot !== undefined && snapshot.sequence >= size)
    return `the snapshot is of sequence ${snapshot.sequence}, and the frames end at ${size}`
  return (checkpoint?.size ?? 0) === size ? null : `the last checkpoint is of size ${checkpoint?.size}, not of ${size}`
}

const problemsOf = (parsed: unknown): readonly SchemaProblem[] => {
  const problems = getValidator('archive-manifest.json')(parsed)
  if (problems.length > 0) return problems
  const { checkpoint } = parsed as Manifest
  return checkpoint === null ? [] : getValidator(schemaIdOf('CheckpointSealed'))(checkpoint)
}

/** Throws ArchiveFault for invalid or inconsistent manifests. */
export const parseManifest = (text: string, path: string): Manifest => {
  const parsed = parseJson(text)
  if (parsed === undefined) throw new ArchiveFault(`${path} is not JSON`)
  const problems = problemsOf(parsed)
  if (problems.length > 0) throw new ArchiveFault(`${path} is not an archive's manifest: ${problemsText(problems)}`)
  const manifest = parsed as Manifest
  const problem = problemOfOrder(manifest)
  if (problem !== null) throw new ArchiveFault(`${path}: ${problem}`)
  return manifest
}

export const readManifest = async (folder: string): Promise<Manifest | null> => {
  const path = join(folder, manifestName)
  try {
    return parseManifest(await readFile(path, 'utf8'), path)
  } catch (fault) {
    if (faultCode(fault) === 'ENOENT') return null
    throw fault
  }
}

export const writeManifest = (folder: string, manifest: Manifest): Promise<void> =>
  replaceFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 1)}\n`)
