import type { IncomingHttpHeaders } from 'node:http'
import type { KeyedOperation } from '../../../../domain/idempotency/key.ts'
import { clientGoneError, GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpContext, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { errorStatusOf } from '../../../../http/error-table.ts'
import { httpLimits } from '../../../../http/limits.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { waitAtMost } from '../../../../runtime/within.ts'
import type { IdempotencyKeys, StartedKey } from '../../admission/idempotency/idempotency-keys.ts'
import type { KeyLease, RequestOutcome } from '../../admission/idempotency/key-lease.ts'
import { originalRequestHeader, requestIdHeaders } from '../../http/middleware.ts'

const keyPattern = new RegExp(`^[\\x20-\\x7e]{1,${httpLimits.idempotencyKeyCharactersMax}}$`)

/** Quotes included. Throws `invalid_value` for one that is empty, too long or not ASCII. */
const readIdempotencyKey = ({ 'idempotency-key': key }: IncomingHttpHeaders): string | null => {
  if (key === undefined) return null
  if (typeof key === 'string' && keyPattern.test(key)) return key
  throw new GatewayError(
    'invalid_value',
    `The header \`Idempotency-Key\` must be 1 to ${httpLimits.idempotencyKeyCharactersMax} printable ASCII characters.`,
    { param: 'Idempotency-Key' },
  )
}

export interface IdempotentParts {
  readonly keys: IdempotencyKeys
  readonly logger: Logger
}

type Running = Extract<StartedKey, { type: 'run' }>

const ownHeader = /^x-gateway-(?!request-id$)/

export const headersToStore = (ctx: HttpContext, contentType: string): RequestOutcome['headers'] => ({
  'content-type': contentType,
  ...Object.fromEntries(
    Object.entries(ctx.res.getHeaders())
      .filter(([name]) => ownHeader.test(name))
      .map(([name, value]) => [name, String(value)]),
  ),
})

/** Under the id of the request that was charged. */
const replay = (ctx: HttpContext, requestId: string, { status, headers, body }: RequestOutcome): void => {
  ctx.status = status
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  for (const name of requestIdHeaders) ctx.set(name, requestId)
  ctx.set(originalRequestHeader, requestId)
  ctx.set('Idempotent-Replayed', 'true')
  ctx.body = Buffer.from(body)
}

const clientGoneStatus = errorStatusOf(clientGoneError())

const isAbortedStream = (work: KeyedOperation, fault: unknown): boolean =>
  work.type === 'request' && work.stream && fault instanceof GatewayError && errorStatusOf(fault) === clientGoneStatus

interface IdempotentWork {
  readonly work: KeyedOperation
  readonly endpoint?: string | undefined
  readonly settled?: () => Promise<void>
}

/**
 * A task whose submit broke off, here or before, may exist, and a stream whose client left may have been charged; any
 * other failure costs nothing.
 */
const releaseOrExpireKey = async (
  { held, work }: Running,
  { work: requested, settled = async () => undefined }: IdempotentWork,
  fault: unknown,
  logger: Logger,
): Promise<void> => {
  const isRefused = work === requested && fault instanceof GatewayError && errorStatusOf(fault) < 500
  const isUnknown = (work.type === 'task' && !isRefused) || isAbortedStream(work, fault)
  const ended = (isUnknown ? held.expire() : held.release(settled())).catch((later: unknown) =>
    logger.log('idempotency.key_not_released', { fault: later }),
  )
  await waitAtMost(ended, sharedLimits.natsRequestMs)
}

const endpointAt = ({ path }: HttpContext): string => path.toLowerCase().replace(/\/$/, '')

/**
 * `run` sends the answer; where the request has an idempotency key, it stores the answer before its end is sent. Where
 * `findShortage` finds that it is certain to be refused, only what the key has already is sent.
 * Throws what `IdempotencyKeys` and `run` throw.
 */
export const serveIdempotent = async (
  ctx: HttpContext,
  { keys, logger }: IdempotentParts,
  requested: IdempotentWork,
  run: (held: KeyLease | null, work: KeyedOperation) => Promise<void>,
  findShortage: () => GatewayError | null = () => null,
): Promise<void> => {
  const key = readIdempotencyKey(ctx.req.headers)
  const { work, endpoint = endpointAt(ctx) } = requested
  if (key === null) return run(null, work)
  const { requestId } = ctx.state
  const { workspaceId } = keyOfContext(ctx)
  const { value: body, bytesLength: bodyBytes } = jsonOfContext(ctx)
  const request = { key, work, requestId, workspaceId, endpoint, body, bodyBytes }
  const begun = await keys.begin({ ...request, shortage: findShortage() })
  if (begun.type === 'replay') return replay(ctx, begun.requestId, begun.outcome)
  try {
    await run(begun.held, begun.work)
    // A body too large to be stored, whose client left before its end.
    if (!begun.held.isEnded) await begun.held.storeNothing('size')
  } catch (fault) {
    await releaseOrExpireKey(begun, requested, fault, logger)
    throw fault
  }
}
