import type { Applied } from '../../../../domain/ledger/ledger.ts'
import type { Event } from '../../../../events/envelope.ts'
import { edgeLimits } from '../../limits.ts'

type Detail = Readonly<Record<string, string | number | boolean>>

/** An event as a tail tells it, in short: what it says in single words and figures. */
export interface LoggedEvent {
  readonly sequence: number
  readonly index: number
  readonly type: Event['type']
  readonly time: string
  /** Null for what is not one workspace's. */
  readonly workspace: string | null
  readonly subject: string
  /** Told where an administrator reads. */
  readonly actor: string | null
  readonly detail: Detail
}

/** Hashes and signed texts say nothing to a reader. */
const leftOut: ReadonlySet<string> = new Set(['workspaceId', 'sha256', 'leaves', 'root', 'note'])

const shortened = (value: string | number | boolean): string | number | boolean =>
  typeof value === 'string' ? value.slice(0, edgeLimits.tailTextCharactersMax).toWellFormed() : value

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
