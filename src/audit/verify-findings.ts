import type { FramesFault } from '../log/raw-frames.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { FoundLeaf } from './alignment.ts'
import { type IntegrityFinding, IntegrityFindings } from './findings.ts'

const rangeText = (from: number, to: number): string => (from === to ? `frame ${from}` : `frames ${from} to ${to}`)

/** What a verification finds. Frames that cannot be read are reported once. */
export class VerifyFindings extends IntegrityFindings {
  readonly #unread: { readonly from: number; readonly to: number }[] = []

  constructor() {
    super(sharedLimits.verifyFindingsMax)
  }

  addFault({ reason, message }: FramesFault, from: number, to: number): void {
    this.#unread.push({ from, to })
    const kind = reason === 'missing' ? 'frame-missing' : 'segment-damaged'
    this.add({ kind, sequence: from, toSequence: to, text: message })
  }

  addFlaw({ sequence, flaw }: FoundLeaf, more = ''): void {
    if (flaw === null) return
    const text = `frame ${sequence} ${flaw.text}${more}`
    this.add({ kind: flaw.kind, sequence, toSequence: sequence, text })
  }

  addMisplaced(finding: IntegrityFinding): void {
    const isReported = this.#unread.some(({ from, to }) => from <= finding.sequence && finding.toSequence <= to)
    if (finding.kind !== 'frame-removed' || !isReported) this.add(finding)
  }

  addContradiction(size: number, at: number): void {
    const sequence = Number.isFinite(at) ? at : size
    const text = `the checkpoint of size ${size}, at sequence ${sequence}, is signed and contradicts those before it`
    this.add({ kind: 'checkpoint-contradicted', sequence, toSequence: sequence, text })
  }

  addUnlocated(from: number, to: number, count: number): void {
    if (!this.#unread.some((unread) => unread.from <= to && from <= unread.to))
      this.#addUnlocatedFrames(from, to, count)
  }

  /** Reported even if some of the frames are unreadable: the others were not compared. */
  addRange(from: number, to: number): void {
    this.#addUnlocatedFrames(from, to, to - from + 1)
  }

  #addUnlocatedFrames(from: number, to: number, count: number): void {
    const text = `${rangeText(from, to)}: ${count} of ${to - from + 1} are present, and not as they were sealed; no checkpoint remains that identifies which`
    this.add({ kind: 'frame-unlocated', sequence: from, toSequence: to, text })
  }
}
