import { faultText } from '../errors/gateway-error.ts'
import type { CheckpointSealed } from '../events/types.ts'
import { type FrameSource, FramesFault, type RawFrame } from '../log/raw-frames.ts'
import { Alignment, type FoundLeaf, type SealedLeaf } from './alignment.ts'
import { CheckpointChain } from './checkpoint-chain.ts'
import { CosignedHistory, type WitnessPolicy } from './cosigned-history.ts'
import type { IntegrityFinding, IntegrityFindingKind } from './findings.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree, hashFrame } from './merkle.ts'
import { MisplacedFrames } from './misplaced-frames.ts'
import type { Verifier } from './note.ts'
import {
  type KnownHead,
  type PublishedCheckpoint,
  PublishedCheckpoints,
  type TreeHead,
} from './published-checkpoints.ts'
import type { Rollback } from './rollback.ts'
import type { SnapshotHead } from './seal.ts'
import { SealedHistory } from './sealed-history.ts'
import { findUnproven } from './unproven.ts'
import { type InspectedFrame, inspectFrame, readUnknownSeal, verifyCheckpoint } from './verified-checkpoints.ts'
import { VerifyFindings } from './verify-findings.ts'

export interface VerifyParts {
  readonly source: FrameSource
  /** The accepted keys: several if the log changed its key. */
  readonly verifiers: readonly Verifier[]
  readonly known?: readonly (PublishedCheckpoint | KnownHead)[]
  /** A checkpoint stored after the source's end, as an archive keeps its last. */
  readonly lastCheckpoint?: CheckpointSealed
  /** Throws for a frame with invalid events. If absent, frames without a checkpoint are hashed, and not decoded. */
  readonly checkEvents?: (frame: RawFrame) => void
  /** Found frames that are kept one by one while no checkpoint covers them. */
  readonly unsealedFramesMax?: number
  /** The clock that stores the frames. If absent, the source gets no more checkpoints, and no frame may be unsealed. */
  readonly readClock?: () => Promise<number>
  /** The time at which the source is verified, for cosignatures of a source without a clock. If absent, all are due. */
  readonly verifiedAtMs?: number
  readonly onProgress?: (sequence: number, lastSequence: number) => void
  /** Who has to cosign checkpoints that are no longer new. If absent, none. */
  readonly witnesses?: WitnessPolicy | undefined
}

export type VerifyVerdict = 'proven' | 'tampered' | 'not_proven'

export interface Verification {
  readonly frames: number
  readonly sealedTo: number
  /** The root of the tree there, base64; null if nothing is sealed. */
  readonly root: string | null
  /** Frames after the last checkpoint, not covered yet. Not a finding: there are always some. */
  readonly unsealed: number
  /** Empty if it is proven that nothing was changed, or if there are findings. */
  readonly unproven: readonly string[]
  /** Verified checkpoints, including old ones for which no frames were left to compare. */
  readonly checkpoints: number
  readonly uncompared: number
  readonly findings: readonly IntegrityFinding[]
  /** Of each kind, including those not shown. */
  readonly counts: Readonly<Partial<Record<IntegrityFindingKind, number>>>
  readonly total: number
  readonly rollbacks: readonly Rollback[]
  /** Up to which size enough witnesses have cosigned; null where none are asked for, or none have. */
  readonly cosignedTo: number | null
  /** The last ones that verified checkpoints confirm. */
  readonly snapshots: readonly SnapshotHead[]
  /** What a key has sealed that is not known; null where nothing is. */
  readonly unknownKey: string | null
}

/** A contradiction to a checkpoint outweighs a missing frame. */
export const decideVerdict = ({ total, unproven }: Pick<Verification, 'total' | 'unproven'>): VerifyVerdict => {
  if (total > 0) return 'tampered'
  return unproven.length === 0 ? 'proven' : 'not_proven'
}

const emptyHead: TreeHead = new GrowingTree()

