import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Ledger } from '../domain/ledger/ledger.ts'
import { encodeLedger, LedgerDecoder, SnapshotFault, snapshotFormat } from '../domain/ledger/snapshot.ts'
import type { FrameSource, RawFrame } from '../log/raw-frames.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree, hashLeaf } from './merkle.ts'
import type { Verifier } from './note.ts'
import type { SnapshotHead } from './seal.ts'
import { readCheckpoints, verifyCheckpoint } from './verified-checkpoints.ts'

/** Snapshots are kept beside the log. Everything rejects while they cannot be reached. */
export interface SnapshotStore {
  /** Those that are stored whole, the newest first. */
  list(): Promise<readonly SnapshotHead[]>
  read(head: SnapshotHead): AsyncIterable<Uint8Array>
  /** Stored once it resolves; until then `list` does not have it. Older ones are removed beyond `snapshotsKept`. */
  write(sequence: number, pieces: AsyncGenerator<Uint8Array, SnapshotHead>): Promise<SnapshotHead>
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

async function* readLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece])
    let start = 0
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
      yield bytes.subarray(start, end)
      start = end + 1
    }
    rest = bytes.subarray(start)
  }
  if (rest.length > 0) throw new SnapshotFault('its last line is cut off')
}

const decodeSnapshot = async (pieces: AsyncIterable<Uint8Array>, head: SnapshotHead): Promise<Ledger> => {
  const tree = new GrowingTree()
  const decoder = new LedgerDecoder()
  for await (const line of readLines(pieces)) {
    tree.append(hashLeaf(line))
    decoder.take(line.toString())
  }
  if (tree.root.toString('hex') !== head.sha256) throw new SnapshotFault('its bytes do not have the hash')
  const ledger = decoder.finish()
  if (ledger.sequence === head.sequence) return ledger
  throw new SnapshotFault(`it is of sequence ${ledger.sequence}`)
}

const confirms = (frame: RawFrame, head: SnapshotHead, verifiers: readonly Verifier[]): boolean =>
  readCheckpoints(frame).some((checkpoint) => {
    if (!isDeepStrictEqual(checkpoint.snapshot, head) || checkpoint.size >= frame.sequence) return false
    if (verifiers.length > 0) verifyCheckpoint(checkpoint, verifiers)
    return true
  })

interface SnapshotSearch {
  readonly store: Pick<SnapshotStore, 'list' | 'read'>
  readonly log: FrameSource
  /** Without any, signatures are not checked. */
  readonly verifiers: readonly Verifier[]
  /** Default: the newest. */
  readonly sequenceMax?: number
  readonly onRefused: (head: SnapshotHead, fault: unknown) => void
}

/** Rejects where no checkpoint of the log, signed by a known key, has the hash of the snapshot. */
const findConfirmation = async (
  { log, verifiers }: Pick<SnapshotSearch, 'log' | 'verifiers'>,
  head: SnapshotHead,
): Promise<RawFrame> => {
  for await (const frames of log.read(head.sequence + 1, await log.lastSequence()))
    for (const frame of frames) if (confirms(frame, head, verifiers)) return frame
  throw new SnapshotFault('no checkpoint in the log has its hash')
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
