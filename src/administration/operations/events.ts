import { httpLimits } from '../../http/limits.ts'
import { pageBody, placeCursor } from '../../http/page.ts'
import * as ledgerParameters from '../../http/parameters.ts'
import type { AdminChange, AdminChangeQuery } from '../../projections/admin-changes/queries.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationResult } from '../operation.ts'
import type { EventResponse } from '../responses.types.ts'
import * as parameters from './parameters.ts'

interface EventList {
  readonly wanted: Omit<AdminChangeQuery, 'limit'> & { readonly limit: number | undefined }
  readonly cursor: ReturnType<typeof placeCursor>
  readonly render: (change: AdminChange) => object
}

export const listEvents = async (
  { readModels }: OperationContext,
  { wanted, cursor, render }: EventList,
): Promise<OperationResult> => {
  const limit = wanted.limit ?? httpLimits.pageRows
  const { sequence, value } = await fromTables(readModels.listAdminChanges({ ...wanted, limit: limit + 1 }))
  const page = pageBody(value, limit, render, (last) => cursor.text({ ...last, line: 0 }))
  return { sequence, body: { object: 'list', ...page } }
}

const cursor = placeCursor('events')

const renderEvent = ({ sequence, type, workspaceId, subject, actor, time, detail }: AdminChange): EventResponse => ({
  object: 'event',
  sequence,
  type,
  workspace: workspaceId,
  subject,
  actor,
  time: time.toISOString(),
  detail,
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
      cursor: cursor.parameter,
      limit: ledgerParameters.limitParameter,
    },
    answer: 'list of event',
    http: { method: 'get', path: '/admin/v1/events' },
    run: (context, { query: { workspace: workspaceId, type: types, cursor: readOn, ...wanted } }) =>
      listEvents(context, { wanted: { ...wanted, workspaceId, types, readOn }, cursor, render: renderEvent }),
  }),
]
