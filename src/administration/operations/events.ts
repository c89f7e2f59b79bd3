import { httpLimits } from '../../http/limits.ts'
import { pageBody, placeCursor } from '../../http/page.ts'
import * as ledgerParameters from '../../http/parameters.ts'
import type { AdminChange, AdminChangeQuery, administrativeTypes } from '../../projections/admin-changes/queries.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { requireWorkspace } from '../admin-context.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationResult } from '../operation.ts'
import type { EventResponse } from '../responses.types.ts'
import * as parameters from './parameters.ts'

interface EventList {
  readonly wanted: Omit<AdminChangeQuery, 'limit'> & { readonly limit: number | undefined }
  readonly cursor: ReturnType<typeof placeCursor>
  readonly render: (change: AdminChange) => object
}

const listEvents = async (
  { readModels }: OperationContext,
  { wanted, cursor, render }: EventList,
): Promise<OperationResult> => {
  const limit = wanted.limit ?? httpLimits.pageRows
  const { sequence, value } = await fromTables(readModels.listAdminChanges({ ...wanted, limit: limit + 1 }))
  const page = pageBody(value, limit, render, (last) => cursor.text({ ...last, line: 0 }))
  return { sequence, body: { object: 'list', ...page } }
}

interface OwnEvents {
  /** What is listed, such as `credit`. */
  readonly noun: string
  readonly summary: string
  readonly type: (typeof administrativeTypes)[number]
  readonly render: EventList['render']
}

/** The list of a workspace's own events of one type, at `/admin/v1/workspaces/:id/<noun>s`. */
export const ownEventList = ({ noun, summary, type, render }: OwnEvents): AdminOperation => {
  const cursor = placeCursor(`${noun}s`)
  return defineOperation({
    name: `${noun}.list`,
    summary,
    query: { cursor: cursor.parameter, limit: ledgerParameters.limitParameter },
    answer: `list of ${noun}`,
    http: { method: 'get', path: `/admin/v1/workspaces/:id/${noun}s` },
    permission: 'read_money',
    run: (context, { id: workspaceId, query: { cursor: readOn, limit } }) => {
      requireWorkspace(context, workspaceId)
      return listEvents(context, { wanted: { workspaceId, types: [type], readOn, limit }, cursor, render })
    },
  })
}

const cursor = placeCursor('events')

const renderEvent = ({ eventId, sequence, eventIndex, workspaceId, time, ...change }: AdminChange): EventResponse => ({
  object: 'event',
  id: eventId,
  sequence,
  index: eventIndex,
  type: change.type,
  workspace: workspaceId,
  subject: change.subject,
  actor: change.actor,
  time: time.toISOString(),
  detail: change.detail,
})

export const eventOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'event.list',
    summary: 'Who changed what when, newest first',
    query: {
      workspace: parameters.workspaceParameter,
      type: parameters.typesParameter,
      actor: parameters.actorParameter,
      after: parameters.sequenceParameter,
      before: parameters.sequenceParameter,
      cursor: cursor.parameter,
      limit: ledgerParameters.limitParameter,
    },
    answer: 'list of event',
    http: { method: 'get', path: '/admin/v1/events' },
    permission: 'read_money',
    run: (context, { query: { workspace: workspaceId, type: types, cursor: readOn, ...wanted } }) =>
      listEvents(context, { wanted: { ...wanted, workspaceId, types, readOn }, cursor, render: renderEvent }),
  }),
]
