import type { EventData } from './types.ts'

export type EventType = keyof EventData

/** A domain event: CloudEvents 1.0 JSON attributes around the data that `schemas/events/<type>.v<n>.json` describes. */
export interface EventOf<T extends EventType> {
  readonly specversion: '1.0'
  /** UUIDv7. */
  readonly id: string
  /** `/gateway/<role>/<writer>`. */
  readonly source: string
  readonly type: T
  /** ISO 8601, UTC, milliseconds. */
  readonly time: string
  /** The workspace, the model id of a price, or `log` for what is said of the log itself. */
  readonly subject: string
  /** `events/<type>.v<n>.json`, the schema's `$id`. */
  readonly dataschema: string
  readonly data: EventData[T]
}

export type Event = { [T in EventType]: EventOf<T> }[EventType]

/** What a decider says; the log's writer makes the envelope around it. */
export type Fact = { [T in EventType]: { readonly type: T; readonly data: EventData[T] } }[EventType]
export type FactOf<T extends EventType> = Extract<Fact, { type: T }>

/** The version that is written today, by type. Older ones are raised by `upcast` when read. */
export const currentVersion: { readonly [T in EventType]: number } = {
  WorkspaceOpened: 1,
  KeyIssued: 1,
  KeyRevoked: 1,
  PricePublished: 1,
  WalletCredited: 1,
  RequestRouted: 1,
  UsageRecorded: 1,
  RequestFailed: 1,
  HoldPlaced: 1,
  HoldReleased: 1,
  TaskSubmitted: 1,
  TaskProgressed: 1,
  TaskSettled: 1,
  LateVerdictSeen: 1,
  AdjustmentPosted: 1,
  CheckpointSealed: 1,
}

export const schemaIdOf = (type: EventType): string => `events/${type}.v${currentVersion[type]}.json`

const subjectOf = (fact: Fact): string => {
  if (fact.type === 'PricePublished') return fact.data.model
  return fact.type === 'CheckpointSealed' ? 'log' : fact.data.workspaceId
}

export const sealEvent = (fact: Fact, id: string, source: string, time: string): Event =>
  ({
    specversion: '1.0',
    id,
    source,
    type: fact.type,
    time,
    subject: subjectOf(fact),
    dataschema: schemaIdOf(fact.type),
    data: fact.data,
  }) as Event
