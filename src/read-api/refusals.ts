import { parseInstant } from '../domain/instant.ts'
import { canRead, type HttpMiddleware } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { pageBody, textsCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, readQuery } from '../http/query.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerRefusalsResponse } from './responses.types.ts'

const cursor = textsCursor('refusals')

const codeParameter = parameters.matchingParameter(/^[a-z0-9_]{1,64}$/, 'an error code, such as rate_limit_exceeded')

export const refusalsParameters = {
  from: parameters.instantParameter,
  to: parameters.rangeEndParameter,
  key: parameters.keyParameter,
  code: codeParameter,
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

const isId = (text: string): boolean => text === '' || parameters.keyParameter.read(text) !== undefined

/** The minute, the ids and the code of the last row. Throws `invalid_value`. */
const placeOf = (texts: readonly string[] | undefined) => {
  if (texts === undefined) return undefined
  const [minute = '', workspaceId = '', keyId = '', code = '', ...others] = texts
  const at = parseInstant(minute)
  const isOfRow = isId(workspaceId) && isId(keyId) && codeParameter.read(code) !== undefined && others.length === 0
  if (at === null || !isOfRow) throw invalidParameter('cursor', cursor.form)
  return { minute: at, workspaceId, keyId, code }
}

export const showRefusals =
  ({ readModels }: { readonly readModels: EdgeReadModels }): HttpMiddleware =>
  async (ctx) => {
    const { cursor: place, limit = httpLimits.pageRows, ...wanted } = readQuery(ctx, refusalsParameters)
    parameters.checkRange(wanted.from, wanted.to)
    const query = { ...wanted, after: placeOf(place), limit: limit + 1 }
    const refusals = await readTables(ctx, readModels.listRefusals(canRead(ctx), query))
    const page = pageBody(
      refusals,
      limit,
      ({ minute, workspaceId: workspace, keyId: key, code, count }) => ({
        minute: minute.toISOString(),
        workspace,
        key,
        code,
        count,
      }),
      ({ minute, workspaceId, keyId, code }) =>
        cursor.text([minute.toISOString(), workspaceId ?? '', keyId ?? '', code]),
    )
    ctx.body = { object: 'list', ...page } satisfies LedgerRefusalsResponse
  }
