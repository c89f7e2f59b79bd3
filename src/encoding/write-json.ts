import { isObject } from './json.ts'

/** How members are ordered: in `all` of a short value, and among the `names` of a long object. */
interface MemberOrder {
  readonly all: (value: unknown) => unknown
  readonly names: (value: object) => readonly string[]
}

interface WritingOptions {
  /** Of a piece, before its escapes are written. */
  readonly pieceCharacters?: number
  readonly order?: MemberOrder
}

type Writing = Required<WritingOptions>

const defaultPieceCharacters = 256 * 1024

const asItIs: MemberOrder = { all: (value) => value, names: Object.keys }

/** Of a value that is no text, in characters of a text that takes as long to write. */
const valueWeight = 16

/** Of a member beside its value: looked up by its name, which is hashed, in an object of thousands. */
const nameWeight = (name: string): number => 2 * valueWeight + name.length

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
      weight += weighMember(name, value[name], max - weight)
      if (weight > max) break
    }
  return weight
}

const weighMember = (name: string, value: unknown, max: number): number =>
  value === undefined ? 0 : nameWeight(name) + weigh(value, max)

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

type Member = readonly [name: string, value: unknown]

interface Container {
  readonly brackets: readonly [open: string, close: string]
  readonly label: (name: string) => string
  readonly write: (members: readonly Member[]) => string
}

const list: Container = {
  brackets: ['[', ']'],
  label: () => '',
  write: (members) => JSON.stringify(members.map(([, item]) => item)).slice(1, -1),
}

const labelOf = (name: string): string => `${JSON.stringify(name)}:`

/** One by one: to make an object of thousands of names takes ten times as long. */
const writeMembers = (members: readonly Member[]): string => {
  let text = ''
  for (const [name, member] of members) {
    const written = JSON.stringify(member)
    if (written !== undefined) text += `${text === '' ? '' : ','}${labelOf(name)}${written}`
  }
  return text
}

const object: Container = { brackets: ['{', '}'], label: labelOf, write: writeMembers }

function* itemsOf(items: readonly unknown[]): Generator<Member> {
  for (const item of items) yield ['', item]
}

function* membersOf(value: Readonly<Record<string, unknown>>, names: readonly string[]): Generator<Member> {
  for (const name of names) yield [name, value[name]]
}

/** Short members are written together, each long one in pieces of its own. */
function* longContainer(
  members: Iterable<Member>,
  { brackets, label, write }: Container,
  writing: Writing,
): Generator<string> {
  const { pieceCharacters: max, order } = writing
  const [open, close] = brackets
  let separator = open
  let [together, weight]: [Member[], number] = [[], 0]
  const writeTogether = (): string => {
    const text = write(together)
    const written = text === '' ? '' : separator + text
    if (text !== '') separator = ','
    ;[together, weight] = [[], 0]
    return written
  }
  for (const [name, member] of members) {
    const own = weighMember(name, member, max)
    if (weight + own > max) yield writeTogether()
    if (own > max) {
      yield separator + label(name)
      yield* piecesOf(member, writing)
      separator = ','
    } else {
      together.push([name, order.all(member)])
      weight += own
    }
  }
  yield writeTogether()
  yield separator === open ? open + close : close
}

function* piecesOf(value: unknown, writing: Writing): Generator<string> {
  const { pieceCharacters: max, order } = writing
  if (weigh(value, max) <= max) yield JSON.stringify(order.all(value)) ?? 'null'
  else if (typeof value === 'string') yield* longText(value, max)
  else if (Array.isArray(value)) yield* longContainer(itemsOf(value), list, writing)
  else if (hasMembers(value)) yield* longContainer(membersOf(value, order.names(value)), object, writing)
  else yield JSON.stringify(value) ?? 'null'
}

/** The text that `JSON.stringify` makes of a JSON value, in pieces: at once, that of 20 MB takes 100 ms. */
export const jsonPieces = (
  value: unknown,
  { pieceCharacters = defaultPieceCharacters, order = asItIs }: WritingOptions = {},
): Generator<string> => piecesOf(value, { pieceCharacters, order })
