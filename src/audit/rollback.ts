import type { FactOf } from '../events/envelope.ts'
import type { FrameSource, RawFrame } from '../log/raw-frames.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import { GrowingTree, hashFrame } from './merkle.ts'
import { type SignedHead, type SignedHeadStore, signedHeadOf } from './signed-head.ts'

export class RollbackRefused extends Error {
  override readonly name = 'RollbackRefused'
}

export interface Rollback {
  readonly sequence: number
  readonly time: string
  readonly actor: string | null
  readonly size: number
  readonly origin: string
  readonly previousSize: number
  readonly previousOrigin: string
  readonly reason: string
}

const marker = Buffer.from('LogRolledBack')

/** Throws if the frame cannot be read. */
export const readRollbacks = ({ sequence, data }: Pick<RawFrame, 'sequence' | 'data'>): readonly Rollback[] => {
  if (Buffer.from(data.buffer, data.byteOffset, data.length).indexOf(marker) < 0) return []
  return decodeStoredEvents(data).flatMap((stored) => {
    const event = readEvent(stored)
    if (event.type !== 'LogRolledBack') return []
    const { size, origin, previous, reason } = event.data
    const before = { previousSize: previous.size, previousOrigin: previous.origin }
    return [{ sequence, time: event.time, actor: event.actor ?? null, size, origin, ...before, reason }]
  })
}

type PreviousHead = Pick<SignedHead, 'origin' | 'size' | 'root'>

interface RollbackParts {
  readonly source: FrameSource
  readonly append: (fact: FactOf<'LogRolledBack'>) => Promise<unknown>
  /** Each has to answer: what one of them still holds would stop the sealing again. */
  readonly stores: readonly SignedHeadStore[]
  /** Checkpoints that are known elsewhere: after a backup was restored, the stores hold what was signed before it. */
  readonly published: readonly PreviousHead[]
  readonly origin: string
  readonly size: number
  readonly reason: string
  readonly actor: string
  readonly onProgress?: (sequence: number, lastSequence: number) => void
}

const readFormerOrigins = async ({ source, origin }: RollbackParts): Promise<ReadonlySet<string>> => {
  const former = new Set<string>()
  const last = await source.lastSequence()
  if (last === 0) return former
  // That of this name was recorded by a rollback that was interrupted, and is repeated now.
  for await (const frames of source.read(1, last))
    for (const frame of frames)
      for (const rollback of readRollbacks(frame)) if (rollback.origin !== origin) former.add(rollback.previousOrigin)
  return former
}

/** What was signed under another name, which the log was not given up under before: a rollback that was interrupted left some of it. */
const findPrevious = async (parts: RollbackParts): Promise<PreviousHead> => {
  const { stores, published, origin } = parts
  const heads = (await Promise.all(stores.map((store) => store.read()))).filter((head) => head !== null)
  const isEarlier = (head: PreviousHead): boolean => head.origin !== origin
  if (heads.length > 0 && !heads.some(isEarlier))
    throw new RollbackRefused(
      `the log needs another name from here on, since ${origin} has signed more than is kept: configure another \`audit.origin\`, and the public key of the present one in \`audit.previous_public_keys\``,
    )
  const known = [...heads, ...published].filter(isEarlier)
  const isOfSeveral = new Set(known.map((head) => head.origin)).size > 1
  const former = isOfSeveral ? await readFormerOrigins(parts) : new Set()
  const open = known.filter((head) => !former.has(head.origin))
  const largestOf = (of: readonly PreviousHead[]) => of.toSorted((one, other) => other.size - one.size)[0]
  const stored = largestOf(heads.filter((head) => open.includes(head)))
  const previous = largestOf(stored === undefined ? open : open.filter((head) => head.origin === stored.origin))
  if (previous === undefined)
    throw new RollbackRefused('nothing is known to be signed of this log: there is nothing to go back from')
  return previous
}

const laterKnown =
  'Where a restored backup has fewer frames than were signed, name a later checkpoint with `--checkpoint`'

interface Trees {
  readonly kept: GrowingTree
  readonly leadsToPrevious: boolean
}

const readTrees = async (parts: RollbackParts, previous: PreviousHead, last: number): Promise<Trees> => {
  const { source, size, onProgress } = parts
  const tree = new GrowingTree()
  let kept = tree.copy()
  const to = Math.max(size, Math.min(previous.size, last))
  if (to > 0)
    for await (const frames of source.read(1, to))
      for (const frame of frames) {
        tree.append(hashFrame(frame))
        if (tree.size === size) kept = tree.copy()
        onProgress?.(frame.sequence, to)
      }
  return { kept, leadsToPrevious: tree.size >= previous.size && tree.root.equals(previous.root) }
}

/** Records the rollback in the log, and then what is signed from there on. Interrupted, it can be repeated. */
export const rollBack = async (parts: RollbackParts): Promise<PreviousHead> => {
  const { source, append, stores, origin, size, reason, actor } = parts
  const previous = await findPrevious(parts)
  const last = await source.lastSequence()
  if (size > last) throw new RollbackRefused(`the log ends at frame ${last}: it has not ${size} frames`)
  if (size >= previous.size)
    throw new RollbackRefused(
      `${previous.size} frames were signed: ${size} frames are not an earlier size. ${laterKnown}`,
    )
  const { kept, leadsToPrevious } = await readTrees(parts, previous, last)
  if (leadsToPrevious)
    throw new RollbackRefused(
      `the log still has all the ${previous.size} frames that were signed: nothing was rolled back. ${laterKnown}`,
    )
  await append({
    type: 'LogRolledBack',
    data: {
      size,
      root: kept.root.toString('base64'),
      origin,
      previous: { size: previous.size, root: previous.root.toString('base64'), origin: previous.origin },
      reason,
    },
    actor,
  })
  const head = signedHeadOf(origin, kept)
  for (const store of stores) await store.replace(head)
  return previous
}
