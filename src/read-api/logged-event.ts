import type { Applied } from '../domain/ledger/ledger.ts'
import type { Event } from '../events/envelope.ts'
import { readLimits } from './limits.ts'

type Detail = Readonly<Record<string, string | number | boolean>>

/** Only the scalar members of an event. */
export interface LoggedEvent {
  readonly sequence: number
  readonly index: number
  readonly type: Event['type']
  readonly time: string
  /** Null for an event that belongs to no single workspace. */
  readonly workspace: string | null
  readonly subject: string
  /** Null for an event without an actor; sent only to administrators. */
  readonly actor: string | null
  readonly detail: Detail
}

/** Hashes and signed texts are of no use to a reader. */
const leftOut: ReadonlySet<string> = new Set(['workspaceId', 'sha256', 'leaves', 'root', 'note'])

const shortened = (value: string | number | boolean): string | number | boolean =>
  typeof value === 'string' ? value.slice(0, readLimits.tailTextCharactersMax).toWellFormed() : value

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

const plainMembers = (data: object): Detail =>
  Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) =>
      isPlain(value) && !leftOut.has(name) ? [[name, shortened(value)] as const] : [],
    ),
  )

export const loggedEventOf = ({
  event,
  sequence,
  index,
}: Pick<Applied, 'event' | 'sequence' | 'index'>): LoggedEvent => {
  const { type, time, subject, actor = null, data } = event
  const task = event.type === 'HoldPlaced' ? event.data.task : undefined
  return {
    sequence,
    index,
    type,
    time,
    workspace: 'workspaceId' in data ? data.workspaceId : null,
    subject,
    actor,
    detail: { ...plainMembers(data), ...(task === undefined ? {} : { model: task.model, kind: task.kind }) },
  }
}
