import type { Key } from '../domain/accounts/accounts.ts'
import type { Movement } from '../domain/wallet/evolve.ts'
import type { Event, EventOf } from '../events/envelope.ts'
import type { PricePublished } from '../events/types.ts'
import type { SealPosition } from '../projections/charges/charge-trace.ts'

type RecordedMovement = Omit<Movement, 'workspaceId' | 'reference' | 'spender'>

export interface EvidenceEvent {
  readonly sequence: number
  readonly index: number
  readonly event: Event
  readonly movements: readonly RecordedMovement[]
  /** The first checkpoint over its frame; null if there is none yet. */
  readonly seal: SealPosition | null
}

export interface FoundSheet {
  readonly sequence: number
  readonly published: PricePublished
}

export interface Evidence {
  readonly id: string
  readonly events: readonly EvidenceEvent[]
  /** The sheet that the charge names; null if there is no charge, or no such sheet. */
  readonly sheet: FoundSheet | null
  readonly key: Key | null
  readonly sequence: number
  /** False if part of the tables that locate events was written by an earlier release: some events may be missing. */
  readonly isComplete: boolean
}

export type EvidenceEventOf<T extends Event['type']> = { [K in T]: EvidenceEvent & { readonly event: EventOf<K> } }[T]

export const hasEventType =
  <T extends Event['type']>(...types: readonly T[]) =>
  (entry: EvidenceEvent): entry is EvidenceEventOf<T> =>
    types.some((type) => type === entry.event.type)

/** An adjustment that repeats the id of another moves nothing. */
export const appliedAdjustments = ({ events }: Evidence): readonly EvidenceEventOf<'AdjustmentPosted'>[] =>
  events.filter(hasEventType('AdjustmentPosted')).filter(({ movements }) => movements.length > 0)

const isOwnEvent = ({ type, data }: Event, id: string): boolean => {
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
    default:
      return false
  }
}

/** Takes the events of the log in their order: what corrects a correction of the charge concerns it too, however many steps away. */
export class ChargeChain {
  readonly #id: string
  readonly #corrections = new Set<string>()

  constructor(id: string) {
    this.#id = id
  }

  concerns(event: Event, movements: readonly unknown[]): boolean {
    if (event.type !== 'AdjustmentPosted') return isOwnEvent(event, this.#id)
    const { workspaceId, adjustmentId, corrects = '' } = event.data
    if (corrects !== this.#id && !this.#corrections.has(`${workspaceId} ${corrects}`)) return false
    if (movements.length > 0) this.#corrections.add(`${workspaceId} ${adjustmentId}`)
    return true
  }
}

export const findWorkspaceId = ({ data }: Event): string | null => ('workspaceId' in data ? data.workspaceId : null)

/** Null if the id has no events of its own. */
export const findOwner = (events: readonly EvidenceEvent[]): string | null => {
  const own =
    events.find(hasEventType('RequestRouted', 'UsageRecorded', 'RequestFailed')) ??
    events.filter(hasEventType('HoldPlaced')).find(({ event }) => event.data.task !== undefined)
  return own?.event.data.workspaceId ?? null
}

export const findKeyId = (events: readonly EvidenceEvent[]): string | null => {
  for (const { event } of events) {
    if ('keyId' in event.data && 'requestId' in event.data) return event.data.keyId
    if (event.type === 'HoldPlaced' && event.data.task !== undefined) return event.data.task.keyId
  }
  return null
}

/** The sheet that was charged, or that set a task's unit price; null if the events name none. */
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
