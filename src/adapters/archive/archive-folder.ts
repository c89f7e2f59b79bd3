import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveHead, ArchiveTarget } from '../../audit/archive.ts'
import type { SnapshotTarget } from '../../audit/archive-snapshot.ts'
import type { IntegrityFinding } from '../../audit/findings.ts'
import type { GrowingTree } from '../../audit/merkle.ts'
import type { SnapshotHead } from '../../audit/seal.ts'
import { type FolderLock, lockFile } from '../../embedded/folder-lock.ts'
import { faultText } from '../../errors/gateway-error.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import type { RawFrame } from '../../log/raw-frames.ts'
import { removeLeftovers, toDraftPath } from './files.ts'
import { archiveLimits } from './limits.ts'
import {
  ArchiveFault,
  emptyManifest,
  type Manifest,
  manifestName,
  readManifest,
  type Segment,
  writeManifest,
} from './manifest.ts'
import { parseSegmentStart, SegmentWriter, segmentEnding, segmentsFolder } from './segment-writer.ts'
import { snapshotsFolder, toSnapshotHead, writeSnapshotFile } from './snapshot-file.ts'

const lockName = 'lock.sqlite'

/** Drafts, and the manifest that a first run wrote before it was interrupted. */
const isArchiveFile = (name: string): boolean =>
  name === segmentsFolder || name === snapshotsFolder || name === toDraftPath(manifestName) || name.startsWith(lockName)

/** Creates a missing folder. A folder with other files in it is refused. */
const openFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const isArchive = (await readManifest(folder)) !== null
  const strange = isArchive ? undefined : (await readdir(folder)).find((name) => !isArchiveFile(name))
  if (strange !== undefined) throw new ArchiveFault(`${folder} is no archive, and not empty: ${strange} is there`)
  for (const name of [segmentsFolder, snapshotsFolder]) await mkdir(join(folder, name), { recursive: true })
}

/** The manifest is written before any segment: segments without one mean that it was lost, or is not copied yet. */
const assertNoSegments = async (folder: string): Promise<void> => {
  const path = join(folder, segmentsFolder)
  const segments = (await readdir(path)).filter((name) => name.endsWith(segmentEnding))
  if (segments.length === 0) return
  throw new ArchiveFault(
    `${path} holds ${segments.length} finished segments (${segments.sort()[0]} is the first), but ${manifestName}, ` +
      `which describes them, is missing from ${folder}: restore it beside them, or archive into another folder; ` +
      'nothing was removed',
  )
}

const openManifest = async (folder: string, origin: string): Promise<Manifest> => {
  const manifest = await readManifest(folder)
  if (manifest === null) {
    await assertNoSegments(folder)
    const first = emptyManifest(origin)
    await writeManifest(folder, first)
    return first
  }
  if (manifest.log === origin) return manifest
  throw new ArchiveFault(`${folder} is an archive of the log ${manifest.log}, not of ${origin}`)
}

const removeOtherSnapshots = (folder: string, { snapshot }: Manifest): Promise<void> =>
  removeLeftovers(join(folder, snapshotsFolder), (name) => snapshot?.file !== `${snapshotsFolder}/${name}`)

/** Drafts, and segments after the manifest's end, left by an interrupted run: the log still has their frames. */
const removeInterrupted = async (folder: string, manifest: Manifest): Promise<void> => {
  const { size } = manifest
  await removeLeftovers(folder, () => false)
  await removeOtherSnapshots(folder, manifest)
  await removeLeftovers(join(folder, segmentsFolder), (name) => (parseSegmentStart(name) ?? 0) > size)
}

/** Compares a file with the manifest, without reading its content. Null where it matches. */
const damageOf = async (
  folder: string,
  { file, file_bytes }: Pick<Segment, 'file' | 'file_bytes'>,
): Promise<string | null> => {
  try {
    const { size } = await stat(join(folder, file))
    return size === file_bytes ? null : `it has ${size} bytes, the manifest lists ${file_bytes}`
  } catch (fault) {
    return faultText(fault)
  }
}

