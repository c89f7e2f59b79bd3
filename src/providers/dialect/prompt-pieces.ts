/** A piece of a prompt, in the order in which the provider caches. */
export interface PromptPiece<Mark> {
  readonly texts: Iterable<string>
  /** The prompt is written to the cache up to here, and kept for so long. */
  readonly mark: Mark | null
}

/** Made when they are read, so that no step has those of a whole prompt. */
export type PromptPieces<Mark> = () => Iterable<PromptPiece<Mark>>

/** By each mark the number of pieces up to its last. */
export const findMarks = <Mark>(pieces: Iterable<PromptPiece<Mark>>): ReadonlyMap<Mark, number> => {
  const ends = new Map<Mark, number>()
  let end = 0
  for (const { mark } of pieces) {
    end += 1
    if (mark !== null) ends.set(mark, end)
  }
  return ends
}

/** Of the pieces from the place `from` to that before `to`. */
export function* textsBetween(pieces: Iterable<PromptPiece<unknown>>, from: number, to: number): Generator<string> {
  let place = 0
  for (const { texts } of pieces) {
    if (place >= to) return
    if (place >= from) yield* texts
    place += 1
  }
}
