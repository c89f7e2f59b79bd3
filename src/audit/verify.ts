import { faultText } from '../errors/gateway-error.ts'
import type { CheckpointSealed } from '../events/types.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { Alignment, type Flaw, type FoundLeaf, hashToKey, type SealedLeaf } from './alignment.ts'
import { type IntegrityFinding, type IntegrityFindingKind, IntegrityFindings } from './findings.ts'
import { type FrameSource, FramesFault, hashFrame, type RawFrame } from './frames.ts'
import { auditLimits } from './limits.ts'
import { computeRootFromPeaks, GrowingTree, type Hash } from './merkle.ts'
import { MisplacedFrames } from './misplaced-frames.ts'
import type { Verifier } from './note.ts'
import { type PublishedCheckpoint, PublishedCheckpoints } from './published-checkpoints.ts'
import { buildTree } from './seal.ts'
import { findUnproven } from './unproven.ts'
import { UnsealedRange } from './unsealed-range.ts'
import { mayHoldCheckpoint, readCheckpoints, type VerifiedSeal, verifyCheckpoint } from './verified-checkpoints.ts'

export interface VerifyParts {
  readonly source: FrameSource
  /** The accepted keys: several if the log changed its key. */
  readonly verifiers: readonly Verifier[]
  readonly known?: readonly PublishedCheckpoint[]
  /** A checkpoint stored after the source's end, as an archive keeps its last. */
  readonly lastCheckpoint?: CheckpointSealed
  /** Throws for a frame with invalid events. If absent, frames without a checkpoint are hashed, and not decoded. */
  readonly checkEvents?: (frame: RawFrame) => void
  /** Found frames that are kept one by one while no checkpoint covers them. */
  readonly unsealedFramesMax?: number
  /**
   * Reads the clock that stores the frames, by which the age of an unsealed frame is measured. If absent, the source
   * gets no more checkpoints, and no frame may be unsealed.
   */
  readonly readClock?: () => Promise<number>
  readonly onProgress?: (sequence: number, lastSequence: number) => void
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
}

interface LocatedSeal {
  readonly seal: VerifiedSeal
  readonly at: number
}

interface InspectedFrame {
  readonly seals: readonly VerifiedSeal[]
  readonly flaw: Flaw | null
}

const rangeText = (from: number, to: number): string => (from === to ? `frame ${from}` : `frames ${from} to ${to}`)

/** A contradiction to a checkpoint outweighs a missing frame. */
export const decideVerdict = ({ total, unproven }: Pick<Verification, 'total' | 'unproven'>): VerifyVerdict => {
  if (total > 0) return 'tampered'
  return unproven.length === 0 ? 'proven' : 'not_proven'
}

const copyTree = (tree: GrowingTree): GrowingTree => new GrowingTree(tree.size, tree.peaks)

