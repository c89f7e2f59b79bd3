import type { KnownHead, PublishedCheckpoint } from '../../src/audit/published-checkpoints.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { type Random, renumbered, type SealedLog, sealedLog, signer, stranger } from './sealed-log.ts'

export const tamperingKinds = [
  'flip',
  'flip-subject',
  'delete',
  'purge',
  'delete-many',
  'insert',
  'swap',
  'move',
  'duplicate',
  'truncate',
  'rollback',
  'checkpoint-root',
  'checkpoints-removed',
  'fork-unsealed',
  'fork-forged',
  'fork-resealed',
] as const
export type TamperingKind = (typeof tamperingKinds)[number]

/** A log that somebody has laid hands on. */
export interface Tampering {
  readonly kind: TamperingKind
  readonly frames: readonly RawFrame[]
  /** The sequences that were laid hands on: as they stand in the log now or, for what is gone, as they stood. */
  readonly touched: readonly number[]
}

interface Hand {
  readonly log: SealedLog
  readonly frames: readonly RawFrame[]
  /** Sequences up to here are sealed. */
  readonly sealedTo: number
  readonly random: Random
}

const below = (random: Random, count: number): number => Math.floor(random() * count)
const sequenceIn = ({ random, sealedTo }: Hand): number => 1 + below(random, sealedTo)

const flipped = (random: Random, { ...frame }: RawFrame): RawFrame => {
  const data = Buffer.from(frame.data)
  const place = below(random, data.length)
  data[place] = data[place]! ^ (1 + below(random, 255))
  return { ...frame, data }
}

const replaced = (frames: readonly RawFrame[], sequence: number, by: readonly RawFrame[]): readonly RawFrame[] =>
  renumbered([...frames.slice(0, sequence - 1), ...by, ...frames.slice(sequence)])

const forged = (random: Random): RawFrame => sealedLog({ frames: 1, random }).frames[0]!

/** Another history from a frame on, at least as long as the one that it takes the place of. */
const rewritten = ({ frames, random }: Hand, from: number, sealedBy: 'nobody' | 'a stranger'): readonly RawFrame[] => {
  const count = frames.length - from + 2
  const other = sealedLog({ frames: count, random, signer: stranger })
  const own = new Set(other.seals.map(({ sequence }) => sequence))
  const added = sealedBy === 'nobody' ? other.frames.filter(({ sequence }) => !own.has(sequence)) : other.frames
  return renumbered([...frames.slice(0, from - 1), ...added])
}

type Lay = (hand: Hand) => Omit<Tampering, 'kind'>

