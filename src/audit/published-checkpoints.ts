import { faultText } from '../errors/gateway-error.ts'
import type { IntegrityFinding } from './findings.ts'
import type { Hash } from './merkle.ts'
import { type Checkpoint, findUnknownKey, openCheckpoint, parseBody, splitNote, type Verifier } from './note.ts'

/** A checkpoint kept outside the log, where a writer who rewrites the log cannot change it. */
export interface PublishedCheckpoint {
  readonly note: string
  readonly place: string
}

/** A tree head without a signature, which is known from elsewhere: it contradicts, and proves nothing. */
export interface KnownHead {
  readonly head: TreeHead
  readonly place: string
}

interface OpenedCheckpoint extends TreeHead {
  readonly place: string
  readonly isSigned: boolean
}

export interface TreeHead {
  readonly size: number
  readonly root: Hash
}

/** Throws the NoteFault of the last verifier. */
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

export interface UnknownNote extends TreeHead {
  readonly key: string
}

/** Null where the note names a known key, or is none. */
export const openUnknownNote = (note: string, verifiers: readonly Verifier[]): UnknownNote | null => {
  try {
    const key = findUnknownKey(note, verifiers)
    const { size, root } = parseBody(splitNote(note).body)
    return key === null ? null : { key, size, root }
  } catch {
    return null
  }
}

export class PublishedCheckpoints {
  readonly unknown: readonly UnknownNote[]
  readonly #report: (finding: IntegrityFinding) => void
  readonly #checkpoints: readonly OpenedCheckpoint[]
  readonly #sizes: ReadonlySet<number>
  #next = 0
  #agreedTo = 0

  constructor(
    checkpoints: readonly (PublishedCheckpoint | KnownHead)[],
    verifiers: readonly Verifier[],
    report: (finding: IntegrityFinding) => void,
  ) {
    this.#report = report
    this.unknown = checkpoints.flatMap((each) => ('note' in each ? (openUnknownNote(each.note, verifiers) ?? []) : []))
    const known = checkpoints.flatMap((each) => this.#openCheckpoint(each, verifiers))
    this.#checkpoints = known.toSorted((one, other) => one.size - other.size)
    this.#sizes = new Set(known.map(({ size }) => size))
  }

  get nextSize(): number | undefined {
    return this.#checkpoints[this.#next]?.size
  }

  has(size: number): boolean {
    return this.#sizes.has(size)
  }

  /** The tree has reached a size; checkpoints of smaller sizes are dropped uncompared. */
  compareAt({ size, root }: TreeHead): void {
    for (const known of this.#takeTo(size)) if (known.size === size) this.#compare(known, root, this.#agreedTo)
  }

  /** The tree has jumped to a size. `roots` are the known ones on the way. */
  skipTo(size: number, roots: ReadonlyMap<number, Hash>): void {
    for (const known of this.#takeTo(size)) this.#compare(known, roots.get(known.size) ?? known.root, this.#agreedTo)
  }

  /** The last published checkpoint that covers frames between `sealedTo` and `end`; null if none does. */
  finishAt(end: number, sealedTo: number, roots: ReadonlyMap<number, Hash>): TreeHead | null {
    let last: TreeHead | null = null
    for (const known of this.#takeTo(Number.POSITIVE_INFINITY)) {
      const root = roots.get(known.size)
      if (root === undefined) this.#reportTruncated(known, end)
      else if (this.#compare(known, root, Math.max(sealedTo, this.#agreedTo)) && known.isSigned) last = known
    }
    return last
  }

  #openCheckpoint(known: PublishedCheckpoint | KnownHead, verifiers: readonly Verifier[]): readonly OpenedCheckpoint[] {
    const { place } = known
    const unknown = 'note' in known ? openUnknownNote(known.note, verifiers) : null
    if (unknown !== null) return [{ ...unknown, place, isSigned: false }]
    if ('head' in known) return [{ ...known.head, place, isSigned: false }]
    try {
      return [{ ...openCheckpointNote(known.note, verifiers), place, isSigned: true }]
    } catch (fault) {
      const text = `${place} holds a checkpoint that is not trusted: ${faultText(fault)}`
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

  /** If they differ, the histories diverge after the frame `after`. */
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
