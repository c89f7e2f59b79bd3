import { faultText } from '../errors.ts'
import type { CheckpointSealed } from '../events/types.ts'
import { limits } from '../limits.ts'
import { Alignment, type Flaw, type FoundLeaf, keyOf, type SealedLeaf } from './alignment.ts'
import { Apart } from './apart.ts'
import { type Believed, believe, checkpointsIn, mayHoldCheckpoint } from './checkpoints-in.ts'
import { type Finding, type FindingKind, Findings } from './findings.ts'
import { Folded } from './folded.ts'
import { type FrameSource, FramesFault, leafOf, type RawFrame } from './frames.ts'
import { GrowingTree, type Hash, rootOfPeaks } from './merkle.ts'
import type { Verifier } from './note.ts'
import { type KnownCheckpoint, Published } from './published.ts'
import { treeOf } from './seal.ts'
import { findUnproven } from './unproven.ts'

export interface VerifyParts {
  readonly source: FrameSource
  /** Whose checkpoints are believed: one key, or several where a log had several. */
  readonly verifiers: readonly Verifier[]
  readonly known?: readonly KnownCheckpoint[]
  /** A checkpoint that stands behind the source's end, as an archive keeps its last. */
  readonly lastCheckpoint?: CheckpointSealed
  /** Throws for a frame whose events are not what they must be. Without it the frames that hold no checkpoint are hashed, and not read. */
  readonly checkEvents?: (frame: RawFrame) => void
  /** Found frames that are kept one by one while no checkpoint speaks for them. */
  readonly unsealedFramesMax?: number
  /**
   * Reads the clock that stores the frames: how long one waits for its checkpoint is measured by that. Without it the source gets no more
   * checkpoints, and no frame may wait.
   */
  readonly readClock?: () => Promise<number>
  readonly onProgress?: (sequence: number, lastSequence: number) => void
}

export type Verdict = 'proven' | 'tampered' | 'not_proven'

export interface Verification {
  /** Frames that were read. */
  readonly frames: number
  /** The frames up to here are proved by a signed checkpoint. */
  readonly sealedTo: number
  /** The root of the tree there, base64; null where nothing is sealed. */
  readonly root: string | null
  /** Frames behind the last checkpoint, which nothing speaks for yet. No finding: there are always some. */
  readonly unsealed: number
  /** Why it is not proven that nothing was changed, in sentences; none where it is, and where something was found. */
  readonly unproven: readonly string[]
  /** Checkpoints that were believed; of these, old ones that nothing was left to hold them against. */
  readonly checkpoints: number
  readonly uncompared: number
  /** The first of them, by sequence. */
  readonly findings: readonly Finding[]
  /** Of each kind, those that are not shown too. */
  readonly counts: Readonly<Partial<Record<FindingKind, number>>>
  readonly total: number
}

/** A checkpoint and where in the log it stands. */
interface Standing {
  readonly seal: Believed
  readonly at: number
}

/** What a frame says by itself. */
interface Look {
  readonly seals: readonly Believed[]
  readonly flaw: Flaw | null
}

const rangeText = (from: number, to: number): string => (from === to ? `frame ${from}` : `frames ${from} to ${to}`)

/** What contradicts a checkpoint outweighs what is missing. */
export const verdictOf = ({ total, unproven }: Pick<Verification, 'total' | 'unproven'>): Verdict => {
  if (total > 0) return 'tampered'
  return unproven.length === 0 ? 'proven' : 'not_proven'
}

const copyOf = (tree: GrowingTree): GrowingTree => new GrowingTree(tree.size, tree.peaks)