class VerifyRun {
  readonly #parts: VerifyParts
  readonly #unsealedFramesMax: number
  readonly #findings = new IntegrityFindings(sharedLimits.verifyFindingsMax)
  readonly #published: PublishedCheckpoints
  readonly #misplaced = new MisplacedFrames((finding) => this.#reportMisplaced(finding))
  readonly #alignment = new Alignment({
    onMatch: (sealed, found) => this.#match(sealed, found),
    onGap: (gap) => this.#misplaced.addGap(gap),
  })
  #sealed = new GrowingTree()
  /** The tree of the found frames, if they go further than what is sealed and are too many to keep one by one. */
  #unsealedRange: UnsealedRange | null = null
  readonly #rangesToReread: UnsealedRange[] = []
  readonly #unsealedRoots = new Map<number, Hash>()
  /** The last checkpoints, for later ones of concurrent sealers. */
  #recent: readonly VerifiedSeal[] = []
  /** Checkpoints that are stored before frames or checkpoints they need. */
  #deferred: readonly LocatedSeal[] = []
  readonly #unread: { readonly from: number; readonly to: number }[] = []
  #frames = 0
  #checkpoints = 0
  #uncompared = 0

  constructor(parts: VerifyParts) {
    this.#parts = parts
    this.#unsealedFramesMax = parts.unsealedFramesMax ?? auditLimits.verifyUnsealedFramesMax
    this.#published = new PublishedCheckpoints(parts.known ?? [], parts.verifiers, (finding) =>
      this.#findings.add(finding),
    )
  }

  take(frame: RawFrame): void {
    this.#frames += 1
    const { seals, flaw } = this.#inspect(frame)
    this.#alignment.addFound({ sequence: frame.sequence, hash: hashFrame(frame), flaw })
    for (const seal of seals) this.#accept({ seal, at: frame.sequence })
    if (this.#alignment.foundCount > this.#unsealedFramesMax) this.#hashOldest()
  }

  addFault({ reason, message }: FramesFault, from: number, to: number): void {
    this.#unread.push({ from, to })
    const kind = reason === 'missing' ? 'frame-missing' : 'segment-damaged'
    this.#findings.add({ kind, sequence: from, toSequence: to, text: message })
  }

  async end(): Promise<Omit<Verification, 'unproven'>> {
    this.#takeLastCheckpoint()
    while (this.#deferred.length > 0) this.#acceptFirstDeferred()
    this.#alignment.settle()
    const tail = this.#alignment.takeFound(this.#alignment.foundCount)
    this.#misplaced.finish(tail)
    for (const leaf of tail) this.#reportFlaw(leaf, `; nothing speaks for the frames from ${this.#sealed.size + 1} on`)
    const end = (this.#unsealedRange?.tree ?? this.#sealed).size + tail.length
    const { size, root } =
      this.#published.finishAt(end, this.#sealed.size, this.#computePublishedRoots(tail)) ?? this.#sealed
    await this.#rereadRanges()
    return {
      frames: this.#frames,
      sealedTo: size,
      root: size === 0 ? null : root.toString('base64'),
      unsealed: end - size,
      checkpoints: this.#checkpoints,
      uncompared: this.#uncompared,
      findings: this.#findings.shown,
      counts: this.#findings.counts,
      total: this.#findings.total,
    }
  }

  #inspect(frame: RawFrame): InspectedFrame {
    try {
      this.#parts.checkEvents?.(frame)
      if (!mayHoldCheckpoint(frame)) return { seals: [], flaw: null }
      return this.#verifyCheckpoints(readCheckpoints(frame))
    } catch (fault) {
      return { seals: [], flaw: { kind: 'frame-unreadable', text: `cannot be read: ${faultText(fault)}` } }
    }
  }

  #verifyCheckpoints(checkpoints: readonly CheckpointSealed[]): InspectedFrame {
    const seals: VerifiedSeal[] = []
    let flaw: Flaw | null = null
    for (const checkpoint of checkpoints)
      try {
        seals.push(verifyCheckpoint(checkpoint, this.#parts.verifiers))
      } catch (fault) {
        flaw = { kind: 'checkpoint-forged', text: `holds a checkpoint that is not believed: ${faultText(fault)}` }
      }
    this.#checkpoints += seals.length
    return { seals, flaw }
  }

  #takeLastCheckpoint(): void {
    const { lastCheckpoint, verifiers } = this.#parts
    if (lastCheckpoint === undefined) return
    try {
      this.#accept({ seal: verifyCheckpoint(lastCheckpoint, verifiers), at: Number.POSITIVE_INFINITY })
      this.#checkpoints += 1
    } catch (fault) {
      const text = `the last checkpoint, which is kept beside the frames, is not believed: ${faultText(fault)}`
      const { size } = lastCheckpoint
      this.#findings.add({ kind: 'checkpoint-forged', sequence: size, toSequence: size, text })
    }
  }

  #match(sealed: SealedLeaf, found: FoundLeaf): void {
    this.#misplaced.recordMatch(sealed)
    this.#reportFlaw(found)
  }

  #reportFlaw({ sequence, flaw }: FoundLeaf, more = ''): void {
    if (flaw === null) return
    const text = `frame ${sequence} ${flaw.text}${more}`
    this.#findings.add({ kind: flaw.kind, sequence, toSequence: sequence, text })
  }

  /** Unreadable frames are already reported. */
  #reportMisplaced(finding: IntegrityFinding): void {
    const isTold = this.#unread.some(({ from, to }) => from <= finding.sequence && finding.toSequence <= to)
    if (finding.kind !== 'frame-removed' || !isTold) this.#findings.add(finding)
  }

  #accept(standing: LocatedSeal): void {
    if (!this.#tryToAccept(standing)) {
      this.#defer(standing)
      return
    }
    for (const deferred of this.#deferred) {
      if (!this.#tryToAccept(deferred)) return
      this.#deferred = this.#deferred.slice(1)
    }
  }

  #defer(standing: LocatedSeal): void {
    this.#deferred = [...this.#deferred, standing].toSorted((one, other) => one.seal.size - other.seal.size)
    if (this.#deferred.length > auditLimits.verifyDeferredSealsMax) this.#acceptFirstDeferred()
  }

  /** False for a checkpoint whose beginning no known tree reaches. */
  #tryToAccept({ seal, at }: LocatedSeal): boolean {
    if (seal.size <= this.#sealed.size) this.#compareOld(seal, at)
    else if (seal.from > this.#sealed.size && !this.#hashUpTo(seal)) return false
    else this.#extend(seal, at)
    return true
  }

  #acceptFirstDeferred(): void {
    const [first, ...others] = this.#deferred
    this.#deferred = others
    if (first === undefined) return
    this.#alignment.settle()
    if (first.seal.from > this.#sealed.size && !this.#hashUpTo(first.seal)) this.#resumeAt(first.seal)
    this.#accept(first)
  }

  #compareOld(seal: VerifiedSeal, at: number): void {
    const other = this.#recent.find(({ from, size }) => from <= seal.size && seal.size <= size)
    if (other === undefined) {
      this.#uncompared += 1
      return
    }
    const { from, peaks, leaves } = other
    const { root } = buildTree({ from, peaks, leaves: leaves.slice(0, seal.size - from) })
    if (!root.equals(seal.root)) this.#reportContradiction(seal, at)
  }

  #extend(seal: VerifiedSeal, at: number): void {
    const { from, peaks, leaves, tree } = seal
    const known = this.#sealed.size - from
    const before =
      known === 0 ? computeRootFromPeaks(peaks) : buildTree({ from, peaks, leaves: leaves.slice(0, known) }).root
    if (!before.equals(this.#sealed.root)) this.#reportContradiction(seal, at)
    const fresh = leaves.slice(known)
    const first = this.#sealed.size + 1
    const foldedTo = this.#unsealedRange?.tree.size ?? 0
    for (const [place, hash] of fresh.entries())
      if (first + place > foldedTo) this.#alignment.addSealed({ sequence: first + place, hash, checkpointSequence: at })
    this.#advanceTree(fresh, tree)
    this.#recent = [seal, ...this.#recent].slice(0, auditLimits.verifyRecentSealsMax)
    this.#alignment.match()
  }

  /**
   * Goes through the leaves one by one only if a root on the way is needed. Published checkpoints are compared with the
   * frames that were folded, since these are not yet compared with the leaves.
   */
  #advanceTree(leaves: readonly Hash[], tree: GrowingTree): void {
    const stops = [this.#published.nextSize, this.#unsealedRange?.tree.size]
    const growing = copyTree(this.#sealed)
    if (stops.some((size) => size !== undefined && size <= tree.size))
      for (const leaf of leaves) {
        growing.append(leaf)
        const { size } = growing
        if (size === this.#unsealedRange?.tree.size) this.#compareRange(growing)
        if (this.#published.has(size))
          this.#published.compareAt({ size, root: this.#unsealedRoots.get(size) ?? growing.root })
      }
    this.#sealed = copyTree(tree)
  }

  #compareRange(tree: GrowingTree): void {
    const folded = this.#unsealedRange
    this.#unsealedRange = null
    if (folded?.tree.root.equals(tree.root) === false) this.#reportRange(folded.from, tree.size)
    else if (folded?.hasCheckpoints === true) this.#rangesToReread.push(folded)
  }

  #closeRange(): void {
    const folded = this.#unsealedRange
    this.#unsealedRange = null
    folded?.addCheckpoint(this.#sealed)
    if (folded?.hasCheckpoints === true) this.#rangesToReread.push(folded)
  }

  /** Nothing counts as sealed before it is compared: a checkpoint may end where no folded root was taken. */
  async #rereadRanges(): Promise<void> {
    this.#closeRange()
    for (const folded of this.#rangesToReread)
      for (const [from, to] of await folded.findMismatches(this.#parts.source)) this.#reportRange(from, to)
  }

  /** False if the found frames do not lead to where the checkpoint begins. */
  #hashUpTo({ from, peaks }: VerifiedSeal): boolean {
    // The folded frames are compared as a whole once the checkpoints have come so far.
    if (this.#unsealedRange !== null && from <= this.#unsealedRange.tree.size)
      return this.#skipTo(new GrowingTree(from, peaks))
    const start = copyTree(this.#unsealedRange?.tree ?? this.#sealed)
    const count = from - start.size
    if (this.#alignment.sealedCount > 0 || this.#alignment.foundCount < count) return false
    const hashes = this.#alignment.peek(count).map(({ hash }) => hash)
    for (const hash of hashes) start.append(hash)
    if (!start.root.equals(computeRootFromPeaks(peaks))) return false
    if (this.#unsealedRange !== null) this.#skipTo(this.#unsealedRange.tree)
    for (const [place, leaf] of this.#alignment.takeFound(count).entries())
      this.#match({ sequence: from - count + 1 + place, hash: leaf.hash, checkpointSequence: leaf.sequence + 1 }, leaf)
    this.#advanceTree(hashes, start)
    return true
  }

  #skipTo(tree: GrowingTree): true {
    this.#published.skipTo(tree.size, this.#unsealedRoots)
    this.#unsealedRange?.addCheckpoint(this.#sealed)
    this.#sealed = copyTree(tree)
    if (tree.size === this.#unsealedRange?.tree.size) this.#compareRange(tree)
    return true
  }

  /** Gives up on the frames before a checkpoint, and resumes where its own hashes are found. */
  #resumeAt({ from, peaks, leaves }: VerifiedSeal): void {
    const sealed = new Set(leaves.map(hashToKey))
    const place = this.#alignment.peek().findIndex(({ hash }) => sealed.has(hashToKey(hash)))
    const count = place < 0 ? Math.min(this.#alignment.foundCount, from - this.#sealed.size) : place
    this.#alignment.takeFound(count)
    this.#reportUnlocated(this.#sealed.size + 1, from, count)
    this.#closeRange()
    this.#sealed = new GrowingTree(from, peaks)
    this.#published.compareAt(this.#sealed)
  }

  #hashOldest(): void {
    while (this.#deferred.length > 0) this.#acceptFirstDeferred()
    this.#alignment.settle()
    const leaves = this.#alignment.takeFound(Math.ceil(this.#unsealedFramesMax / 2))
    const [first] = leaves
    if (first === undefined) return
    const folded = this.#unsealedRange ?? new UnsealedRange(this.#sealed, first.sequence)
    this.#unsealedRange = folded
    for (const leaf of leaves) {
      folded.append(leaf)
      this.#reportFlaw(leaf)
      const { tree } = folded
      if (this.#published.has(tree.size)) this.#unsealedRoots.set(tree.size, tree.root)
    }
  }

  #computePublishedRoots(tail: readonly FoundLeaf[]): ReadonlyMap<number, Hash> {
    const tree = copyTree(this.#unsealedRange?.tree ?? this.#sealed)
    const roots = new Map(this.#unsealedRoots)
    for (const { hash } of tail) {
      tree.append(hash)
      if (this.#published.has(tree.size)) roots.set(tree.size, tree.root)
    }
    return roots
  }

  #reportContradiction({ size }: VerifiedSeal, at: number): void {
    const sequence = Number.isFinite(at) ? at : size
    const text = `the checkpoint of size ${size}, at sequence ${sequence}, is signed and contradicts those before it`
    this.#findings.add({ kind: 'checkpoint-contradicted', sequence, toSequence: sequence, text })
  }

  #reportUnlocated(from: number, to: number, count: number): void {
    if (!this.#unread.some((unread) => unread.from <= to && from <= unread.to))
      this.#reportUnlocatedFrames(from, to, count)
  }

  /** Reported even if some of the frames are unreadable: the others were not compared. */
  #reportRange(from: number, to: number): void {
    this.#reportUnlocatedFrames(from, to, to - from + 1)
  }

  #reportUnlocatedFrames(from: number, to: number, count: number): void {
    const text = `${rangeText(from, to)}: ${count} of ${to - from + 1} are there, and not as they were sealed; no checkpoint is left that would tell which`
    this.#findings.add({ kind: 'frame-unlocated', sequence: from, toSequence: to, text })
  }
}

/**
 * Reads every frame once, in constant memory; frames of a log that was sealed late may be read twice. The same log
 * gives the same findings. Rejects with the source's error.
 */
export const verifyLog = async (parts: VerifyParts): Promise<Verification> => {
  const { source, onProgress, readClock } = parts
  const verifying = new VerifyRun(parts)
  const nowMs = (await readClock?.()) ?? null // Read before the end is: what is stored between the two is not late.
  const last = await source.lastSequence()
  let faults = 0
  for (let next = 1; next <= last; ) {
    try {
      for await (const frames of source.read(next, last))
        for (const frame of frames) {
          verifying.take(frame)
          next = frame.sequence + 1
          onProgress?.(frame.sequence, last)
        }
      if (next <= last) throw new Error(`the frames end at sequence ${next - 1}, not at ${last}`)
    } catch (fault) {
      if (!(fault instanceof FramesFault) || faults === auditLimits.verifyFaultsMax) throw fault
      faults += 1
      if (fault.from > next) continue
      verifying.addFault(fault, next, fault.resumesAt - 1)
      next = fault.resumesAt
    }
  }
  const found = await verifying.end()
  const log = { source, sealedTo: found.sealedTo, lastSequence: last, nowMs }
  return { ...found, unproven: found.total > 0 ? [] : await findUnproven(log) }
}
