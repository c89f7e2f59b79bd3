import { createHash, type Hash } from 'node:crypto'
import { type RunStep, takeSteps } from './steps.ts'
import { hasMembers, jsonPieces } from './write-json.ts'

const isIndex = /^(?:0|[1-9]\d*)$/

/** Names that look like array indices come first, as in any object: digests that are stored were made so. */
const sortedNames = (value: object): readonly string[] => {
  const names = Object.keys(value)
  const hasIndices = isIndex.test(names[0] ?? '')
  names.sort()
  return hasIndices ? Object.keys(Object.fromEntries(names.map((name) => [name, null]))) : names
}

const sortAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortAll)
  if (!hasMembers(value)) return value
  return Object.fromEntries(sortedNames(value).map((name) => [name, sortAll(value[name])]))
}

const byName = { all: sortAll, names: sortedNames }

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
