import { faultText } from '../errors/gateway-error.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { IntegrityFinding } from './findings.ts'
import type { Verifier } from './note.ts'
import type { SnapshotHead } from './seal.ts'
import { findConfirmation, passVerified, type SnapshotStore } from './snapshots.ts'

export interface SnapshotTarget {
  /** The archived one; null where there is none, or its file is not whole. */
  findSnapshot(): Promise<SnapshotHead | null>
  /** Takes the place of the one before. Rejects, and keeps that one, where `pieces` throws. */
  writeSnapshot(head: SnapshotHead, pieces: AsyncIterable<Uint8Array>): Promise<void>
}

interface SnapshotArchiving {
  readonly log: FrameSource
  readonly store: Pick<SnapshotStore, 'list' | 'read'>
  readonly target: SnapshotTarget
  /** Frames archived: what confirms the snapshot must be among them. */
  readonly size: number
  readonly verifiers: readonly Verifier[]
}

const upTo = (source: FrameSource, size: number): FrameSource => ({
  lastSequence: async () => size,
  read: (from, to) => source.read(from, Math.min(to, size)),
})

const isConfirmed = ({ log, size, verifiers }: SnapshotArchiving, head: SnapshotHead): Promise<boolean> =>
  findConfirmation({ log: upTo(log, size), verifiers }, head).then(
    () => true,
    () => false,
  )

/**
 * Archives the newest stored snapshot that a checkpoint among the archived frames confirms, unless the archive has it.
 * Returns those that were changed. Rejects where the store cannot be read.
 */
export const archiveSnapshot = async (parts: SnapshotArchiving): Promise<readonly IntegrityFinding[]> => {
  const { store, target, size } = parts
  const findings: IntegrityFinding[] = []
  const archived = await target.findSnapshot()
  for (const head of await store.list()) {
    const { sequence } = head
    if (sequence <= (archived?.sequence ?? -1)) break
    if (sequence >= size || !(await isConfirmed(parts, head))) continue
    try {
      await target.writeSnapshot(head, passVerified(store.read(head), head))
      break
    } catch (fault) {
      const text = `the snapshot of sequence ${sequence} was not archived: ${faultText(fault)}`
      findings.push({ kind: 'snapshot-changed', sequence, toSequence: sequence, text })
    }
  }
  return findings
}
