import { findOrCreateWallet, type Ledger } from '../../../domain/ledger/ledger.ts'
import { isUnfunded } from '../../../domain/wallet/wallet.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { type HttpMiddleware, type HttpState, keyOfContext } from '../../../http/context.ts'
import { FairShares } from '../../../runtime/fair-shares.ts'
import { takeTurn } from '../../../runtime/work-turns.ts'
import { cancelAtOnce } from '../../dispatch.ts'
import { type BodyBound, type BodyBoundOf, boundAt } from '../http/request-body.ts'
import { admissionLimits } from './limits.ts'

interface OpenRequestBounds {
  readonly openRequestsMax: number
  readonly workspaceOpenRequestsMax: number
  readonly openBytesMax: number
  readonly workspaceOpenBytesMax: number
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

const othersWait = (): GatewayError =>
  new GatewayError('concurrency_limit_exceeded', 'The open requests that are left here are for other workspaces.', {
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
  readonly #places: FairShares
  readonly #bytes = new Map<string, number>()
  #allBytes = 0

  constructor(bounds: OpenRequestBounds) {
    this.#bounds = bounds
    this.#places = new FairShares(bounds.openRequestsMax, admissionLimits.shareWaitMs)
  }

  /** Throws `concurrency_limit_exceeded` or `no_available_channel`; each call needs its `leave`. */
  enter(workspaceId: string): NonNullable<HttpState['openBytes']> & { readonly leave: () => void } {
    const { workspaceOpenRequestsMax } = this.#bounds
    if (this.#places.of(workspaceId) >= workspaceOpenRequestsMax) throw workspaceIsFull(workspaceOpenRequestsMax)
    if (!this.#places.take(workspaceId)) throw this.#places.isFull ? edgeIsFull() : othersWait()
    let taken = 0
    const count = (bytes: number): void => {
      taken += bytes
      this.#countBytes(workspaceId, bytes)
    }
    const take = (bytes: number, announced = bytes): void => {
      const max = this.#bytesMax()
      if ((this.#bytes.get(workspaceId) ?? 0) + announced > max) {
        count(-taken) // At once: of bodies that arrive together, as many as there is room for are read on.
        throw bytesAreFull(max)
      }
      count(bytes)
    }
    const leave = (): void => {
      this.#places.leave(workspaceId)
      count(-taken)
    }
    return { take, leave }
  }

  #countBytes(workspaceId: string, bytes: number): void {
    if (bytes === 0) return
    const left = (this.#bytes.get(workspaceId) ?? 0) + bytes
    this.#allBytes += bytes
    if (left > 0) this.#bytes.set(workspaceId, left)
    else this.#bytes.delete(workspaceId)
  }

  /** As much as a workspace has must be free for the others: however many are at their bound, the next one has room. */
  #bytesMax(): number {
    const { openBytesMax, workspaceOpenBytesMax } = this.#bounds
    return Math.min(workspaceOpenBytesMax, openBytesMax - this.#allBytes)
  }
}

/** A request is open until its response is sent or its client has left, and all work for it is over. */
export const limitOpenRequests =
  (requests: OpenRequestCounter): HttpMiddleware =>
  async (ctx, next) => {
    const open = requests.enter(keyOfContext(ctx).workspaceId)
    ctx.state.openBytes = open
    try {
      const turn = takeTurn(keyOfContext(ctx).workspaceId)
      if (turn !== undefined) await turn
      await next()
    } finally {
      if (ctx.res.closed) open.leave()
      else ctx.res.once('close', open.leave)
    }
  }

interface FollowedClient {
  /** Fires when the client has left, in its turn; with `cancelAtOnce` where its workspace has too many streams that are read on. */
  readonly gone: AbortSignal
  /** Lets it fire at once where the client has left. */
  readonly settle: () => void
  readonly end: () => void
}

/** Streams that are read on after their clients have left: so many of a workspace, and so many of all, in fair shares. */
export class AbortedStreams {
  readonly #max: number
  readonly #places: FairShares

  constructor(max: number = admissionLimits.abortedStreamsMax, allMax: number = admissionLimits.abortedStreamsAllMax) {
    this.#max = max
    this.#places = new FairShares(allMax, admissionLimits.shareWaitMs)
  }

  follow(workspaceId: string, clientGone: AbortSignal): FollowedClient {
    const followed = new AbortController()
    let [isCounted, hasEnded] = [false, false]
    const abort = (): void => {
      if (hasEnded || followed.signal.aborted) return
      isCounted = this.#places.of(workspaceId) < this.#max && this.#places.take(workspaceId)
      followed.abort(isCounted ? clientGone.reason : cancelAtOnce)
    }
    const leave = (): void => {
      const turn = takeTurn(workspaceId)
      if (turn === undefined) abort()
      else void turn.then(abort)
    }
    const settle = (): void => {
      if (clientGone.aborted) abort()
    }
    const end = (): void => {
      hasEnded = true
      clientGone.removeEventListener('abort', leave)
      if (isCounted) this.#places.leave(workspaceId)
      isCounted = false
    }
    settle()
    if (!clientGone.aborted) clientGone.addEventListener('abort', leave, { once: true })
    return { gone: followed.signal, settle, end }
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
