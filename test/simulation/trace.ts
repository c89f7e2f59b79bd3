import { createHash } from 'node:crypto'

/** A line of what happens, by whom; its text is made only where someone reads it. */
export type Note = (who: string, text: () => string) => void

/** Of all lines of a run. */
export class TraceHash {
  readonly #hash = createHash('sha256')
  readonly take = (line: string): void => void this.#hash.update(line)

  get hex(): string {
    return this.#hash.copy().digest('hex')
  }
}
