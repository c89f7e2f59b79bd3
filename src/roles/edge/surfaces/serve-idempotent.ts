import type { KeyedOperation } from '../../../domain/idempotency/key.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import type { IdempotencyKeys, StartedKey } from '../idempotency/idempotency-keys.ts'
import type { KeyLease, RequestOutcome } from '../idempotency/key-lease.ts'
import { type EdgeContext, jsonOfContext, keyOfContext } from '../middleware/context.ts'
import { originalRequestHeader, requestIdHeaders } from '../middleware/request-id.ts'

export interface IdempotentParts {
  readonly keys: IdempotencyKeys
  readonly logger: Logger
}

type Running = Extract<StartedKey, { type: 'run' }>

const ownHeader = /^x-gateway-(?!request-id$)/

export const headersToStore = (ctx: EdgeContext, contentType: string): RequestOutcome['headers'] => ({
  'content-type': contentType,
  ...Object.fromEntries(
    Object.entries(ctx.res.getHeaders())
      .filter(([name]) => ownHeader.test(name))
      .map(([name, value]) => [name, String(value)]),
  ),
})

/** Under the id of the request that was charged. */
const replay = (ctx: EdgeContext, requestId: string, { status, headers, body }: RequestOutcome): void => {
  ctx.status = status
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  for (const name of requestIdHeaders) ctx.set(name, requestId)
  ctx.set(originalRequestHeader, requestId)
  ctx.set('Idempotent-Replayed', 'true')
  ctx.body = Buffer.from(body)
}

/** A task whose submit broke off, here or before, may exist; any other failure costs nothing. */
const letGo = async ({ held, work }: Running, asked: KeyedOperation, fault: unknown, logger: Logger): Promise<void> => {
  const isRefused = work === asked && fault instanceof GatewayError && fault.status < 500
  const isUnknown = work.type === 'task' && !isRefused
  const left = (isUnknown ? held.expire() : held.release()).catch((later: unknown) =>
    logger.debug({ fault: later }, 'an idempotency key went to a repeat before it was let go'),
  )
  await waitAtMost(left, sharedLimits.natsRequestMs)
}

/**
 * Runs a request with an idempotency key, or sends its first response again. `run` sends the answer, and stores it
 * before its end is sent. Throws what `IdempotencyKeys` and `run` throw.
 */
export const serveIdempotent = async (
  ctx: EdgeContext,
  { keys, logger }: IdempotentParts,
  asked: { readonly key: string; readonly work: KeyedOperation },
  run: (held: KeyLease, work: KeyedOperation) => Promise<void>,
): Promise<void> => {
  const { requestId } = ctx.state
  const { workspaceId } = keyOfContext(ctx)
  const endpoint = ctx.path.toLowerCase().replace(/\/$/, '')
  const begun = await keys.begin({ ...asked, requestId, workspaceId, endpoint, body: jsonOfContext(ctx).value })
  if (begun.type === 'replay') return replay(ctx, begun.requestId, begun.outcome)
  try {
    await run(begun.held, begun.work)
    // A body too large to be stored, whose client left before its end.
    if (!begun.held.isEnded) await begun.held.storeNothing('size')
  } catch (fault) {
    await letGo(begun, asked.work, fault, logger)
    throw fault
  }
}
