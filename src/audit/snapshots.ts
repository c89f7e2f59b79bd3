import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Ledger } from '../domain/ledger/ledger.ts'
import { encodeLedger, LedgerDecoder, SnapshotFault, snapshotFormat } from '../domain/ledger/snapshot.ts'
import type { CheckpointSealed } from '../events/types.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import { auditLimits } from './limits.ts'
import { computeRootFromPeaks, GrowingTree, hashFrame, hashLeaf } from './merkle.ts'
import type { Verifier } from './note.ts'
import { readSeal, type Seal, type SnapshotHead } from './seal.ts'
import { readCheckpoints, readSealedTree, verifyCheckpoint } from './verified-checkpoints.ts'

/** Snapshots are kept beside the log. Everything rejects while they cannot be reached. */
export interface SnapshotStore {
  /** The last that are stored whole, the newest first. */
  list(): Promise<readonly SnapshotHead[]>
  read(head: SnapshotHead): AsyncIterable<Uint8Array>
  /** Stored once it resolves; until then `list` does not have it. Of all only the newest `snapshotsKept` stay. */
  write(sequence: number, pieces: AsyncGenerator<Uint8Array, SnapshotHead>): Promise<SnapshotHead>
  /** Those beyond the end of the log, as of a longer history that was given up; it is read after they are listed. */
  removeBeyond(readLast: () => Promise<number>): Promise<void>
}

/** What a store throws where the bytes of a snapshot that it lists are not there. */
export class SnapshotMissing extends Error {
  override readonly name = 'SnapshotMissing'
}

const lineFeed = 10

function* inPieces(lines: readonly Buffer[]): Generator<Uint8Array> {
  const bytes = Buffer.concat(lines)
  for (let start = 0; start < bytes.length; start += auditLimits.snapshotPieceBytes)
    yield bytes.subarray(start, start + auditLimits.snapshotPieceBytes)
}

/** The bytes of a snapshot, and what confirms them: the root of the Merkle tree over its lines. */
export async function* encodeSnapshot(ledger: Ledger): AsyncGenerator<Uint8Array, SnapshotHead> {
  const { sequence } = ledger
  const tree = new GrowingTree()
  let lines: Buffer[] = []
  let length = 0
  for (const text of encodeLedger(ledger)) {
    const line = Buffer.from(`${text}\n`)
    tree.append(hashLeaf(line.subarray(0, -1)))
    lines.push(line)
    length += line.length
    if (length < auditLimits.snapshotPieceBytes) continue
    yield* inPieces(lines)
    lines = []
    length = 0
    await turn()
  }
  yield* inPieces(lines)
  return { sha256: tree.root.toString('hex'), format: snapshotFormat, sequence }
}

const assertAtMost = (bytes: number, max: number, noun: string): void => {
  if (bytes > max) throw new SnapshotFault(`${noun} has more than ${max} bytes`)
}

/** The lines that end in each piece: one by one they would cost more to await than to hash. */
export async function* readLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Buffer[]> {
  const { snapshotBytesMax, snapshotLineBytesMax } = auditLimits
  let rest: Buffer[] = []
  let [bytes, restBytes] = [0, 0]
  for await (const each of pieces) {
    const piece = Buffer.from(each.buffer, each.byteOffset, each.length)
    bytes += piece.length
    assertAtMost(bytes, snapshotBytesMax, 'it')
    const lines: Buffer[] = []
    let start = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      const line = piece.subarray(start, end)
      lines.push(restBytes === 0 ? line : Buffer.concat([...rest, line]))
      rest = []
      restBytes = 0
      start = end + 1
    }
    yield lines
    rest.push(piece.subarray(start))
    restBytes += piece.length - start
    assertAtMost(restBytes, snapshotLineBytesMax, 'a line of it')
  }
  if (restBytes > 0) throw new SnapshotFault('its last line is cut off')
}

export const hashSnapshot = async (pieces: AsyncIterable<Uint8Array>): Promise<string> => {
  const tree = new GrowingTree()
  for await (const lines of readLines(pieces)) for (const line of lines) tree.append(hashLeaf(line))
  return tree.root.toString('hex')
}

/** Passes the pieces on as they are. Throws SnapshotFault at their end unless their lines have the hash. */
export async function* passVerified(
  pieces: AsyncIterable<Uint8Array>,
  head: SnapshotHead,
): AsyncGenerator<Uint8Array, SnapshotHead> {
  const read: Uint8Array[] = []
  const noted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      read.push(piece)
      yield piece
    }
  }
  const tree = new GrowingTree()
  for await (const lines of readLines(noted())) {
    for (const line of lines) tree.append(hashLeaf(line))
    yield* read.splice(0)
  }
  if (tree.root.toString('hex') !== head.sha256) throw new SnapshotFault('its bytes do not have the hash')
  return head
}

