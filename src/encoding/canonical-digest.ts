import { createHash, type Hash } from 'node:crypto'
import { isObject } from './json.ts'
import { type RunStep, takeSteps } from './steps.ts'
import { jsonPieces } from './write-json.ts'

/** Names that look like array indices come first, as in any object: digests that are stored were made so. */
const sortedObject = (value: object): object => {
  const entries = Object.entries(value)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries)
}

const sortAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortAll)
  if (!isObject(value) || JSON.isRawJSON(value)) return value
  return Object.fromEntries(Object.entries(sortedObject(value)).map(([name, member]) => [name, sortAll(member)]))
}

const byName = { all: sortAll, entries: (value: object) => Object.entries(sortedObject(value)) }

function* digestPieces(pieces: Iterable<string>, digest: Hash): Generator<void, void> {
  for (const piece of pieces) {
    digest.update(piece)
    yield
  }
}

/**
 * SHA-256, in hexadecimal digits, of JSON whose members are sorted by name: equal values have equal digests, in whichever
 * order their members were written.
 */
export const digestCanonically = async (value: unknown, run: RunStep, pieceCharacters?: number): Promise<string> => {
  const digest = createHash('sha256')
  const options = { order: byName, ...(pieceCharacters === undefined ? {} : { pieceCharacters }) }
  await takeSteps(digestPieces(jsonPieces(value, options), digest), run)
  return digest.digest('hex')
}
