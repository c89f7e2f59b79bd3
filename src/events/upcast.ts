import { currentVersion, type Event, type EventType } from './envelope.ts'

/** An event as stored in the log: its data has the shape of the version that its `dataschema` names. */
export type StoredEvent = Omit<Event, 'data'> & { readonly data: unknown }

type Raise = (data: unknown) => unknown

/** The steps of each type: the first raises version 1 to 2, and so on. Every type is at version 1 today. */
const raises: { readonly [T in EventType]?: readonly Raise[] } = {}

interface Known {
  readonly type: EventType
  readonly steps: readonly Raise[]
}

const versionsOf = (type: EventType): [string, Known][] =>
  Array.from({ length: currentVersion[type] }, (_, index) => [
    `events/${type}.v${index + 1}.json`,
    { type, steps: raises[type]?.slice(index) ?? [] },
  ])

const knownSchemas: ReadonlyMap<string, Known> = new Map(
  Object.keys(currentVersion).flatMap((type) => versionsOf(type as EventType)),
)

const knownOf = (event: StoredEvent): Known => {
  const known = knownSchemas.get(event.dataschema)
  if (known?.type === event.type) return known
  throw new Error(`event ${event.id}: type ${event.type} with schema ${event.dataschema} is unknown to this version`)
}

/** Throws when this program does not know the type or its version. */
export const storedSchemaIdOf = (event: StoredEvent): string => {
  knownOf(event)
  return event.dataschema
}

export const upcast = (event: StoredEvent): Event => {
  const { type, steps } = knownOf(event)
  if (steps.length === 0) return event as Event
  const data = steps.reduce((raised, step) => step(raised), event.data)
  return { ...event, dataschema: `events/${type}.v${currentVersion[type]}.json`, data } as Event
}
