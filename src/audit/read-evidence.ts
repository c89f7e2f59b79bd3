import type { Key } from '../domain/accounts/accounts.ts'
import type { Event } from '../events/envelope.ts'
import type { FrameSource, RawFrame } from '../log/raw-frames.ts'
import { decodeEvents, unreadable } from '../log/read-frame.ts'
import type { ChargeTrace } from '../projections/charges/charge-trace.ts'
import type { WalletEntry } from '../projections/statements/queries.ts'
import {
  ChargeChain,
  type Evidence,
  type EvidenceEvent,
  type FoundSheet,
  findKeyId,
  findSheetName,
} from './evidence.ts'

export interface ChargeTables {
  findSheetSequence(model: string, version: string): Promise<number | undefined>
  findKey(keyId: string): Promise<Key | undefined>
}

type Frames = Pick<FrameSource, 'read'>

/** Frames this close together are read in one go: another read costs more than skipping some frames. */
const nearFrames = 32

const runsOf = (sequences: readonly number[]): readonly (readonly [from: number, to: number])[] => {
  const runs: [number, number][] = []
  for (const sequence of sequences) {
    const run = runs.at(-1)
    if (run !== undefined && sequence - run[1] <= nearFrames) run[1] = sequence
    else runs.push([sequence, sequence])
  }
  return runs
}

/** Those of ascending sequences. */
export async function* readFramesAt(frames: Frames, sequences: readonly number[]): AsyncGenerator<readonly RawFrame[]> {
  const wanted = new Set(sequences)
  for (const [from, to] of runsOf(sequences))
    for await (const some of frames.read(from, to)) yield some.filter(({ sequence }) => wanted.has(sequence))
}

const readEvents = (frame: RawFrame): readonly Event[] => {
  try {
    return decodeEvents(frame.data)
  } catch (cause) {
    throw unreadable(frame.sequence, cause)
  }
}

const movementsAt = ({ movements }: ChargeTrace, sequence: number, index: number): readonly WalletEntry[] =>
  movements.filter((entry) => entry.sequence === sequence && entry.eventIndex === index)

const readEvidenceEvents = (frame: RawFrame, chain: ChargeChain, trace: ChargeTrace): readonly EvidenceEvent[] => {
  const { sequence } = frame
  const seal = trace.seals.get(sequence) ?? null
  return readEvents(frame).flatMap((event, index) => {
    const movements = movementsAt(trace, sequence, index)
    return chain.concerns(event, movements) ? [{ sequence, index, event, movements, seal }] : []
  })
}

const readSheet = async (
  frames: Frames,
  tables: ChargeTables,
  events: readonly EvidenceEvent[],
): Promise<FoundSheet | null> => {
  const named = findSheetName(events)
  if (named === null) return null
  const sequence = await tables.findSheetSequence(named.model, named.version)
  if (sequence === undefined) return null
  for await (const some of readFramesAt(frames, [sequence]))
    for (const { type, data } of some.flatMap(readEvents))
      if (type === 'PricePublished' && data.model === named.model && data.version === named.version)
        return { sequence, published: data }
  return null
}

/** Throws if a frame cannot be read. */
export const readEvidence = async (
  frames: Frames,
  tables: ChargeTables,
  id: string,
  { trace, sequence }: { readonly trace: ChargeTrace; readonly sequence: number },
): Promise<Evidence> => {
  const events: EvidenceEvent[] = []
  const chain = new ChargeChain(id)
  for await (const some of readFramesAt(frames, trace.sequences))
    for (const frame of some) events.push(...readEvidenceEvents(frame, chain, trace))
  const keyId = findKeyId(events)
  const key = keyId === null ? undefined : await tables.findKey(keyId)
  const sheet = await readSheet(frames, tables, events)
  return { id, events, sheet, key: key ?? null, sequence, isComplete: trace.isWhole }
}
