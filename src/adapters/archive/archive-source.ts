import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { pipeline as pipelineDone } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { PublishedCheckpoint } from '../../audit/published-checkpoints.ts'
import { SnapshotMissing, type SnapshotStore } from '../../audit/snapshots.ts'
import { SnapshotFault } from '../../domain/ledger/snapshot.ts'
import { faultCode, faultText } from '../../errors/gateway-error.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import { type FrameSource, FramesFault, type RawFrame } from '../../log/raw-frames.ts'
import { archiveLimits } from './limits.ts'
import { ArchiveFault, type Manifest, manifestName, readManifest, type Segment } from './manifest.ts'
import { readRecords } from './records.ts'
import { toSnapshotHead } from './snapshot-file.ts'

interface ArchiveOptions {
  /** Also yields the readable frames of a damaged file, to find the extent of the damage; absent: none of them. */
  readonly salvage?: boolean
}

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  await pipelineDone(createReadStream(path, { highWaterMark: archiveLimits.archiveChunkBytes }), hash)
  return hash.digest('hex')
}

const inflated = (path: string): AsyncIterable<Buffer> => {
  const gunzip = createGunzip({ chunkSize: archiveLimits.archiveChunkBytes })
  // A fault of either stream reaches the reader through `gunzip`.
  pipeline(createReadStream(path, { highWaterMark: archiveLimits.archiveChunkBytes }), gunzip, () => {})
  return gunzip
}

async function* readSnapshotFile(path: string): AsyncIterable<Uint8Array> {
  try {
    yield* inflated(path)
  } catch (fault) {
    if (faultCode(fault) === 'ENOENT') throw new SnapshotMissing(`there is no file ${path}`, { cause: fault })
    throw new SnapshotFault(`${path}: ${faultText(fault)}`, { cause: fault })
  }
}

const selectRange = (frames: readonly RawFrame[], from: number, to: number): readonly RawFrame[] => {
  const [first, last] = [frames[0], frames.at(-1)]
  if (first === undefined || last === undefined || (from <= first.sequence && last.sequence <= to)) return frames
  return frames.filter(({ sequence }) => from <= sequence && sequence <= to)
}

const noSnapshots: Pick<SnapshotStore, 'list' | 'read'> = {
  list: async () => [],
  read: ({ sequence }) => {
    throw new SnapshotMissing(`the archive has no snapshot of sequence ${sequence}`)
  },
}

/** Yields a file's frames only where its SHA-256 is the manifest's, unless `salvage` is set. */
export class ArchiveSource implements FrameSource {
  readonly manifest: Manifest
  readonly #folder: string
  readonly #salvage: boolean

  private constructor(folder: string, manifest: Manifest, { salvage = false }: ArchiveOptions) {
    this.#folder = folder
    this.manifest = manifest
    this.#salvage = salvage
  }

  /** Rejects with ArchiveFault where the folder holds no archive, or one whose manifest contradicts itself. */
  static async open(folder: string, options: ArchiveOptions = {}): Promise<ArchiveSource> {
    const manifest = await readManifest(folder)
    if (manifest === null) throw new ArchiveFault(`${folder} holds no archive: there is no ${manifestName}`)
    return new ArchiveSource(folder, manifest, options)
  }

  get checkpoints(): readonly PublishedCheckpoint[] {
    return this.manifest.segments.map(({ checkpoint, file }) => ({
      note: checkpoint,
      place: `${join(this.#folder, manifestName)} (${file})`,
    }))
  }

  get lastCheckpoint(): CheckpointSealed | undefined {
    return this.manifest.checkpoint ?? undefined
  }

  /** The archived one, if there is one. Its bytes are not checked here. */
  get snapshots(): Pick<SnapshotStore, 'list' | 'read'> {
    const { snapshot } = this.manifest
    if (snapshot === undefined) return noSnapshots
    const path = join(this.#folder, snapshot.file)
    return { list: async () => [toSnapshotHead(snapshot)], read: () => readSnapshotFile(path) }
  }

  async lastSequence(): Promise<number> {
    return this.manifest.size
  }

  async *read(from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    for (const segment of this.manifest.segments)
      if (segment.last >= from && segment.first <= to) yield* this.#readSegment(segment, from, to)
  }

  async *#readSegment(segment: Segment, from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    const { file, first, last } = segment
    const path = join(this.#folder, file)
    let next = Math.max(from, first)
    let damage = await this.#damageOf(segment)
    try {
      if (damage !== null && !this.#salvage) throw new Error(damage)
      for await (const read of readRecords(inflated(path), first, last)) {
        const frames = selectRange(read, next, to)
        next += frames.length
        if (frames.length > 0) yield frames
        if (next > to) return
      }
    } catch (fault) {
      damage ??= faultText(fault)
      throw this.#fault(segment, `${damage}; frame ${next} is the first that cannot be read`, next)
    }
    if (damage !== null) throw this.#fault(segment, `${damage}, though its frames can be read`, next)
  }

  async #damageOf({ file, sha256 }: Segment): Promise<string | null> {
    try {
      return (await sha256Of(join(this.#folder, file))) === sha256 ? null : 'its SHA-256 is not the one in the manifest'
    } catch (fault) {
      return faultText(fault)
    }
  }

  #fault({ file, first, last }: Segment, why: string, from: number): FramesFault {
    const text = `${join(this.#folder, file)}, which holds frames ${first} to ${last}, is damaged: ${why}`
    return new FramesFault('damaged', text, from, last + 1)
  }
}