const decodeSnapshot = async (pieces: AsyncIterable<Uint8Array>, head: SnapshotHead): Promise<Ledger> => {
  const tree = new GrowingTree()
  const decoder = new LedgerDecoder()
  for await (const lines of readLines(pieces))
    for (const line of lines) {
      tree.append(hashLeaf(line))
      decoder.take(line.toString())
    }
  if (tree.root.toString('hex') !== head.sha256) throw new SnapshotFault('its bytes do not have the hash')
  const ledger = decoder.finish()
  if (ledger.sequence === head.sequence) return ledger
  throw new SnapshotFault(`it is of sequence ${ledger.sequence}`)
}

/** A signed checkpoint of another log, or of a history that was given up, has other leaves than the frames here. */
const assertSealsLog = async (log: FrameSource, { from, size, leaves }: Seal): Promise<void> => {
  if (leaves.length === 0) throw new SnapshotFault(`the checkpoint of size ${size} names no frame`)
  let next = 0
  for await (const frames of log.read(from + 1, size))
    for (const frame of frames) {
      if (leaves[next]?.equals(hashFrame(frame)) !== true)
        throw new SnapshotFault(`frame ${frame.sequence} is not the one that the checkpoint of size ${size} seals`)
      next += 1
    }
  if (next < leaves.length) throw new SnapshotFault(`the log lacks frames that the checkpoint of size ${size} seals`)
}

/**
 * A snapshot takes time to write: the checkpoint that confirms it may list only later frames. Those between must lead from
 * the last checkpoint that the snapshot has to where it begins.
 */
const assertLeadsToSeal = async (
  { log, verifiers }: Pick<SnapshotSearch, 'log' | 'verifiers'>,
  { sequence, sealed }: Pick<Ledger, 'sequence' | 'sealed'>,
  { from, peaks, size }: Seal,
): Promise<void> => {
  if (from <= sequence) return
  const tree = await readSealedTree(log, sealed, verifiers)
  for await (const frames of log.read(tree.size + 1, from)) for (const frame of frames) tree.append(hashFrame(frame))
  if (tree.root.equals(computeRootFromPeaks(peaks))) return
  throw new SnapshotFault(
    `the frames ${sequence + 1} to ${from} do not lead to the checkpoint of size ${size} that confirms it`,
  )
}

interface SnapshotSearch {
  readonly store: Pick<SnapshotStore, 'list' | 'read'>
  readonly log: FrameSource
  /** Without any, no snapshot is used. */
  readonly verifiers: readonly Verifier[]
  /** Default: the newest. */
  readonly sequenceMax?: number
  readonly onRefused: (head: SnapshotHead, fault: unknown) => void
}

async function* readCandidates(log: FrameSource, head: SnapshotHead): AsyncGenerator<CheckpointSealed> {
  const last = await log.lastSequence()
  for await (const frames of log.read(head.sequence + 1, last))
    for (const frame of frames)
      for (const checkpoint of readCheckpoints(frame))
        if (isDeepStrictEqual(checkpoint.snapshot, head) && checkpoint.size < frame.sequence) yield checkpoint
}

/** Rejects where no checkpoint that a known key signed over frames of this log has the hash of the snapshot. */
export const findConfirmation = async (
  { log, verifiers }: Pick<SnapshotSearch, 'log' | 'verifiers'>,
  head: SnapshotHead,
): Promise<CheckpointSealed> => {
  if (verifiers.length === 0) throw new SnapshotFault('`audit.public_key` is needed to check what confirms it')
  let fault: unknown = new SnapshotFault('no checkpoint in the log has its hash')
  for await (const checkpoint of readCandidates(log, head))
    try {
      await assertSealsLog(log, verifyCheckpoint(checkpoint, verifiers))
      return checkpoint
    } catch (cause) {
      fault = cause // A role can write a worthless one before the real one.
    }
  throw fault
}

/** The ledger of the newest snapshot that a checkpoint confirms; null where there is none. */
export const restoreLedger = async (search: SnapshotSearch): Promise<Ledger | null> => {
  const { store, sequenceMax = Number.POSITIVE_INFINITY, onRefused } = search
  for (const head of await store.list()) {
    if (head.sequence > sequenceMax) continue
    try {
      if (head.format !== snapshotFormat) throw new SnapshotFault(`it has format ${head.format}`)
      const confirmation = await findConfirmation(search, head)
      const ledger = await decodeSnapshot(store.read(head), head)
      await assertLeadsToSeal(search, ledger, readSeal(confirmation))
      return ledger
    } catch (fault) {
      onRefused(head, fault)
    }
  }
  return null
}
