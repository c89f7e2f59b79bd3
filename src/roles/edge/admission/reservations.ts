import type { Slice } from './slice-store.ts'

/** `wantedPicos`: the worst case of the request; `floorPicos`: the least for which it is still admitted. */
export interface Admission {
  readonly requestId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly wantedPicos: bigint
  readonly floorPicos: bigint
}

export interface Reservation {
  /** Null when the request can cost nothing. */
  readonly allowanceId: string | null
  readonly reservedPicos: bigint
}

interface Reserved<Spender> {
  readonly slice: Slice
  readonly spender: Spender
  readonly reservedPicos: bigint
}

export class Reservations<Spender> {
  readonly #byRequest = new Map<string, Reserved<Spender>>()
  #onEnded: (() => void)[] = []

  add(requestId: string, reserved: Reserved<Spender>): Reservation {
    this.#byRequest.set(requestId, reserved)
    return { allowanceId: reserved.slice.hold.holdId, reservedPicos: reserved.reservedPicos }
  }

  take(requestId: string): Reserved<Spender> | undefined {
    const reserved = this.#byRequest.get(requestId)
    if (this.#byRequest.delete(requestId)) this.#reportEnded()
    return reserved
  }

  /** The requests of a slice that covers nothing more: they may never be reported as ended. */
  dropOf(ended: Slice): void {
    for (const [requestId, { slice }] of this.#byRequest) if (slice === ended) this.#byRequest.delete(requestId)
    this.#reportEnded()
  }

  ended(): Promise<void> {
    if (this.#byRequest.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onEnded.push(resolve)
    })
  }

  #reportEnded(): void {
    if (this.#byRequest.size > 0) return
    for (const resolve of this.#onEnded) resolve()
    this.#onEnded = []
  }
}
