import { GatewayError } from '../../errors/gateway-error.ts'

export interface OpenRequestBounds {
  readonly openRequestsMax: number
  readonly workspaceOpenRequestsMax: number
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

/** Bounds memory, and keeps one workspace from using all of it. */
export class OpenRequestCounter {
  readonly #bounds: OpenRequestBounds
  readonly #byWorkspace = new Map<string, number>()
  #all = 0

  constructor(bounds: OpenRequestBounds) {
    this.#bounds = bounds
  }

  /** Throws `concurrency_limit_exceeded` or `no_available_channel`; each call needs its `leave`. */
  enter(workspaceId: string): void {
    const { openRequestsMax, workspaceOpenRequestsMax } = this.#bounds
    const open = this.#byWorkspace.get(workspaceId) ?? 0
    if (open >= workspaceOpenRequestsMax) throw workspaceIsFull(workspaceOpenRequestsMax)
    if (this.#all >= openRequestsMax) throw edgeIsFull()
    this.#all += 1
    this.#byWorkspace.set(workspaceId, open + 1)
  }

  leave(workspaceId: string): void {
    const open = this.#byWorkspace.get(workspaceId) ?? 0
    this.#all -= 1
    if (open > 1) this.#byWorkspace.set(workspaceId, open - 1)
    else this.#byWorkspace.delete(workspaceId)
  }
}
