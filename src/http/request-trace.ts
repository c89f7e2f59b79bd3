import type { Socket } from 'node:net'
import type { RoutePlan } from '../domain/routing/plan.ts'
import type { ErrorCode } from '../errors/gateway-error.ts'

/** Who answered, by the names of the catalogue: what the caller wrote stays out. */
export interface Server {
  readonly model: string
  readonly provider?: string | undefined
  readonly level?: number | undefined
}

/** What is noted of one request on its way; instants are those of `performance.now()`. */
export class RequestTrace {
  readonly requestId: string
  readonly startedMs = performance.now()
  authenticatedMs: number | null = null
  admittedMs: number | null = null
  routedMs: number | null = null
  endedMs: number | null = null
  /** The connection went before the answer had its end. */
  isClientGone = false
  server: Server | null = null
  taskId: string | undefined
  /** Its end is in the ledger. */
  isClosed = false
  /** USD, as the ledger has it; undefined where it has none. */
  charge: string | undefined
  /** Of the error that the client received. */
  code: ErrorCode | undefined
  readonly #socket: Socket
  readonly #bytesBefore: number

  constructor(requestId: string, socket: Socket) {
    this.requestId = requestId
    this.#socket = socket
    this.#bytesBefore = socket.bytesWritten
  }

  /** Bytes of the answer as they went out, its head included. */
  get bytes(): number {
    return this.#socket.bytesWritten - this.#bytesBefore
  }

  authenticated(): void {
    this.authenticatedMs = performance.now()
  }

  admitted(): void {
    this.admittedMs = performance.now()
  }

  routed(): void {
    this.routedMs = performance.now()
  }

  ended(isClientGone: boolean): void {
    this.endedMs = performance.now()
    this.isClientGone = isClientGone
  }

  /** A video, by the model that its task was taken for. */
  accepted({ taskId, model }: { readonly taskId: string; readonly model: string }): void {
    this.taskId = taskId
    this.server = { model }
  }

  /** Of a plan, the model that served, or failed last. */
  servedBy({ candidates }: RoutePlan, { model, level }: { readonly model: string; readonly level: number }): void {
    const provider = candidates.find((candidate) => candidate.level === level)?.provider
    this.server = { model, provider, level }
  }
}
