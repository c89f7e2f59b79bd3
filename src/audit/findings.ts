export type IntegrityFindingKind =
  | 'frame-changed'
  | 'frame-removed'
  | 'frame-inserted'
  | 'frame-moved'
  | 'frame-duplicated'
  | 'frame-missing'
  | 'frame-unreadable'
  | 'frame-unlocated'
  | 'segment-damaged'
  | 'checkpoint-forged'
  | 'checkpoint-contradicted'
  | 'log-forked'
  | 'log-truncated'
  | 'snapshot-changed'
  | 'snapshot-swapped'
  | 'snapshot-missing'

export interface IntegrityFinding {
  readonly kind: IntegrityFindingKind
  /** The first sequence concerned: as found in the log or, for a missing frame, as it was sealed. */
  readonly sequence: number
  readonly toSequence: number
  readonly text: string
}

const order = (one: IntegrityFinding, other: IntegrityFinding): number =>
  one.sequence - other.sequence || one.toSequence - other.toSequence || one.kind.localeCompare(other.kind)

export class IntegrityFindings {
  readonly #shownMax: number
  readonly #shown: IntegrityFinding[] = []
  readonly #counts = new Map<IntegrityFindingKind, number>()

  constructor(shownMax: number) {
    this.#shownMax = shownMax
  }

  add(finding: IntegrityFinding): void {
    this.#counts.set(finding.kind, (this.#counts.get(finding.kind) ?? 0) + 1)
    if (this.#shown.length < this.#shownMax) this.#shown.push(finding)
  }

  get shown(): readonly IntegrityFinding[] {
    return this.#shown.toSorted(order)
  }

  get counts(): Readonly<Partial<Record<IntegrityFindingKind, number>>> {
    return Object.fromEntries([...this.#counts].sort(([one], [other]) => one.localeCompare(other)))
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }
}
