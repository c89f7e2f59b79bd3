import { formatUsd } from '../domain/money.ts'
import { canRead, type HttpMiddleware } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { tokenCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { type Parameter, readQuery } from '../http/query.ts'
import type { RequestPage } from '../projections/requests/listed-requests.ts'
import { type PagedParts, readCursor, writeCursor } from './positions.ts'
import { readTables } from './read-tables.ts'
import { bodyFor } from './reflect-position.ts'
import type { LedgerRequestsResponse } from './responses.types.ts'

const uuidPlaces = [0, 8, 12, 16, 20, 32]

/** Of the id of an answer that the gateway wrote; any other is that of a request. */
const toRequestId = (given: string): string => {
  const digits = /^(?:chatcmpl-|msg_|resp_)([0-9a-f]{8}[0-9a-f-]*)$/.exec(given)?.[1]?.replaceAll('-', '')
  if (digits === undefined) return given
  return uuidPlaces.flatMap((place, index) => digits.slice(place, uuidPlaces[index + 1]) || []).join('-')
}

const requestIdPattern = /^[!-~]{1,256}(?:…[!-~]{1,256})?$/

const requestIdParameter: Parameter<string> = {
  read: (text) => (requestIdPattern.test(text) ? toRequestId(text) : undefined),
  form: 'the id of a request or of its answer, or at least its first 8 characters',
  schema: { type: 'string', pattern: requestIdPattern.source },
}

export const requestsParameters = {
  from: parameters.instantParameter,
  to: parameters.rangeEndParameter,
  status: parameters.someOfParameter(['ok', 'interrupted', 'failed']),
  reason: parameters.matchingParameter(/^[a-z0-9_]{1,64}$/, 'an error code, such as upstream_error'),
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  id: requestIdParameter,
  upstream_request_id: parameters.matchingParameter(/^[!-~]{1,256}$/, "the provider's own id of a call"),
  cursor: tokenCursor,
  limit: parameters.limitParameter,
}

const toResponse = (
  request: RequestPage['requests'][number],
  isOfAll: boolean,
): LedgerRequestsResponse['data'][number] => ({
  id: request.id,
  ...(isOfAll ? { workspace: request.workspaceId } : {}),
  at: request.routedAt.toISOString(),
  duration_ms: Math.max(0, request.closedAt.getTime() - request.routedAt.getTime()),
  first_token_ms: request.firstTokenMs,
  sequence: request.sequence,
  key: request.keyId,
  surface: request.surface,
  stream: request.stream,
  model: request.model,
  served_model: request.servedModel,
  outcome: request.status,
  status: request.errorStatus ?? 200,
  reason: request.errorReason,
  attempts: request.attempts.map(({ model, provider, outcome, status, reason, durationMs, ...of }) => ({
    ...{ model, provider, deployment: of.deployment ?? null, outcome, status, reason },
    ...{ duration_ms: durationMs, upstream_request_id: of.upstreamRequestId ?? null },
  })),
  prompt_tokens: request.promptTokens,
  output_tokens: request.outputTokens,
  tokens: request.tokens,
  tags: request.tags ?? {},
  total: formatUsd(request.totalPicos),
})

export const showRequests =
  ({ readModels, positions }: PagedParts): HttpMiddleware =>
  async (ctx) => {
    const { from, to, cursor, upstream_request_id: upstreamRequestId, ...query } = readQuery(ctx, requestsParameters)
    parameters.checkRange(from, to)
    const workspaceId = canRead(ctx)
    const readOn = await readCursor(ctx, positions, 'requests', cursor)
    const range = { from: from ?? null, to: to ?? null }
    const wanted = { ...query, ...range, upstreamRequestId, readOn, limit: query.limit ?? httpLimits.pageRows }
    const { requests, next, searchedTo } = await readTables(ctx, readModels.listRequests(workspaceId, wanted))
    const body = {
      object: 'list',
      data: requests.map((request) => toResponse(request, workspaceId === null)),
      searched_to: searchedTo?.toISOString() ?? null,
      next_cursor: await writeCursor(ctx, positions, 'requests', next),
    } satisfies LedgerRequestsResponse
    ctx.body = bodyFor(ctx, body)
  }
