import { createHash } from 'node:crypto'

const digestCharacters = 48

/** The same for the same id, in at most 64 characters for a kind of up to 15. */
export const digestedId = (kind: string, id: string): string =>
  `${kind}_${createHash('sha256').update(id).digest('hex').slice(0, digestCharacters)}`
