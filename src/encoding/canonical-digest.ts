import { createHash } from 'node:crypto'
import { isObject } from './json.ts'

/** The pieces are hashed in steps: text and digest of a body of 20 MB take 100 ms. */
const defaultPieceCharacters = 256 * 1024

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

function* stringTokens(text: string, charactersMax: number): Generator<string> {
  yield '"'
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(start + charactersMax, text.length)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
  }
  yield '"'
}

/** Names that look like array indices come first, as in any object: digests that are stored were made so. */
const sortedEntries = (value: object): readonly (readonly [string, unknown])[] => {
  const entries = Object.entries(value)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.entries(Object.fromEntries(entries))
}

function* tokens(value: unknown, charactersMax: number): Generator<string> {
  if (typeof value === 'string' && value.length > charactersMax) {
    yield* stringTokens(value, charactersMax)
  } else if (Array.isArray(value)) {
    let separator = '['
    for (const item of value) {
      yield separator
      yield* tokens(item, charactersMax)
      separator = ','
    }
    yield separator === '[' ? '[]' : ']'
  } else if (isObject(value) && !JSON.isRawJSON(value)) {
    let separator = '{'
    for (const [name, member] of sortedEntries(value)) {
      if (member === undefined) continue
      yield `${separator}${JSON.stringify(name)}:`
      yield* tokens(member, charactersMax)
      separator = ','
    }
    yield separator === '{' ? '{}' : '}'
  } else {
    yield JSON.stringify(value) ?? 'null'
  }
}

function* piecesOf(value: unknown, charactersMax: number): Generator<string> {
  let piece = ''
  for (const token of tokens(value, charactersMax)) {
    piece += token
    if (piece.length < charactersMax) continue
    yield piece
    piece = ''
  }
  yield piece
}

/**
 * SHA-256, in hexadecimal digits, of JSON whose members are sorted by name: equal values have equal digests, in whichever
 * order their members were written. `run` decides when each step is done.
 */
export const digestCanonically = async (
  value: unknown,
  run: (step: () => boolean) => boolean | Promise<boolean>,
  pieceCharacters = defaultPieceCharacters,
): Promise<string> => {
  const digest = createHash('sha256')
  const pieces = piecesOf(value, pieceCharacters)
  const isLeft = (): boolean => {
    const { value: piece } = pieces.next()
    if (piece !== undefined) digest.update(piece)
    return piece !== undefined
  }
  while (await run(isLeft)) {}
  return digest.digest('hex')
}
