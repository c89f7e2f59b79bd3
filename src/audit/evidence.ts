import type { Key } from '../domain/accounts/accounts.ts'
import type { Movement } from '../domain/wallet/evolve.ts'
import type { Event, EventOf } from '../events/envelope.ts'
import type { PricePublished } from '../events/types.ts'
import type { SealPosition } from '../projections/charge-trace.ts'

/** What an event did to the wallet, and how the wallet stood after it. */
export type RecordedMovement = Omit<Movement, 'workspaceId' | 'reference' | 'spender'>

/** An event as it stands in the log. */
export interface EvidenceEvent {
  readonly sequence: number
  /** Its place in the frame. */
  readonly index: number
  readonly event: Event
  readonly movements: readonly RecordedMovement[]
  /** The first checkpoint over its frame; null where there is none yet. */
  readonly seal: SealPosition | null
}

export interface FoundSheet {
  /** Of the frame that published it. */
  readonly sequence: number
  readonly published: PricePublished
}

/** All that the log tells of one id, and what is needed to understand it. */
export interface Evidence {
  readonly id: string
  /** In the order of the log. */
  readonly events: readonly EvidenceEvent[]
  /** The sheet that the charge names; null where there is no charge, or no such sheet. */
  readonly sheet: FoundSheet | null
  readonly key: Key | null
  /** How far the log was followed. */
  readonly sequence: number
  /** False where the tables that told where to look are in part of an earlier release: some events may lack. */
  readonly isComplete: boolean
}

/** One of some types, told apart by `event.type`. */
export type EvidenceEventOf<T extends Event['type']> = { [K in T]: EvidenceEvent & { readonly event: EventOf<K> } }[T]

export const hasEventType =
  <T extends Event['type']>(...types: readonly T[]) =>
  (told: EvidenceEvent): told is EvidenceEventOf<T> =>
    types.some((type) => type === told.event.type)

/** True for an event that tells of the request or task. */
export const concernsCharge = ({ type, data }: Event, id: string): boolean => {
  switch (type) {
    case 'RequestRouted':
    case 'UsageRecorded':
    case 'RequestFailed':
      return data.requestId === id
    case 'HoldPlaced':
      return data.task !== undefined && data.holdId === id
    case 'HoldReleased':
      return data.holdId === id
    case 'TaskSubmitted':
    case 'TaskProgressed':
    case 'TaskSettled':
    case 'LateVerdictSeen':
      return data.taskId === id
    case 'AdjustmentPosted':
      return data.corrects === id
    default:
      return false
  }
}

export const findWorkspaceId = ({ data }: Event): string | null => ('workspaceId' in data ? data.workspaceId : null)

/** The workspace that the request or task is of, as its own events say; null where there are none of these. */
export const findOwner = (events: readonly EvidenceEvent[]): string | null => {
  const own =
    events.find(hasEventType('RequestRouted', 'UsageRecorded', 'RequestFailed')) ??
    events.filter(hasEventType('HoldPlaced')).find(({ event }) => event.data.task !== undefined)
  return own?.event.data.workspaceId ?? null
}

/** Whose key it was, as the events say; null where none does. */
export const findKeyId = (events: readonly EvidenceEvent[]): string | null => {
  for (const { event } of events) {
    if ('keyId' in event.data && 'requestId' in event.data) return event.data.keyId
    if (event.type === 'HoldPlaced' && event.data.task !== undefined) return event.data.task.keyId
  }
  return null
}

/** Which price sheet was charged, or set a task's unit price; null where the events name none. */
export const findSheetName = (
  events: readonly EvidenceEvent[],
): { readonly model: string; readonly version: string } | null => {
  for (const { event } of events) {
    if (event.type === 'UsageRecorded') return { model: event.data.model, version: event.data.priceVersion }
    if (event.type === 'RequestFailed') return null
    if (event.type === 'HoldPlaced' && event.data.task !== undefined)
      return { model: event.data.task.model, version: event.data.task.priceVersion }
  }
  return null
}
