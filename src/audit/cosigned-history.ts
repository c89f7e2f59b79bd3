import { type FrameSource, FramesFault, type RawFrame } from '../log/raw-frames.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { WitnessKey } from './cosignature.ts'
import type { IntegrityFinding } from './findings.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree, type Hash, hashFrame } from './merkle.ts'
import type { CosignedHead, InspectedFrame } from './verified-checkpoints.ts'

export interface WitnessPolicy {
  readonly keys: readonly WitnessKey[]
  /** How many of them have to cosign. */
  readonly quorum: number
}

interface SealedAt {
  readonly root: Hash
  readonly storedMs: number
}

interface LocatedHead extends CosignedHead {
  readonly sequence: number
}

/** What witnesses have cosigned, compared with the checkpoints and frames of the log. */
export class CosignedHistory {
  readonly #report: (finding: IntegrityFinding) => void
  /** The newest checkpoints, by size. */
  readonly #seals = new Map<number, SealedAt>()
  /** By witness, the largest size. */
  readonly #cosigned = new Map<string, number>()
  /** Of sizes without a checkpoint, as after the log was sealed again. */
  readonly #uncompared: LocatedHead[] = []
  #agreedTo = 0

  constructor(report: (finding: IntegrityFinding) => void) {
    this.#report = report
  }

  take({ sequence, storedMs }: RawFrame, { seals, cosigned }: Pick<InspectedFrame, 'seals' | 'cosigned'>): void {
    for (const { size, root } of seals) this.#addSeal(size, { root, storedMs })
    for (const head of cosigned) {
      const seal = this.#seals.get(head.size)
      if (seal !== undefined) this.#compare({ ...head, sequence }, seal.root)
      else if (this.#uncompared.length < auditLimits.verifyUncomparedCosignedMax)
        this.#uncompared.push({ ...head, sequence })
    }
  }

  /** Reads the frames again where cosigned checkpoints are left that no checkpoint of the log compares with. */
  async finish(source: FrameSource, lastSequence: number): Promise<void> {
    const open = this.#uncompared.toSorted((one, other) => one.size - other.size)
    for (const head of open.filter(({ size }) => size > lastSequence)) this.#reportTruncated(head, lastSequence)
    const within = open.filter(({ size }) => size <= lastSequence)
    try {
      await this.#compareFrames(within, source)
    } catch (fault) {
      if (!(fault instanceof FramesFault)) throw fault // It was reported when the frames were read first.
    }
  }

  /** The size up to which so many witnesses have cosigned; null for none. */
  cosignedTo({ keys, quorum }: WitnessPolicy): number | null {
    const sizes = keys.flatMap(({ name }) => this.#cosigned.get(name) ?? [])
    return sizes.toSorted((one, other) => other - one)[quorum - 1] ?? null
  }

  /** `nowMs` null: every checkpoint is due. The times of frames are not sealed: they alone excuse nothing. */
  findUnproven(policy: WitnessPolicy, nowMs: number | null): readonly string[] {
    const { keys, quorum } = policy
    if (quorum === 0 || this.#seals.size === 0) return []
    const cosignedTo = this.cosignedTo(policy) ?? 0
    const due = [...this.#seals].filter(
      ([, { storedMs }]) => nowMs === null || Math.abs(nowMs - storedMs) > sharedLimits.verifyUncosignedMs,
    )
    const size = Math.max(0, ...due.map(([each]) => each))
    if (cosignedTo > 0 && cosignedTo >= size) return []
    if (size === 0) return [`no checkpoint of the log has the cosignatures of ${quorum} of ${keys.length} witnesses`]
    const enough = keys.filter(({ name }) => (this.#cosigned.get(name) ?? 0) >= size).map(({ name }) => name)
    const minutes = sharedLimits.verifyUncosignedMs / 60_000
    return [
      `the checkpoint of size ${size} is older than ${minutes} minutes and needs the cosignatures of ${quorum} of ${keys.length} witnesses: it has ${enough.length === 0 ? 'none' : `that of ${enough.join(' and ')}`}`,
    ]
  }

  #addSeal(size: number, seal: SealedAt): void {
    if (this.#seals.has(size)) return
    this.#seals.set(size, seal)
    if (this.#seals.size > auditLimits.verifyCosignableSealsMax) this.#seals.delete(this.#seals.keys().next().value!)
  }

  async #compareFrames(heads: readonly LocatedHead[], source: FrameSource): Promise<void> {
    const last = heads.at(-1)
    if (last === undefined) return
    const tree = new GrowingTree()
    const bySize = Map.groupBy(heads, ({ size }) => size)
    for await (const frames of source.read(1, last.size))
      for (const frame of frames) {
        tree.append(hashFrame(frame))
        for (const head of bySize.get(tree.size) ?? []) this.#compare(head, tree.root)
      }
  }

  #compare({ size, root, witnesses, sequence }: LocatedHead, found: Hash): void {
    if (!found.equals(root)) {
      const signers = witnesses.length === 0 ? "the log's own key" : witnesses.join(' and ')
      const text = `the log is not the one that was cosigned: in frame ${sequence} is a checkpoint of size ${size} with another root, signed by ${signers}; its history parts from this one at frame ${this.#agreedTo + 1} or later`
      this.#report({ kind: 'log-forked', sequence: this.#agreedTo + 1, toSequence: size, text })
      return
    }
    this.#agreedTo = Math.max(this.#agreedTo, size)
    for (const name of witnesses) this.#cosigned.set(name, Math.max(size, this.#cosigned.get(name) ?? 0))
  }

  #reportTruncated({ size, sequence }: LocatedHead, end: number): void {
    const text = `the log ends at sequence ${end}, and the cosigned checkpoint in frame ${sequence} seals frames up to ${size}`
    this.#report({ kind: 'log-truncated', sequence: end + 1, toSequence: size, text })
  }
}