class VerifyRun {
  readonly #parts: VerifyParts & { readonly unsealedFramesMax: number }
  readonly #findings: VerifyFindings
  readonly #history: SealedHistory
  readonly #chain: CheckpointChain
  readonly #published: PublishedCheckpoints
  readonly #misplaced: MisplacedFrames
  readonly #alignment = new Alignment({
    onMatch: (sealed, found) => this.#onMatch(sealed, found),
    onGap: (gap) => this.#misplaced.addGap(gap),
  })
  #checkpoints = 0
  #noted: Pick<Verification, 'rollbacks' | 'snapshots'> = { rollbacks: [], snapshots: [] }

  constructor(parts: VerifyParts, findings: VerifyFindings) {
    const { known = [], verifiers } = parts
    this.#parts = { unsealedFramesMax: auditLimits.verifyUnsealedFramesMax, ...parts }
    this.#findings = findings
    this.#misplaced = new MisplacedFrames((finding) => findings.addMisplaced(finding))
    this.#published = new PublishedCheckpoints(known, verifiers, (finding) => findings.add(finding))
    this.#history = new SealedHistory(findings, this.#published)
    this.#chain = new CheckpointChain({
      ...{ history: this.#history, alignment: this.#alignment, findings },
      onMatch: (sealed, found) => this.#onMatch(sealed, found),
    })
  }

  take(frame: RawFrame): InspectedFrame {
    const { verifiers, witnesses, checkEvents } = this.#parts
    const keys = { verifiers, witnesses: witnesses?.keys ?? [] }
    const inspected = inspectFrame(frame, keys, checkEvents)
    const { seals, rollbacks } = inspected
    this.#checkpoints += seals.length
    const snapshots = seals.flatMap(({ snapshot }) => snapshot ?? [])
    if (rollbacks.length + snapshots.length > 0) {
      const keptTo = Math.min(...rollbacks.map(({ size }) => size)) // Later snapshots were removed.
      const kept = this.#noted.snapshots.filter(({ sequence }) => sequence <= keptTo)
      this.#noted = {
        rollbacks: [...this.#noted.rollbacks, ...rollbacks],
        snapshots: [...kept, ...snapshots].slice(-auditLimits.verifySnapshotsMax),
      }
    }
    const flaw = inspected.flaw ?? this.#chain.takeUnknown(inspected, frame.sequence)
    this.#alignment.addFound({ sequence: frame.sequence, hash: hashFrame(frame), flaw })
    for (const seal of seals) this.#chain.accept({ seal, at: frame.sequence, isKnown: true })
    if (this.#alignment.foundCount > this.#parts.unsealedFramesMax) this.#foldOldest()
    return inspected
  }

  async end(): Promise<Omit<Verification, 'frames' | 'unproven' | 'cosignedTo'>> {
    this.#takeLastCheckpoint()
    this.#chain.settle()
    const tail = this.#alignment.takeFound(this.#alignment.foundCount)
    this.#misplaced.finish(tail)
    const after = `; no checkpoint covers the frames from ${this.#history.size + 1} on`
    for (const leaf of tail) this.#findings.addFlaw(leaf, after)
    const { size, sealed: reached } = await this.#history.finish(tail, this.#parts.source)
    const unknownKey = this.#chain.keys.findUnproven(this.#published.unknown)
    const sealed = unknownKey === null ? reached : (this.#chain.keys.proven ?? emptyHead)
    return {
      unknownKey,
      sealedTo: sealed.size,
      root: sealed.size === 0 ? null : sealed.root.toString('base64'),
      unsealed: size - sealed.size,
      checkpoints: this.#checkpoints,
      uncompared: this.#history.uncompared,
      findings: this.#findings.shown,
      counts: this.#findings.counts,
      total: this.#findings.total,
      ...this.#noted,
    }
  }

  #takeLastCheckpoint(): void {
    const { lastCheckpoint, verifiers } = this.#parts
    if (lastCheckpoint === undefined) return
    try {
      const seal = verifyCheckpoint(lastCheckpoint, verifiers)
      this.#chain.accept({ seal, at: Number.POSITIVE_INFINITY, isKnown: true })
      this.#checkpoints += 1
    } catch (fault) {
      const unknown = readUnknownSeal(lastCheckpoint, verifiers)
      if (unknown !== null && this.#chain.acceptUnknown(unknown, Number.POSITIVE_INFINITY)) return
      const text = `the last checkpoint, which is stored beside the frames, is not trusted: ${faultText(fault)}`
      const { size } = lastCheckpoint
      this.#findings.add({ kind: 'checkpoint-forged', sequence: size, toSequence: size, text })
    }
  }

  #onMatch(sealed: SealedLeaf, found: FoundLeaf): void {
    this.#misplaced.recordMatch(sealed)
    this.#findings.addFlaw(found)
  }

  #foldOldest(): void {
    this.#chain.settle()
    this.#history.fold(this.#alignment.takeFound(Math.ceil(this.#parts.unsealedFramesMax / 2)))
  }
}

const none: WitnessPolicy = { keys: [], quorum: 0 }

/** In constant memory; frames of a log that was sealed late may be read twice. Rejects with the source's error. */
export const verifyLog = async (parts: VerifyParts): Promise<Verification> => {
  const { source, onProgress, readClock, witnesses = none } = parts
  const findings = new VerifyFindings()
  const verifying = new VerifyRun(parts, findings)
  const cosigned = new CosignedHistory((finding) => findings.add(finding))
  const nowMs = (await readClock?.()) ?? null // Read before the end is: what is stored between the two is not late.
  const last = await source.lastSequence()
  let [framesRead, faults] = [0, 0]
  for (let next = 1; next <= last; ) {
    try {
      for await (const frames of source.read(next, last))
        for (const frame of frames) {
          cosigned.take(frame, verifying.take(frame))
          framesRead += 1
          next = frame.sequence + 1
          onProgress?.(frame.sequence, last)
        }
      if (next <= last) throw new Error(`the frames end at sequence ${next - 1}, not at ${last}`)
    } catch (fault) {
      if (!(fault instanceof FramesFault) || faults === auditLimits.verifyFaultsMax) throw fault
      faults += 1
      if (fault.from > next) continue
      findings.addFault(fault, next, fault.resumesAt - 1)
      next = fault.resumesAt
    }
  }
  await cosigned.finish(source, last)
  const found = await verifying.end()
  const log = { source, sealedTo: found.sealedTo, lastSequence: last, nowMs }
  const unproven =
    found.total > 0
      ? []
      : [
          ...(found.unknownKey === null ? await findUnproven(log) : [found.unknownKey]),
          ...cosigned.findUnproven(witnesses, nowMs ?? parts.verifiedAtMs ?? null),
        ]
  return { frames: framesRead, ...found, cosignedTo: cosigned.cosignedTo(witnesses), unproven }
}