/** Written by one process at a time. After an interruption its state is that of the last manifest. */
export class ArchiveFolder implements ArchiveTarget, SnapshotTarget {
  readonly #folder: string
  readonly #lock: FolderLock
  readonly #segments: Segment[]
  #manifest: Manifest
  #writer: SegmentWriter | null = null
  #committedMs = performance.now()

  private constructor(folder: string, lock: FolderLock, manifest: Manifest) {
    this.#folder = folder
    this.#lock = lock
    this.#manifest = manifest
    this.#segments = [...manifest.segments]
  }

  /** Creates the archive where there is none. ArchiveFault: it is of another log, in use, or has no manifest. */
  static async open(folder: string, origin: string): Promise<ArchiveFolder> {
    await openFolder(folder)
    const lock = lockFile(
      join(folder, lockName),
      (cause) => new ArchiveFault(`the archive ${folder} is in use by another process`, { cause }),
    )
    try {
      const manifest = await openManifest(folder, origin)
      await removeInterrupted(folder, manifest)
      return new ArchiveFolder(folder, lock, manifest)
    } catch (fault) {
      lock.release()
      throw fault
    }
  }

  get head(): ArchiveHead {
    const { size, peaks, checkpoint } = this.#manifest
    return { size, peaks: peaks.map((peak) => Buffer.from(peak, 'base64')), checkpoint }
  }

  get bytes(): number {
    return this.#writer?.bytes ?? 0
  }

  /** Files that are missing, or of another size than in the manifest. */
  async damaged(): Promise<readonly IntegrityFinding[]> {
    const { segments, snapshot } = this.#manifest
    const findings: (IntegrityFinding | null)[] = []
    for (const segment of segments)
      findings.push(await this.#damageIn(segment, `frames ${segment.first} to ${segment.last}`, segment))
    if (snapshot !== undefined) {
      const { sequence } = snapshot
      const range = { first: sequence, last: sequence }
      findings.push(await this.#damageIn(snapshot, `the snapshot of sequence ${sequence}`, range))
    }
    return findings.filter((finding) => finding !== null)
  }

  async findSnapshot(): Promise<SnapshotHead | null> {
    const { snapshot } = this.#manifest
    if (snapshot === undefined || (await damageOf(this.#folder, snapshot)) !== null) return null
    return toSnapshotHead(snapshot)
  }

  async writeSnapshot(head: SnapshotHead, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const snapshot = await writeSnapshotFile(this.#folder, head, pieces)
    this.#manifest = { ...this.#manifest, snapshot }
    await this.#commit()
    await removeOtherSnapshots(this.#folder, this.#manifest)
  }

  async write(frame: RawFrame): Promise<void> {
    this.#writer ??= new SegmentWriter(this.#folder, frame.sequence)
    await this.#writer.write(frame)
  }

  async finish(checkpoint: CheckpointSealed, tree: GrowingTree): Promise<void> {
    if (this.#writer === null) return
    this.#segments.push(await this.#writer.finish(checkpoint.size, checkpoint.note))
    this.#writer = null
    const peaks = tree.peaks.map((peak) => peak.toString('base64'))
    this.#manifest = { ...this.#manifest, size: checkpoint.size, peaks, segments: this.#segments, checkpoint }
    if (performance.now() - this.#committedMs >= archiveLimits.archiveCommitMs) await this.#commit()
  }

  /** Drops the unfinished segment, and writes the finished ones to the manifest. */
  async close(): Promise<void> {
    try {
      await this.#writer?.drop()
      await this.#commit()
    } finally {
      this.#lock.release()
    }
  }

  async #damageIn(
    stored: Pick<Segment, 'file' | 'file_bytes'>,
    content: string,
    { first, last }: Pick<Segment, 'first' | 'last'>,
  ): Promise<IntegrityFinding | null> {
    const damage = await damageOf(this.#folder, stored)
    if (damage === null) return null
    const text = `${join(this.#folder, stored.file)}, which holds ${content}, is damaged: ${damage}`
    return { kind: 'segment-damaged', sequence: first, toSequence: last, text }
  }

  /** Until the manifest is written, new segments are after its end: the next open removes them. */
  async #commit(): Promise<void> {
    await writeManifest(this.#folder, this.#manifest)
    this.#committedMs = performance.now()
  }
}
