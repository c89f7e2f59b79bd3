import { isDeepStrictEqual } from 'node:util'
import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { SnapshotFault, snapshotFormat } from '../domain/ledger/snapshot.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { IntegrityFinding } from './findings.ts'
import { foldLog } from './fold-log.ts'
import { auditLimits } from './limits.ts'
import type { Verifier } from './note.ts'
import type { SnapshotHead } from './seal.ts'
import { encodeSnapshot, findConfirmation, hashSnapshot, SnapshotMissing, type SnapshotStore } from './snapshots.ts'

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
    if (!(fault instanceof SnapshotFault)) throw fault
    return findingOf('snapshot-changed', sequence, `${notConfirmed}: ${fault.message}`)
  }
}

type ReadableSnapshots = Pick<SnapshotStore, 'list' | 'read'>

/** Not one that made room for a newer one meanwhile. */
const isStillStored = async (store: ReadableSnapshots, { sequence }: SnapshotHead): Promise<boolean> =>
  (await store.list()).some((each) => each.sequence === sequence)

const checkStored = async (
  store: ReadableSnapshots,
  head: SnapshotHead,
  confirmed: readonly SnapshotHead[],
): Promise<IntegrityFinding | null> => {
  const own = confirmed.find(({ sequence }) => sequence === head.sequence)
  if (own === undefined) return null
  const finding = await checkBytes(store, own, confirmed)
  if (finding === null && isDeepStrictEqual(head, own)) return null
  if (!(await isStillStored(store, head))) return null
  return finding ?? findingOf('snapshot-changed', head.sequence, notConfirmed)
}

interface ArchivedSnapshotParts {
  readonly store: ReadableSnapshots
  readonly log: FrameSource
  readonly verifiers: readonly Verifier[]
  /** Some frames are sealed by a key that is not known: one that it may have confirmed is no finding. */
  readonly isKeyUnknown?: boolean
}

export interface SnapshotCheck {
  readonly findings: readonly IntegrityFinding[]
  /** Why it is not proven that what is stored is what was confirmed. */
  readonly unproven: readonly string[]
}

const findLast = (confirmed: readonly SnapshotHead[]): number => Math.max(...confirmed.map(({ sequence }) => sequence))

const listUnarchived = (archived: readonly SnapshotHead[], confirmed: readonly SnapshotHead[]): readonly string[] => {
  const last = findLast(confirmed)
  if (confirmed.length === 0 || archived.some(({ sequence }) => sequence >= last)) return []
  return [
    `the snapshot of sequence ${last}, which a checkpoint among the frames confirms, is not in the archive: it was taken from it or never archived, and a start after a restore goes without it`,
  ]
}

/**
 * The snapshot that an archive's manifest names, against the checkpoints among its frames. `confirmed`: those that verified
 * checkpoints confirm, to recognize another.
 */
export const verifyArchivedSnapshot = async (
  { store, log, verifiers, isKeyUnknown = false }: ArchivedSnapshotParts,
  confirmed: readonly SnapshotHead[],
): Promise<SnapshotCheck> => {
  const found: (IntegrityFinding | null)[] = []
  const unproven: string[] = []
  const archived = await store.list()
  for (const head of archived)
    try {
      await findConfirmation({ log, verifiers }, head)
      found.push(await checkBytes(store, head, confirmed))
    } catch (fault) {
      const finding = findingOf(
        'snapshot-changed',
        head.sequence,
        `is not confirmed by the archive: ${faultText(fault)}`,
      )
      if (isKeyUnknown) unproven.push(finding.text)
      else found.push(finding)
    }
  unproven.push(...listUnarchived(archived, confirmed))
  return { findings: found.filter((finding) => finding !== null), unproven }
}

const listUnproven = (stored: readonly SnapshotHead[], confirmed: readonly SnapshotHead[]): readonly string[] => {
  const last = findLast(confirmed)
  const newer = stored.filter(({ sequence }) => sequence > last)
  const hadRoom = newer.length < auditLimits.snapshotsKept
  if (!hadRoom || stored.some(({ sequence }) => sequence === last)) return []
  return [`the snapshot of sequence ${last}, which a checkpoint confirms, is not stored: a start goes without it`]
}

/** Stored snapshots against those that verified checkpoints confirm. One that none confirms is never used. */
export const verifySnapshots = async (
  store: ReadableSnapshots,
  confirmed: readonly SnapshotHead[],
): Promise<SnapshotCheck> => {
  if (confirmed.length === 0) return { findings: [], unproven: [] }
  const found: (IntegrityFinding | null)[] = []
  const unproven: string[] = []
  try {
    const stored = await store.list()
    unproven.push(...listUnproven(stored, confirmed))
    for (const head of stored) found.push(await checkStored(store, head, confirmed))
  } catch (fault) {
    unproven.push(`snapshots that checkpoints confirm cannot be read: ${faultText(fault)}`)
  }
  return { findings: found.filter((finding) => finding !== null), unproven }
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
