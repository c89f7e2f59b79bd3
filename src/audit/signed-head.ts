import { isObject, parseJson } from '../encoding/json.ts'
import { faultText } from '../errors/gateway-error.ts'
import { GrowingTree, type Hash } from './merkle.ts'

/** The tree that a sealer signed last, or was about to sign. It is kept outside the log, and compared with it. */
export interface SignedHead {
  readonly origin: string
  readonly size: number
  readonly root: Hash
  /** The tree is continued from these without its frames. */
  readonly peaks: readonly Hash[]
}

/** A store of the head cannot be read, holds no head, or contradicts what is to be written to it. */
export class SignedHeadFault extends Error {
  override readonly name = 'SignedHeadFault'
}

export interface SignedHeadStore {
  /** For people: a file's path, or a table's name. */
  readonly place: string
  /** Null where none was written yet. Throws SignedHeadFault for one that cannot be used, and the store's own errors. */
  read(): Promise<SignedHead | null>
  /** Resolves once it is on disk, unless the store holds a larger one, with what the store then holds. */
  advance(head: SignedHead): Promise<SignedHead>
  replace(head: SignedHead): Promise<void>
}

export const signedHeadOf = (origin: string, { size, root, peaks }: GrowingTree): SignedHead => ({
  origin,
  size,
  root,
  peaks: [...peaks],
})

export const emptyHead = (origin: string): SignedHead => signedHeadOf(origin, new GrowingTree())

const hashPattern = /^[A-Za-z0-9+/]{43}=$/

const readHash = (value: unknown): Hash => {
  if (typeof value !== 'string' || !hashPattern.test(value))
    throw new SignedHeadFault('a hash is not 32 bytes in base64')
  return Buffer.from(value, 'base64')
}

const readHead = (value: unknown): SignedHead => {
  if (!isObject(value)) throw new SignedHeadFault('it is not a JSON object')
  const { origin, size, root, peaks } = value
  if (typeof origin !== 'string' || typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw new SignedHeadFault('origin or size is missing')
  if (!Array.isArray(peaks)) throw new SignedHeadFault('the peaks are missing')
  const head = { origin, size, root: readHash(root), peaks: peaks.map(readHash) }
  if (!new GrowingTree(size, head.peaks).root.equals(head.root))
    throw new SignedHeadFault('its peaks do not lead to its root')
  return head
}

export const signedHeadText = ({ origin, size, root, peaks }: SignedHead): string =>
  JSON.stringify({
    origin,
    size,
    root: root.toString('base64'),
    peaks: peaks.map((peak) => peak.toString('base64')),
  })

export const parseSignedHead = (text: string, place: string): SignedHead => {
  try {
    return readHead(parseJson(text))
  } catch (fault) {
    throw new SignedHeadFault(`${place} holds no state of the sealing: ${faultText(fault)}`, { cause: fault })
  }
}

export const isSameHead = (one: SignedHead, other: SignedHead): boolean =>
  one.origin === other.origin && one.size === other.size && one.root.equals(other.root)

/** Throws SignedHeadFault, which names the places of both, where two histories were signed. */
export const largerHead = (
  one: SignedHead,
  other: SignedHead,
  [place, otherPlace]: readonly [string, string] = ['one state of the sealing', 'another'],
): SignedHead => {
  if (one.origin !== other.origin)
    throw new SignedHeadFault(
      `${place} is of the log ${one.origin}, and ${otherPlace} of ${other.origin}: \`audit.state\` names a file of this log alone`,
    )
  if (one.size === other.size && !one.root.equals(other.root))
    throw new SignedHeadFault(
      `${place} and ${otherPlace} are states of the sealing of the size ${one.size} and have different roots`,
    )
  return one.size >= other.size ? one : other
}
