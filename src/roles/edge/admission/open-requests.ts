import { findOrCreateWallet, type Ledger } from '../../../domain/ledger/ledger.ts'
import { isUnfunded } from '../../../domain/wallet/wallet.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { type HttpMiddleware, type HttpState, keyOfContext } from '../../../http/context.ts'
import { cancelAtOnce } from '../../dispatch.ts'
import { type BodyBound, type BodyBoundOf, boundAt } from '../http/request-body.ts'
import { admissionLimits } from './limits.ts'

interface OpenRequestBounds {
  readonly openRequestsMax: number
  readonly workspaceOpenRequestsMax: number
  readonly openBytesMax: number
  readonly workspaceOpenBytesMax: number
}

interface Open {
  requests: number
  bytes: number
}

const retryAfterSeconds = 1

const edgeIsFull = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway serves as many requests as it can. Send the request again.', {
    retryAfterSeconds,
  })

const workspaceIsFull = (max: number): GatewayError =>
  new GatewayError('concurrency_limit_exceeded', `A workspace has at most ${max} requests open here at once.`, {
    retryAfterSeconds,
  })

const bytesAreFull = (max: number): GatewayError =>
  new GatewayError(
    'byte_limit_exceeded',
    `The bodies of the workspace's open requests may have ${max} bytes here at the moment. Send the request again when others have ended.`,
    { retryAfterSeconds },
  )

export class OpenRequestCounter {
  readonly #bounds: OpenRequestBounds
  readonly #byWorkspace = new Map<string, Open>()
  readonly #all: Open = { requests: 0, bytes: 0 }

  constructor(bounds: OpenRequestBounds) {
    this.#bounds = bounds
  }

  /** Throws `concurrency_limit_exceeded` or `no_available_channel`; each call needs its `leave`. */
  enter(workspaceId: string): NonNullable<HttpState['openBytes']> & { readonly leave: () => void } {
    const { openRequestsMax, workspaceOpenRequestsMax } = this.#bounds
    const open = this.#byWorkspace.get(workspaceId) ?? { requests: 0, bytes: 0 }
    if (open.requests >= workspaceOpenRequestsMax) throw workspaceIsFull(workspaceOpenRequestsMax)
    if (this.#all.requests >= openRequestsMax) throw edgeIsFull()
    this.#byWorkspace.set(workspaceId, open)
    const counts = [open, this.#all]
    for (const count of counts) count.requests += 1
    let taken = 0
    const take = (bytes: number, announced = bytes): void => {
      this.#requireRoom(open, announced)
      taken += bytes
      for (const count of counts) count.bytes += bytes
    }
    const leave = (): void => {
      for (const count of counts) {
        count.requests -= 1
        count.bytes -= taken
      }
      if (open.requests === 0) this.#byWorkspace.delete(workspaceId)
    }
    return { take, leave }
  }

  /** As much as a workspace has must be free for the others: however many are at their bound, the next one has room. */
  #requireRoom({ bytes: held }: Open, bytes: number): void {
    const { openBytesMax, workspaceOpenBytesMax } = this.#bounds
    const max = Math.min(workspaceOpenBytesMax, openBytesMax - this.#all.bytes)
    if (held + bytes > max) throw bytesAreFull(max)
  }
}

/** A request is open until its response is sent or its client has left, and all work for it is over. */
export const limitOpenRequests =
  (requests: OpenRequestCounter): HttpMiddleware =>
  async (ctx, next) => {
    const open = requests.enter(keyOfContext(ctx).workspaceId)
    ctx.state.openBytes = open
    const closed = new Promise<void>((resolve) => ctx.res.once('close', resolve))
    try {
      await next()
    } finally {
      void closed.then(open.leave)
    }
  }

interface FollowedClient {
  /** Fires when the client leaves; with `cancelAtOnce` where its workspace has too many streams that are read on. */
  readonly gone: AbortSignal
  readonly end: () => void
}

/** Streams that are read on after their clients have left, by workspace. */
export class AbortedStreams {
  readonly #max: number
  readonly #byWorkspace = new Map<string, number>()

  constructor(max: number = admissionLimits.abortedStreamsMax) {
    this.#max = max
  }

  follow(workspaceId: string, clientGone: AbortSignal): FollowedClient {
    const followed = new AbortController()
    let isCounted = false
    const abort = (): void => {
      const readOn = this.#byWorkspace.get(workspaceId) ?? 0
      isCounted = readOn < this.#max
      if (isCounted) this.#byWorkspace.set(workspaceId, readOn + 1)
      followed.abort(isCounted ? clientGone.reason : cancelAtOnce)
    }
    const end = (): void => {
      clientGone.removeEventListener('abort', abort)
      if (isCounted) this.#end(workspaceId)
      isCounted = false
    }
    if (clientGone.aborted) abort()
    else clientGone.addEventListener('abort', abort, { once: true })
    return { gone: followed.signal, end }
  }

  #end(workspaceId: string): void {
    const readOn = (this.#byWorkspace.get(workspaceId) ?? 0) - 1
    if (readOn > 0) this.#byWorkspace.set(workspaceId, readOn)
    else this.#byWorkspace.delete(workspaceId)
  }
}

const unfunded: BodyBound = {
  bytesMax: admissionLimits.unfundedBodyBytesMax,
  refusal: () =>
    new GatewayError(
      'insufficient_user_quota',
      `The workspace has no money left, and its requests may have ${admissionLimits.unfundedBodyBytesMax} bytes until it has. Add credit and try again.`,
    ),
}

/** A small bound for a workspace without credit: a body that cannot be paid for is not read. */
export const boundByMoney = (ledger: Ledger, bytesMax: number): BodyBoundOf => {
  const ordinary = boundAt(bytesMax)
  return (ctx) => (isUnfunded(findOrCreateWallet(ledger, keyOfContext(ctx).workspaceId)) ? unfunded : ordinary(ctx))
}
