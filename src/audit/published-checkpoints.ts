import { faultText } from '../errors/gateway-error.ts'
import type { IntegrityFinding } from './findings.ts'
import type { Hash } from './merkle.ts'
import { type Checkpoint, openCheckpoint, type Verifier } from './note.ts'

/** A checkpoint that was published: kept outside the log, where whoever rewrites the log does not reach it. */
export interface PublishedCheckpoint {
  /** The signed text. */
  readonly note: string
  /** Where it was found, for the findings. */
  readonly place: string
}

interface OpenedCheckpoint extends Checkpoint {
  readonly place: string
}

/** The root of a tree of so many leaves. */
export interface TreeHead {
  readonly size: number
  readonly root: Hash
}

/** The checkpoint in a signed text that one of those asked has signed. Throws NoteFault, as the last of them says. */
export const openCheckpointNote = (note: string, verifiers: readonly Verifier[]): Checkpoint => {
  let fault: unknown
  for (const verifier of verifiers)
    try {
      return openCheckpoint(note, verifier)
    } catch (cause) {
      fault = cause
    }
  throw fault
}

/** What was published of a log, held against its tree as that comes by, from the smallest to the largest. */
export class PublishedCheckpoints {
  readonly #report: (finding: IntegrityFinding) => void
  readonly #checkpoints: readonly OpenedCheckpoint[]
  readonly #sizes: ReadonlySet<number>
  #next = 0
  /** The size of the last that agreed. */
  #agreedTo = 0

  constructor(
    checkpoints: readonly PublishedCheckpoint[],
    verifiers: readonly Verifier[],
    tell: (finding: IntegrityFinding) => void,
  ) {
    this.#report = tell
    const known = checkpoints.flatMap((each) => this.#openCheckpoint(each, verifiers))
    this.#checkpoints = known.toSorted((one, other) => one.size - other.size)
    this.#sizes = new Set(known.map(({ size }) => size))
  }

  /** The size of the next that is held against the tree; undefined where none is left. */
  get nextSize(): number | undefined {
    return this.#checkpoints[this.#next]?.size
  }

  has(size: number): boolean {
    return this.#sizes.has(size)
  }

  /** The tree has come to a size; checkpoints of smaller ones were not asked for. */
  compareAt({ size, root }: TreeHead): void {
    for (const known of this.#takeTo(size)) if (known.size === size) this.#compare(known, root, this.#agreedTo)
  }

  /** The tree has come to a size at once. `roots` are those on the way that are known. */
  skipTo(size: number, roots: ReadonlyMap<number, Hash>): void {
    for (const known of this.#takeTo(size)) this.#compare(known, roots.get(known.size) ?? known.root, this.#agreedTo)
  }

  /**
   * The log ends at the size `end`, and its own checkpoints at `sealedTo`. Answers with the last published one that speaks for what is
   * behind them; null where none does.
   */
  finishAt(end: number, sealedTo: number, roots: ReadonlyMap<number, Hash>): TreeHead | null {
    let last: TreeHead | null = null
    for (const known of this.#takeTo(Number.POSITIVE_INFINITY)) {
      const root = roots.get(known.size)
      if (root === undefined) this.#reportTruncated(known, end)
      else if (this.#compare(known, root, Math.max(sealedTo, this.#agreedTo))) last = known
    }
    return last
  }

  #openCheckpoint({ note, place }: PublishedCheckpoint, verifiers: readonly Verifier[]): readonly OpenedCheckpoint[] {
    try {
      return [{ ...openCheckpointNote(note, verifiers), place }]
    } catch (fault) {
      const text = `${place} holds a checkpoint that is not believed: ${faultText(fault)}`
      this.#report({ kind: 'checkpoint-forged', sequence: 0, toSequence: 0, text })
      return []
    }
  }

  *#takeTo(size: number): Iterable<OpenedCheckpoint> {
    for (let known = this.#checkpoints[this.#next]; known !== undefined && known.size <= size; ) {
      this.#next += 1
      yield known
      known = this.#checkpoints[this.#next]
    }
  }

  /** Where they differ, the histories part behind the frame `after`. */
  #compare({ size, root, place }: OpenedCheckpoint, found: Hash, after: number): boolean {
    const agrees = found.equals(root)
    if (agrees) this.#agreedTo = size
    else this.#reportFork(size, place, after + 1)
    return agrees
  }

  #reportFork(size: number, place: string, from: number): void {
    const text = `the log is not the one that was published: the checkpoint of size ${size} in ${place} is of another history, which parts from this one at frame ${from} or later`
    this.#report({ kind: 'log-forked', sequence: from, toSequence: size, text })
  }

  #reportTruncated({ size, place }: OpenedCheckpoint, end: number): void {
    const text = `the log ends at sequence ${end}, and the checkpoint in ${place} speaks for frames up to ${size}`
    this.#report({ kind: 'log-truncated', sequence: end + 1, toSequence: size, text })
  }
}
