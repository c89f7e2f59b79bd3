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
  /** The workspace; the model, plan, alias or router of the gateway; the month, the invoice or the provider; `gateway/refusals`; or `log` for events about the log itself. */
  readonly subject: string
  readonly dataschema: string
  /** The user who asked for it, such as `admin:ana` or `operator:root`; absent where there is none. */
  readonly actor?: string
  readonly data: EventData[T]
}

export type Event = { [T in EventType]: EventOf<T> }[EventType]

/** The result of a decision; the log's writer adds the envelope, and the actor where there is one. */
export type Fact = {
  [T in EventType]: { readonly type: T; readonly data: EventData[T]; readonly actor?: string }
}[EventType]
export type FactOf<T extends EventType> = Extract<Fact, { type: T }>

/** The version written today, by type. Older ones are raised by `upcast` when read. */
export const currentVersion: { readonly [T in EventType]: number } = {
  WorkspaceOpened: 1,
  WorkspaceChanged: 1,
  WorkspaceSuspended: 1,
  WorkspaceResumed: 1,
  WorkspaceClosed: 1,
  KeyIssued: 1,
  KeyExpirySet: 1,
  KeyRevoked: 1,
  LimitsSet: 1,
  PlanPublished: 1,
  PlanSubscribed: 1,
  PlanRenewed: 1,
  PlanCancelled: 1,
  PlanEnded: 1,
  PricePublished: 1,
  AliasSet: 1,
  RouterSet: 1,
  WalletCredited: 1,
  CreditExpired: 1,
  RequestRouted: 1,
  UsageRecorded: 1,
  RequestFailed: 1,
  HoldPlaced: 1,
  HoldReleased: 1,
  TaskSubmitted: 1,
  TaskProgressed: 1,
  TaskSettled: 1,
  LateVerdictSeen: 1,
  CallbackFailed: 1,
  AdjustmentPosted: 1,
  AlertRuleSet: 1,
  AlertRuleRemoved: 1,
  AlertRaised: 1,
  AlertDelivered: 1,
  AlertDeliveryFailed: 1,
  AdjustmentProposed: 1,
  AdjustmentApproved: 1,
  AdjustmentRejected: 1,
  CheckpointSealed: 1,
  CheckpointCosigned: 1,
  LogRolledBack: 1,
  LogFormatRaised: 1,
  PeriodCutOff: 1,
  PeriodClosed: 1,
  PeriodReopened: 1,
  InvoiceIssued: 1,
  RefusalsCounted: 1,
  InvoiceReconciled: 1,
}

/** Each is the same text for all events: a text that is made anew is hashed and compared anew. */
const schemaIds: ReadonlyMap<string, string> = new Map(
  Object.entries(currentVersion).map(([type, version]) => [type, `events/${type}.v${version}.json`]),
)

/** Of its current version. */
export const schemaIdOf = (type: EventType): string => schemaIds.get(type)!

const subjectOf = (fact: Fact): string => {
  switch (fact.type) {
    case 'PricePublished':
      return fact.data.model
    case 'PlanPublished':
      return fact.data.planId
    case 'AliasSet':
      return fact.data.alias
    case 'RouterSet':
      return `gateway/${fact.data.router}`
    case 'CheckpointSealed':
    case 'CheckpointCosigned':
    case 'LogRolledBack':
    case 'LogFormatRaised':
      return 'log'
    case 'RefusalsCounted':
      return 'gateway/refusals'
    case 'PeriodCutOff':
    case 'PeriodClosed':
    case 'PeriodReopened':
      return fact.data.month
    case 'InvoiceIssued':
      return fact.data.invoiceId
    case 'InvoiceReconciled':
      return fact.data.provider
    default:
      return fact.data.workspaceId
  }
}

export const wrapEvent = (fact: Fact, id: string, source: string, time: string): Event =>
  ({
    specversion: '1.0',
    id,
    source,
    type: fact.type,
    time,
    subject: subjectOf(fact),
    dataschema: schemaIdOf(fact.type),
    ...(fact.actor === undefined ? {} : { actor: fact.actor }),
    data: fact.data,
  }) as Event

/** The process that appended an event, as the `owner` of a hold names it. */
export const writerOf = ({ source }: Pick<Event, 'source'>): string => source.slice(source.lastIndexOf('/') + 1)
