import { createHash, type Hash } from 'node:crypto'
import type { JsonObject } from './json.ts'
import { type RunStep, takeSteps } from './steps.ts'
import { hasMembers, jsonPieces } from './write-json.ts'

const isIndex = /^(?:0|[1-9]\d*)$/

type Entry = readonly [string, unknown]

/** Names that look like array indices come first, as in any object: digests that are stored were made so. */
const sortedEntries = (value: object): readonly Entry[] => {
  const names = Object.keys(value)
  const hasIndices = isIndex.test(names[0] ?? '')
  names.sort()
  const entries = names.map((name): Entry => [name, (value as JsonObject)[name]])
  return hasIndices ? Object.entries(Object.fromEntries(entries)) : entries
}

const sortAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortAll)
  if (!hasMembers(value)) return value
  return Object.fromEntries(sortedEntries(value).map(([name, member]) => [name, sortAll(member)]))
}

const byName = { all: sortAll, entries: sortedEntries }

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
