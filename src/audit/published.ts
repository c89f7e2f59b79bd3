import { faultText } from '../errors.ts'
import type { Finding } from './findings.ts'
import type { Hash } from './merkle.ts'
import { type Checkpoint, openCheckpoint, type Verifier } from './note.ts'

/** A checkpoint that was published: kept outside the log, where whoever rewrites the log does not reach it. */
export interface KnownCheckpoint {
  /** The signed text. */
  readonly note: string
  /** Where it was found, for the findings. */
  readonly place: string
}

interface Known extends Checkpoint {
  readonly place: string
}

/** The root of a tree of so many leaves. */
export interface Reached {
  readonly size: number
  readonly root: Hash
}

/** The checkpoint in a signed text that one of those asked has signed. Throws NoteFault, as the last of them says. */
export const openNote = (note: string, verifiers: readonly Verifier[]): Checkpoint => {
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
export class Published {
  readonly #tell: (finding: Finding) => void
  readonly #known: readonly Known[]
  readonly #sizes: ReadonlySet<number>
  #next = 0
  /** The size of the last that agreed. */
  #agreedTo = 0

  constructor(
    checkpoints: readonly KnownCheckpoint[],
    verifiers: readonly Verifier[],
    tell: (finding: Finding) => void,
  ) {
    this.#tell = tell
    const known = checkpoints.flatMap((each) => this.#read(each, verifiers))
    this.#known = known.toSorted((one, other) => one.size - other.size)
    this.#sizes = new Set(known.map(({ size }) => size))
  }

  /** The size of the next that is held against the tree; undefined where none is left. */
  get nextSize(): number | undefined {
    return this.#known[this.#next]?.size
  }

  has(size: number): boolean {
    return this.#sizes.has(size)
  }

  /** The tree has come to a size; checkpoints of smaller ones were not asked for. */
  passBy({ size, root }: Reached): void {
    for (const known of this.#takeTo(size)) if (known.size === size) this.#compare(known, root, this.#agreedTo)
  }

  /** The tree has come to a size at once. `roots` are those on the way that are known. */
  leapTo(size: number, roots: ReadonlyMap<number, Hash>): void {
    for (const known of this.#takeTo(size)) this.#compare(known, roots.get(known.size) ?? known.root, this.#agreedTo)
  }

  /**
   * The log ends at the size `end`, and its own checkpoints at `sealedTo`. Answers with the last published one that speaks for what is
   * behind them; null where none does.
   */
  endAt(end: number, sealedTo: number, roots: ReadonlyMap<number, Hash>): Reached | null {
    let last: Reached | null = null
    for (const known of this.#takeTo(Number.POSITIVE_INFINITY)) {
      const root = roots.get(known.size)
      if (root === undefined) this.#tellTruncated(known, end)
      else if (this.#compare(known, root, Math.max(sealedTo, this.#agreedTo))) last = known
    }
    return last
  }

  #read({ note, place }: KnownCheckpoint, verifiers: readonly Verifier[]): readonly Known[] {
    try {
      return [{ ...openNote(note, verifiers), place }]
    } catch (fault) {
      const text = `${place} holds a checkpoint that is not believed: ${faultText(fault)}`
      this.#tell({ kind: 'checkpoint-forged', sequence: 0, toSequence: 0, text })
      return []
    }
  }

  *#takeTo(size: number): Iterable<Known> {
    for (let known = this.#known[this.#next]; known !== undefined && known.size <= size; ) {
      this.#next += 1
      yield known
      known = this.#known[this.#next]
    }
  }

  /** Where they differ, the histories part behind the frame `after`. */
  #compare({ size, root, place }: Known, found: Hash, after: number): boolean {
    const agrees = found.equals(root)
    if (agrees) this.#agreedTo = size
    else this.#tellFork(size, place, after + 1)
    return agrees
  }

  #tellFork(size: number, place: string, from: number): void {
    const text = `the log is not the one that was published: the checkpoint of size ${size} in ${place} is of another history, which parts from this one at frame ${from} or later`
    this.#tell({ kind: 'log-forked', sequence: from, toSequence: size, text })
  }

  #tellTruncated({ size, place }: Known, end: number): void {
    const text = `the log ends at sequence ${end}, and the checkpoint in ${place} speaks for frames up to ${size}`
    this.#tell({ kind: 'log-truncated', sequence: end + 1, toSequence: size, text })
  }
}
