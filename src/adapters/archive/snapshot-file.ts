import { createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { SnapshotHead } from '../../audit/seal.ts'
import { publishDraft, toDraftPath } from './files.ts'
import { archiveLimits } from './limits.ts'
import type { ArchivedSnapshot } from './manifest.ts'
import { formatPlace } from './segment-writer.ts'

export const snapshotsFolder = 'snapshots'

const formatSnapshotFile = (sequence: number): string => `${snapshotsFolder}/${formatPlace(sequence)}.snapshot.gz`

export const toSnapshotHead = ({ sha256, format, sequence }: ArchivedSnapshot): SnapshotHead => ({
  sha256,
  format,
  sequence,
})

/** Readers see the file only once it is whole. Rejects, and leaves nothing, where `pieces` throws. */
export const writeSnapshotFile = async (
  folder: string,
  head: SnapshotHead,
  pieces: AsyncIterable<Uint8Array>,
): Promise<ArchivedSnapshot> => {
  const file = formatSnapshotFile(head.sequence)
  const path = join(folder, file)
  const draft = toDraftPath(path)
  try {
    const gzip = createGzip({ chunkSize: archiveLimits.archiveChunkBytes })
    await pipeline(pieces, gzip, createWriteStream(draft, { flush: true }))
    const { size } = await stat(draft)
    await publishDraft(path)
    return { ...head, file, file_bytes: size }
  } catch (fault) {
    await rm(draft, { force: true })
    throw fault
  }
}
