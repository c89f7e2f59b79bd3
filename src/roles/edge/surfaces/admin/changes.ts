import type { AdminChange, AdminChangeQuery } from '../../../../projections/admin-changes.ts'
import { edgeLimits } from '../../limits.ts'
import { placeCursor } from '../ledger/cursor.ts'
import { pageBody } from '../ledger/page-body.ts'
import * as ledgerParameters from '../ledger/parameters.ts'
import { readQuery } from '../ledger/query.ts'
import { readTables } from '../read-tables.ts'
import * as parameters from './parameters.ts'
import type { AdminCall, AdminParts, AdminResult } from './route.ts'

export const pageOfChanges = async (
  { ctx }: Pick<AdminCall<undefined>, 'ctx'>,
  { readModels }: AdminParts,
  {
    wanted,
    cursor,
    shown,
  }: {
    readonly wanted: Omit<AdminChangeQuery, 'limit'> & { readonly limit: number | undefined }
    readonly cursor: ReturnType<typeof placeCursor>
    readonly shown: (change: AdminChange) => object
  },
): Promise<AdminResult> => {
  const limit = wanted.limit ?? edgeLimits.pageRows
  const found = await readTables(ctx, readModels.listAdminChanges({ ...wanted, limit: limit + 1 }))
  const page = pageBody(found, limit, shown, (last) => cursor.text({ ...last, line: 0 }))
  return { body: { object: 'list', ...page } }
}

const cursor = placeCursor('events')

export const changesParameters = {
  workspace: parameters.workspaceParameter,
  type: parameters.typesParameter,
  actor: parameters.actorParameter,
  after: parameters.sequenceParameter,
  cursor: cursor.parameter,
  limit: ledgerParameters.limitParameter,
}

const shownChange = ({ sequence, type, workspaceId, subject, actor, time, detail }: AdminChange) => ({
  object: 'event',
  sequence,
  type,
  workspace: workspaceId,
  subject,
  actor,
  time,
  detail,
})

export const showAdminChanges = (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> => {
  const { workspace: workspaceId, type: types, cursor: readOn, ...wanted } = readQuery(call.ctx, changesParameters)
  return pageOfChanges(call, parts, { wanted: { ...wanted, workspaceId, types, readOn }, cursor, shown: shownChange })
}
