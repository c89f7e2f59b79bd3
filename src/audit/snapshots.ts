import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { encodeLedger, LedgerDecoder, SnapshotFault, snapshotFormat } from '../domain/ledger/snapshot.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { CheckpointSealed } from '../events/types.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { IntegrityFinding } from './findings.ts'
import { foldLog } from './fold-log.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree, hashFrame, hashLeaf } from './merkle.ts'
import type { Verifier } from './note.ts'
import type { Seal, SnapshotHead } from './seal.ts'
import { readCheckpoints, verifyCheckpoint } from './verified-checkpoints.ts'

/** Snapshots are kept beside the log. Everything rejects while they cannot be reached. */
export interface SnapshotStore {
  /** The last that are stored whole, the newest first. */
  list(): Promise<readonly SnapshotHead[]>
  read(head: SnapshotHead): AsyncIterable<Uint8Array>
  /** Stored once it resolves; until then `list` does not have it. Older ones are removed beyond `snapshotsKept`. */
  write(sequence: number, pieces: AsyncGenerator<Uint8Array, SnapshotHead>): Promise<SnapshotHead>
  /** Those of later sequences, as of a longer history that was given up. */
  removeBeyond(sequence: number): Promise<void>
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

const hashSnapshot = async (pieces: AsyncIterable<Uint8Array>): Promise<string> => {
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
      await findConfirmation(search, head)
      return await decodeSnapshot(store.read(head), head)
    } catch (fault) {
      onRefused(head, fault)
    }
  }
  return null
}

type SnapshotFinding = 'snapshot-changed' | 'snapshot-swapped' | 'snapshot-missing'

const findingOf = (kind: SnapshotFinding, sequence: number, text: string): IntegrityFinding => ({
  kind,
  sequence,
  toSequence: sequence,
  text: `the snapshot of sequence ${sequence} ${text}`,
})

const notConfirmed = 'is not the one that a checkpoint confirms'

/** The bytes stored as `head` against what it should be, and against the other confirmed ones. */
const checkBytes = async (
  store: Pick<SnapshotStore, 'read'>,
  head: SnapshotHead,
  confirmed: readonly SnapshotHead[],
): Promise<IntegrityFinding | null> => {
  const { sequence, sha256 } = head
  try {
    const found = await hashSnapshot(store.read(head))
    if (found === sha256) return null
    const other = confirmed.find((each) => each.sha256 === found)
    if (other === undefined) return findingOf('snapshot-changed', sequence, notConfirmed)
    return findingOf('snapshot-swapped', sequence, `has the bytes of that of ${other.sequence}`)
  } catch (fault) {
    if (fault instanceof SnapshotMissing) return findingOf('snapshot-missing', sequence, `is gone: ${fault.message}`)
    return findingOf('snapshot-changed', sequence, `${notConfirmed}: ${faultText(fault)}`)
  }
}

const checkStored = async (
  store: Pick<SnapshotStore, 'read'>,
  head: SnapshotHead,
  confirmed: readonly SnapshotHead[],
): Promise<IntegrityFinding | null> => {
  const own = confirmed.find(({ sequence }) => sequence === head.sequence)
  if (own === undefined) return null
  const finding = await checkBytes(store, own, confirmed)
  if (finding !== null || isDeepStrictEqual(head, own)) return finding
  return findingOf('snapshot-changed', head.sequence, notConfirmed)
}

/**
 * The snapshot that an archive's manifest names, against the checkpoints among its frames. `confirmed`: those that verified
 * checkpoints confirm, to recognize another.
 */
export const verifyArchivedSnapshot = async (
  { store, log, verifiers }: Pick<SnapshotSearch, 'store' | 'log' | 'verifiers'>,
  confirmed: readonly SnapshotHead[],
): Promise<readonly IntegrityFinding[]> => {
  const found: (IntegrityFinding | null)[] = []
  for (const head of await store.list())
    try {
      await findConfirmation({ log, verifiers }, head)
      found.push(await checkBytes(store, head, confirmed))
    } catch (fault) {
      found.push(findingOf('snapshot-changed', head.sequence, `is not confirmed by the archive: ${faultText(fault)}`))
    }
  return found.filter((finding) => finding !== null)
}

/** Stored snapshots against those that verified checkpoints confirm. One that none confirms is never used. */
export const verifySnapshots = async (
  store: Pick<SnapshotStore, 'list' | 'read'>,
  confirmed: readonly SnapshotHead[],
): Promise<readonly IntegrityFinding[]> => {
  const found: (IntegrityFinding | null)[] = []
  for (const head of await store.list()) found.push(await checkStored(store, head, confirmed))
  return found.filter((finding) => finding !== null)
}

const hashLedger = async (ledger: Ledger): Promise<string> => {
  const pieces = encodeSnapshot(ledger)
  for (;;) {
    const { done, value } = await pieces.next()
    if (done === true) return value.sha256
  }
}

/** Replays the log, and compares each confirmed snapshot of this program's format with the ledger at its sequence. */
export const replaySnapshots = async (
  source: FrameSource,
  confirmed: readonly SnapshotHead[],
): Promise<readonly IntegrityFinding[]> => {
  const found: IntegrityFinding[] = []
  const ledger = initialLedger()
  for (const { format, sequence, sha256 } of confirmed) {
    if (format !== snapshotFormat) continue
    for await (const _ of foldLog({ frames: source, to: sequence }, ledger));
    if ((await hashLedger(ledger)) !== sha256)
      found.push(findingOf('snapshot-changed', sequence, 'was confirmed and is not the ledger of the frames before it'))
  }
  return found
}