const hands: { readonly [K in TamperingKind]: Lay } = {
  flip: (hand) => {
    const sequence = sequenceIn(hand)
    const frame = flipped(hand.random, hand.frames[sequence - 1]!)
    return { frames: replaced(hand.frames, sequence, [frame]), touched: [sequence] }
  },
  'flip-subject': (hand) => {
    const sequence = sequenceIn(hand)
    const { subject, ...frame } = hand.frames[sequence - 1]!
    const place = below(hand.random, subject.length)
    const other = `${subject.slice(0, place)}~${subject.slice(place + 1)}`
    return { frames: replaced(hand.frames, sequence, [{ ...frame, subject: other }]), touched: [sequence] }
  },
  delete: (hand) => {
    const sequence = sequenceIn(hand)
    return { frames: replaced(hand.frames, sequence, []), touched: [sequence] }
  },
  purge: (hand) => {
    const sequence = sequenceIn(hand)
    return { frames: hand.frames.filter((frame) => frame.sequence !== sequence), touched: [sequence] }
  },
  'delete-many': (hand) => {
    const from = sequenceIn(hand)
    const to = Math.min(from + 1 + below(hand.random, 20), hand.sealedTo)
    return { frames: renumbered([...hand.frames.slice(0, from - 1), ...hand.frames.slice(to)]), touched: [from] }
  },
  insert: (hand) => {
    const sequence = sequenceIn(hand)
    const frames = replaced(hand.frames, sequence, [forged(hand.random), hand.frames[sequence - 1]!])
    return { frames, touched: [sequence] }
  },
  swap: (hand) => {
    const one = sequenceIn(hand)
    const other = sequenceIn(hand)
    if (one === other) return hands.swap(hand)
    const frames = [...hand.frames]
    const kept = frames[one - 1]!
    frames[one - 1] = frames[other - 1]!
    frames[other - 1] = kept
    return { frames: renumbered(frames), touched: [one, other] }
  },
  move: (hand) => {
    const from = sequenceIn(hand)
    const to = sequenceIn(hand)
    if (from === to) return hands.move(hand)
    const frames = [...hand.frames]
    const [moved] = frames.splice(from - 1, 1)
    frames.splice(to - 1, 0, moved!)
    // Of two neighbours, either has passed the other.
    return { frames: renumbered(frames), touched: Math.abs(from - to) === 1 ? [from, to] : [from] }
  },
  duplicate: (hand) => {
    const original = sequenceIn(hand)
    const place = sequenceIn(hand)
    // A copy behind all that is sealed may have come late: a frame that was sent again.
    if (place === original && place === hand.sealedTo) return hands.duplicate(hand)
    const frames = [...hand.frames]
    frames.splice(place - 1, 0, hand.frames[original - 1]!)
    // Beside its original, nobody can tell which of the two is the copy.
    return { frames: renumbered(frames), touched: place === original ? [place, place + 1] : [place] }
  },
  truncate: (hand) => {
    const end = below(hand.random, hand.sealedTo)
    return { frames: hand.frames.slice(0, end), touched: [end + 1] }
  },
  /** Cut where a checkpoint ends it: what is left is a whole log, of an earlier day. */
  rollback: ({ log, frames, random }) => {
    const end = log.seals[below(random, log.seals.length - 1)]?.sequence ?? 0
    return { frames: frames.slice(0, end), touched: [end + 1] }
  },
  'checkpoint-root': ({ log, frames, random }) => {
    const { sequence, seal } = log.seals[below(random, log.seals.length)]!
    const frame = frames[sequence - 1]!
    const data = Buffer.from(
      Buffer.from(frame.data)
        .toString('latin1')
        .replace(seal.root, `${'A'.repeat(43)}=`),
      'latin1',
    )
    return { frames: replaced(frames, sequence, [{ ...frame, data }]), touched: [sequence] }
  },
  'checkpoints-removed': ({ log, frames }) => {
    const checkpoints = new Set(log.seals.map(({ sequence }) => sequence))
    const left = frames.filter(({ sequence }) => !checkpoints.has(sequence))
    return { frames: renumbered(left), touched: [log.seals[0]!.sequence, left.length + 1] }
  },
  'fork-unsealed': (hand) => {
    const sequence = sequenceIn(hand)
    return { frames: rewritten(hand, sequence, 'nobody'), touched: [sequence] }
  },
  'fork-forged': (hand) => {
    const sequence = sequenceIn(hand)
    return { frames: rewritten(hand, sequence, 'a stranger'), touched: [sequence] }
  },
  /** By the holder of the key: by itself a whole log. */
  'fork-resealed': ({ frames, random }) => ({
    frames: sealedLog({ frames: frames.length + 1, random, signer }).frames,
    touched: [1],
  }),
}

/** What an auditor has kept: the newest checkpoint. */
export const publishedOf = ({ seals }: SealedLog): PublishedCheckpoint => ({
  note: seals.at(-1)!.seal.note,
  place: 'the published checkpoint',
})

/** What the sealer has kept: the size and root that it signed last. */
export const headOfLog = ({ seals }: SealedLog): KnownHead => {
  const { size, root } = seals.at(-1)!.seal
  return { head: { size, root: Buffer.from(root, 'base64') }, place: 'audit.state' }
}

/** Lays one hand on a sealed frame of the log. */
export const tamperWith = (log: SealedLog, kind: TamperingKind, random: Random): Tampering => {
  const sealedTo = log.seals.at(-1)!.seal.size
  return { kind, ...hands[kind]({ log, frames: log.frames, sealedTo, random }) }
}

/** Where the checkpoints that speak for a sequence begin and end: as far as a rewritten history can be located. */
export const stretchOf = ({ seals }: SealedLog, sequence: number): { readonly from: number; readonly to: number } => ({
  from: (seals.findLast(({ seal, sequence: at }) => at < sequence && seal.size < sequence)?.seal.size ?? 0) + 1,
  to: seals.at(-1)!.seal.size,
})

export { signer }