/** Takes the frames of a log one after the other, and remembers a bounded number of them. */
class Verifying {
  readonly #parts: VerifyParts
  readonly #unsealedFramesMax: number
  readonly #findings = new Findings(limits.verifyFindingsMax)
  readonly #published: Published
  readonly #apart = new Apart((finding) => this.#tellApart(finding))
  readonly #alignment = new Alignment({
    onMatch: (sealed, found) => this.#match(sealed, found),
    onGap: (gap) => this.#apart.add(gap),
  })
  /** The tree as believed checkpoints have it. */
  #sealed = new GrowingTree()
  /** The tree of what was found, where that goes further than what is sealed and is too much to be kept one by one. */
  #folded: Folded | null = null
  /** What was folded and is to be read once more, for the checkpoints inside it. */
  readonly #again: Folded[] = []
  /** The roots of what was folded at the sizes of published checkpoints. */
  readonly #foldedRoots = new Map<number, Hash>()
  /** The last checkpoints, for those of other sealers that come after them. */
  #recent: readonly Believed[] = []
  /** Checkpoints that stand before frames or checkpoints they need. */
  #deferred: readonly Standing[] = []
  readonly #unread: { readonly from: number; readonly to: number }[] = []
  #frames = 0
  #checkpoints = 0
  #uncompared = 0

  constructor(parts: VerifyParts) {
    this.#parts = parts
    this.#unsealedFramesMax = parts.unsealedFramesMax ?? limits.verifyUnsealedFramesMax
    this.#published = new Published(parts.known ?? [], parts.verifiers, (finding) => this.#findings.add(finding))
  }

  take(frame: RawFrame): void {
    this.#frames += 1
    const { seals, flaw } = this.#lookInto(frame)
    this.#alignment.find({ sequence: frame.sequence, hash: leafOf(frame), flaw })
    for (const seal of seals) this.#accept({ seal, at: frame.sequence })
    if (this.#alignment.found > this.#unsealedFramesMax) this.#fold()
  }

  /** Frames that the source cannot give. */
  takeFault({ reason, message }: FramesFault, from: number, to: number): void {
    this.#unread.push({ from, to })
    const kind = reason === 'missing' ? 'frame-missing' : 'segment-damaged'
    this.#findings.add({ kind, sequence: from, toSequence: to, text: message })
  }

  async end(): Promise<Omit<Verification, 'unproven'>> {
    this.#takeLastCheckpoint()
    while (this.#deferred.length > 0) this.#force()
    this.#alignment.settle()
    const tail = this.#alignment.takeFound(this.#alignment.found)
    this.#apart.end(tail)
    for (const leaf of tail) this.#tellFlaw(leaf, `; nothing speaks for the frames from ${this.#sealed.size + 1} on`)
    const end = (this.#folded?.tree ?? this.#sealed).size + tail.length
    const { size, root } = this.#published.endAt(end, this.#sealed.size, this.#rootsIn(tail)) ?? this.#sealed
    await this.#readAgain()
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

  #lookInto(frame: RawFrame): Look {
    try {
      this.#parts.checkEvents?.(frame)
      if (!mayHoldCheckpoint(frame)) return { seals: [], flaw: null }
      return this.#believeAll(checkpointsIn(frame))
    } catch (fault) {
      return { seals: [], flaw: { kind: 'frame-unreadable', text: `cannot be read: ${faultText(fault)}` } }
    }
  }

  #believeAll(checkpoints: readonly CheckpointSealed[]): Look {
    const seals: Believed[] = []
    let flaw: Flaw | null = null
    for (const checkpoint of checkpoints)
      try {
        seals.push(believe(checkpoint, this.#parts.verifiers))
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
      this.#accept({ seal: believe(lastCheckpoint, verifiers), at: Number.POSITIVE_INFINITY })
      this.#checkpoints += 1
    } catch (fault) {
      const text = `the last checkpoint, which is kept beside the frames, is not believed: ${faultText(fault)}`
      const { size } = lastCheckpoint
      this.#findings.add({ kind: 'checkpoint-forged', sequence: size, toSequence: size, text })
    }
  }

  #match(sealed: SealedLeaf, found: FoundLeaf): void {
    this.#apart.stands(sealed)
    this.#tellFlaw(found)
  }

  #tellFlaw({ sequence, flaw }: FoundLeaf, more = ''): void {
    if (flaw === null) return
    const text = `frame ${sequence} ${flaw.text}${more}`
    this.#findings.add({ kind: flaw.kind, sequence, toSequence: sequence, text })
  }

  /** What cannot be read was told of already. */
  #tellApart(finding: Finding): void {
    const isTold = this.#unread.some(({ from, to }) => from <= finding.sequence && finding.toSequence <= to)
    if (finding.kind !== 'frame-removed' || !isTold) this.#findings.add(finding)
  }

  #accept(standing: Standing): void {
    if (!this.#tryToAccept(standing)) {
      this.#defer(standing)
      return
    }
    for (const deferred of this.#deferred) {
      if (!this.#tryToAccept(deferred)) return
      this.#deferred = this.#deferred.slice(1)
    }
  }

  #defer(standing: Standing): void {
    this.#deferred = [...this.#deferred, standing].toSorted((one, other) => one.seal.size - other.seal.size)
    if (this.#deferred.length > limits.verifyDeferredSealsMax) this.#force()
  }

  /** False for a checkpoint whose beginning nothing leads to. */
  #tryToAccept({ seal, at }: Standing): boolean {
    if (seal.size <= this.#sealed.size) this.#compareOld(seal, at)
    else if (seal.from > this.#sealed.size && !this.#bridge(seal)) return false
    else this.#extend(seal, at)
    return true
  }

  /** Goes on with the first of those that were deferred, though nothing leads to it. */
  #force(): void {
    const [first, ...others] = this.#deferred
    this.#deferred = others
    if (first === undefined) return
    this.#alignment.settle()
    if (first.seal.from > this.#sealed.size && !this.#bridge(first.seal)) this.#jump(first.seal)
    this.#accept(first)
  }

  #compareOld(seal: Believed, at: number): void {
    const other = this.#recent.find(({ from, size }) => from <= seal.size && seal.size <= size)
    if (other === undefined) {
      this.#uncompared += 1
      return
    }
    const { from, peaks, leaves } = other
    const { root } = treeOf({ from, peaks, leaves: leaves.slice(0, seal.size - from) })
    if (!root.equals(seal.root)) this.#tellContradiction(seal, at)
  }

  #extend(seal: Believed, at: number): void {
    const { from, peaks, leaves, tree } = seal
    const known = this.#sealed.size - from
    const before = known === 0 ? rootOfPeaks(peaks) : treeOf({ from, peaks, leaves: leaves.slice(0, known) }).root
    if (!before.equals(this.#sealed.root)) this.#tellContradiction(seal, at)
    const fresh = leaves.slice(known)
    const first = this.#sealed.size + 1
    const foldedTo = this.#folded?.tree.size ?? 0
    for (const [place, hash] of fresh.entries())
      if (first + place > foldedTo) this.#alignment.expect({ sequence: first + place, hash, before: at })
    this.#grow(fresh, tree)
    this.#recent = [seal, ...this.#recent].slice(0, limits.verifyRecentSealsMax)
    this.#alignment.match()
  }

  /**
   * Only where somebody asks for a root on the way are the leaves gone through one by one. What was published is held against the frames
   * that were folded: nobody has compared these with the leaves yet.
   */
  #grow(leaves: readonly Hash[], tree: GrowingTree): void {
    const stops = [this.#published.nextSize, this.#folded?.tree.size]
    const growing = copyOf(this.#sealed)
    if (stops.some((size) => size !== undefined && size <= tree.size))
      for (const leaf of leaves) {
        growing.append(leaf)
        const { size } = growing
        if (size === this.#folded?.tree.size) this.#unfold(growing)
        if (this.#published.has(size))
          this.#published.passBy({ size, root: this.#foldedRoots.get(size) ?? growing.root })
      }
    this.#sealed = copyOf(tree)
  }

  /** What was folded is sealed now. */
  #unfold(tree: GrowingTree): void {
    const folded = this.#folded
    this.#folded = null
    if (folded?.tree.root.equals(tree.root) === false) this.#tellFolded(folded.from, tree.size)
    else if (folded?.hasMarks === true) this.#again.push(folded)
  }

  /** Of what was folded no more than what is sealed so far will be. */
  #letGo(): void {
    const folded = this.#folded
    this.#folded = null
    folded?.mark(this.#sealed)
    if (folded?.hasMarks === true) this.#again.push(folded)
  }

  /** Nothing counts as sealed that was not compared: a checkpoint may end where no root of the folded frames was taken. */
  async #readAgain(): Promise<void> {
    this.#letGo()
    for (const folded of this.#again)
      for (const [from, to] of await folded.differing(this.#parts.source)) this.#tellFolded(from, to)
  }

  /** Hashes the found frames between what is sealed and where a checkpoint begins, and takes them where they lead there. */
  #bridge({ from, peaks }: Believed): boolean {
    // What was folded is compared as a whole when the checkpoints have come so far.
    if (this.#folded !== null && from <= this.#folded.tree.size) return this.#leap(new GrowingTree(from, peaks))
    const start = copyOf(this.#folded?.tree ?? this.#sealed)
    const count = from - start.size
    if (this.#alignment.expected > 0 || this.#alignment.found < count) return false
    const hashes = this.#alignment.peek(count).map(({ hash }) => hash)
    for (const hash of hashes) start.append(hash)
    if (!start.root.equals(rootOfPeaks(peaks))) return false
    if (this.#folded !== null) this.#leap(this.#folded.tree)
    for (const [place, leaf] of this.#alignment.takeFound(count).entries())
      this.#match({ sequence: from - count + 1 + place, hash: leaf.hash, before: leaf.sequence + 1 }, leaf)
    this.#grow(hashes, start)
    return true
  }

  /** Goes on from a tree; what was folded tells of the published checkpoints on the way. */
  #leap(tree: GrowingTree): true {
    this.#published.leapTo(tree.size, this.#foldedRoots)
    this.#folded?.mark(this.#sealed)
    this.#sealed = copyOf(tree)
    if (tree.size === this.#folded?.tree.size) this.#unfold(tree)
    return true
  }

  /** Gives up on what lies before a checkpoint, and goes on where its own hashes are found. */
  #jump({ from, peaks, leaves }: Believed): void {
    const sealed = new Set(leaves.map(keyOf))
    const place = this.#alignment.peek().findIndex(({ hash }) => sealed.has(keyOf(hash)))
    const count = place < 0 ? Math.min(this.#alignment.found, from - this.#sealed.size) : place
    this.#alignment.takeFound(count)
    this.#tellUnlocated(this.#sealed.size + 1, from, count)
    this.#letGo()
    this.#sealed = new GrowingTree(from, peaks)
    this.#published.passBy(this.#sealed)
  }

  #fold(): void {
    while (this.#deferred.length > 0) this.#force()
    this.#alignment.settle()
    const leaves = this.#alignment.takeFound(Math.ceil(this.#unsealedFramesMax / 2))
    const [first] = leaves
    if (first === undefined) return
    const folded = this.#folded ?? new Folded(this.#sealed, first.sequence)
    this.#folded = folded
    for (const leaf of leaves) {
      folded.append(leaf)
      this.#tellFlaw(leaf)
      const { tree } = folded
      if (this.#published.has(tree.size)) this.#foldedRoots.set(tree.size, tree.root)
    }
  }

  /** The roots at the sizes of published checkpoints, of all that no checkpoint of the log seals. */
  #rootsIn(tail: readonly FoundLeaf[]): ReadonlyMap<number, Hash> {
    const tree = copyOf(this.#folded?.tree ?? this.#sealed)
    const roots = new Map(this.#foldedRoots)
    for (const { hash } of tail) {
      tree.append(hash)
      if (this.#published.has(tree.size)) roots.set(tree.size, tree.root)
    }
    return roots
  }

  #tellContradiction({ size }: Believed, at: number): void {
    const sequence = Number.isFinite(at) ? at : size
    const text = `the checkpoint of size ${size}, at sequence ${sequence}, is signed and contradicts those before it`
    this.#findings.add({ kind: 'checkpoint-contradicted', sequence, toSequence: sequence, text })
  }

  #tellUnlocated(from: number, to: number, count: number): void {
    if (!this.#unread.some((unread) => unread.from <= to && from <= unread.to)) this.#tellStretch(from, to, count)
  }

  /** Told even where some of them cannot be read: nobody has compared the others. */
  #tellFolded(from: number, to: number): void {
    this.#tellStretch(from, to, to - from + 1)
  }

  #tellStretch(from: number, to: number, count: number): void {
    const text = `${rangeText(from, to)}: ${count} of ${to - from + 1} are there, and not as they were sealed; no checkpoint is left that would tell which`
    this.#findings.add({ kind: 'frame-unlocated', sequence: from, toSequence: to, text })
  }
}

/**
 * Holds a log against its own signed checkpoints and against those that were published. Reads every frame once, in constant memory; of a
 * log that was sealed late some twice. The same log gives the same findings. Rejects with what keeps the source from answering.
 */
export const verify = async (parts: VerifyParts): Promise<Verification> => {
  const { source, onProgress, readClock } = parts
  const verifying = new Verifying(parts)
  const nowMs = (await readClock?.()) ?? null // Before the end is: what is stored between the two is not late.
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
      if (!(fault instanceof FramesFault) || faults === limits.verifyFaultsMax) throw fault
      faults += 1
      if (fault.from > next) continue
      verifying.takeFault(fault, next, fault.resumesAt - 1)
      next = fault.resumesAt
    }
  }
  const found = await verifying.end()
  const log = { source, sealedTo: found.sealedTo, lastSequence: last, nowMs }
  return { ...found, unproven: found.total > 0 ? [] : await findUnproven(log) }
}
