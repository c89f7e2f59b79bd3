import { isObject } from './json.ts'

type Name = string | number
type Entries = Iterable<readonly [Name, unknown]>

/** How members are ordered: in `all` of a short value, and among the `entries` of a long object. */
interface MemberOrder {
  readonly all: (value: unknown) => unknown
  readonly entries: (value: object) => Entries
}

interface WritingOptions {
  /** Of a piece, before its escapes are written. */
  readonly pieceCharacters?: number
  readonly order?: MemberOrder
}

type Writing = Required<WritingOptions>

const defaultPieceCharacters = 256 * 1024

const asItIs: MemberOrder = { all: (value) => value, entries: Object.entries }

/** Of a value that is no text, in characters of a text that takes as long to write. */
const valueWeight = 16

/** Not so text that is written as it is, though it is an object. */
export const hasMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !JSON.isRawJSON(value)

/** More than `max` where it has more; it is not known how much. What has no value is always written with others, or not at all. */
const weigh = (value: unknown, max: number): number => {
  if (value === undefined) return 0
  let weight = valueWeight
  if (typeof value === 'string') return weight + value.length
  if (Array.isArray(value))
    for (let place = 0; place < value.length && weight <= max; place += 1) weight += weigh(value[place], max - weight)
  else if (hasMembers(value))
    for (const name in value) {
      weight += name.length + weigh(value[name], max - weight)
      if (weight > max) break
    }
  return weight
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

function* longText(text: string, charactersMax: number): Generator<string> {
  yield '"'
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(start + charactersMax, text.length)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
  }
  yield '"'
}

interface Container {
  readonly brackets: readonly [open: string, close: string]
  readonly label: (name: Name) => string
  readonly of: (members: readonly (readonly [Name, unknown])[]) => object
}

const list: Container = { brackets: ['[', ']'], label: () => '', of: (members) => members.map(([, item]) => item) }
const object: Container = {
  brackets: ['{', '}'],
  label: (name) => `${JSON.stringify(name)}:`,
  of: (members) => Object.fromEntries(members),
}

/** Short members are written together, each long one in pieces of its own. */
function* longContainer(members: Entries, { brackets, label, of }: Container, writing: Writing): Generator<string> {
  const { pieceCharacters: max, order } = writing
  const [open, close] = brackets
  let separator = open
  let [together, weight]: [(readonly [Name, unknown])[], number] = [[], 0]
  const write = (): string => {
    const text = JSON.stringify(of(together)).slice(1, -1)
    const written = text === '' ? '' : separator + text
    if (text !== '') separator = ','
    ;[together, weight] = [[], 0]
    return written
  }
  for (const [name, member] of members) {
    const own = weigh(member, max)
    if (weight + own > max) yield write()
    if (own > max) {
      yield separator + label(name)
      yield* piecesOf(member, writing)
      separator = ','
    } else {
      together.push([name, order.all(member)])
      weight += own
    }
  }
  yield write()
  yield separator === open ? open + close : close
}

function* piecesOf(value: unknown, writing: Writing): Generator<string> {
  const { pieceCharacters: max, order } = writing
  if (weigh(value, max) <= max) yield JSON.stringify(order.all(value)) ?? 'null'
  else if (typeof value === 'string') yield* longText(value, max)
  else if (Array.isArray(value)) yield* longContainer(value.entries(), list, writing)
  else if (hasMembers(value)) yield* longContainer(order.entries(value), object, writing)
  else yield JSON.stringify(value) ?? 'null'
}

/** The text that `JSON.stringify` makes of a JSON value, in pieces: at once, that of 20 MB takes 100 ms. */
export const jsonPieces = (
  value: unknown,
  { pieceCharacters = defaultPieceCharacters, order = asItIs }: WritingOptions = {},
): Generator<string> => piecesOf(value, { pieceCharacters, order })
