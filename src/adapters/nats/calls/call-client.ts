import type { NatsConnection } from '@nats-io/transport-node'
import type { AnswerPart, Dispatch } from '../../../roles/dispatch.ts'
import type { Clock, NewId } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { TransientMap } from '../../../runtime/transient-map.ts'
import { natsLimits } from '../limits.ts'
import { ClientCall, type ClientCallParts, type Opened } from './client-call.ts'
import { encodeCall, encodeLargeCall } from './contents.ts'
import type { CallLink } from './link.ts'
import { Links } from './links.ts'
import {
  cancelReasons,
  decodeCredit,
  encodeOpening,
  isVersionRefusal,
  openingHeaderBytes,
  openingVersion,
  type Packet,
  protocolVersion,
} from './message.ts'
import { PendingCalls } from './pending-calls.ts'
import { buildCallSubjects, type CallSubjects } from './subjects.ts'

export interface CallOptions {
  /** Closed by the caller, afterwards. Not the log's connection: large answers would delay its frames. */
  readonly connection: NatsConnection
  readonly name: string
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
}

export interface CallClient {
  readonly dispatch: Dispatch
  close(): Promise<void>
}

const callNumberMax = 2 ** 32 - 1
const sweepTicks = 10 // Open calls are checked against their deadlines once in so many ticks.

const otherVersion = (version: number): Error =>
  new Error(`a proxy speaks version ${version} of the calls, not ${protocolVersion}`)

class NatsCallClient implements CallClient {
  readonly #options: CallOptions
  readonly #subjects: CallSubjects
  readonly #links: Links
  readonly #callParts: ClientCallParts
  readonly #calls = new TransientMap<number, ClientCall>()
  readonly #pending: PendingCalls
  /** Wraps after weeks, when the call that had the number has long ended. */
  #lastNumber = 0
  #ticks = 0
  #isClosed = false

  constructor(options: CallOptions) {
    this.#options = options
    this.#subjects = buildCallSubjects(options.name)
    this.#callParts = {
      nowMs: options.clock,
      open: (call, request) => this.#open(call, encodeCall(request, options.clock())),
      forget: (number) => {
        this.#calls.delete(number)
        this.#pending.forget(number)
      },
    }
    this.#links = new Links({
      ...options,
      subjects: this.#subjects,
      side: 'edge',
      id: options.newId(),
      onUnknownCall: (link, packet) => this.#receiveUnknown(link, packet),
      onOpeningRefused: (call, refusal) => this.#refuse(call, refusal),
      onTick: () => this.#tick(),
      onReconnect: () => this.#pending.sendUnsent(),
    })
    const { time, table } = this.#links
    this.#pending = new PendingCalls({
      nowMs: () => time.elapsedMs,
      send: (number, opening) =>
        this.#links.publish(this.#subjects.openings, opening, this.#links.subjectOf(String(number))),
      // An edge that has just started has received from none yet.
      mayHaveProxy: () => table.all.length > 0 || time.elapsedMs < natsLimits.callsAbsentMs,
      pingProxies: () => {
        for (const link of table.all) link.ping()
      },
    })
  }

  readonly dispatch: Dispatch = (...dispatched) =>
    (dispatched[0].bodyBytes ?? 0) > sharedLimits.turnBytes
      ? this.#dispatchLarge(dispatched)
      : new ClientCall(this.#callParts, dispatched)

  async close(): Promise<void> {
    this.#isClosed = true
    this.#pending.close()
    for (const call of [...this.#calls.values()]) call.apply({ type: 'abandoned' })
    await this.#links.close()
  }

  async *#dispatchLarge(dispatched: Parameters<Dispatch>): AsyncGenerator<AnswerPart, void> {
    const encoded = [await encodeLargeCall(dispatched[0], this.#options.clock)]
    const open = (call: ClientCall) => this.#open(call, encoded.pop()!) // Held no longer than until it is sent.
    yield* new ClientCall({ ...this.#callParts, open }, dispatched)
  }

  #open(call: ClientCall, encoded: Buffer): Opened | 'too_large' | 'refused' {
    if (encoded.length > natsLimits.callsCallBytesMax) return 'too_large'
    if (this.#isClosed) return 'refused'
    this.#lastNumber = (this.#lastNumber % callNumberMax) + 1
    const number = this.#lastNumber
    const firstPiece = encoded.subarray(0, natsLimits.callsMessageBytesMax - openingHeaderBytes)
    const creditBytes = natsLimits.callsWindowBytes
    const opening = encodeOpening({ call: number, creditBytes, totalBytes: encoded.length, firstPiece })
    this.#calls.set(number, call)
    this.#pending.open(number, call, opening)
    return { number, rest: encoded.subarray(firstPiece.length), link: null }
  }

  #receiveUnknown(link: CallLink, { call, kind, payload }: Packet): void {
    if (kind !== 'accepted') return
    const accepted = this.#pending.take(call)
    if (accepted !== undefined) accepted.accept(link, decodeCredit(payload))
    else link.write({ call, kind: 'cancel', payload: cancelReasons.clientGone })
  }

  #refuse(number: number, refusal: Uint8Array | null): void {
    if (refusal === null) this.#pending.refuse(number)
    else if (isVersionRefusal(refusal)) this.#pending.refuse(number, otherVersion(openingVersion(refusal)))
    else this.#options.logger.log('dispatch.malformed_refusal', { number, bytes: refusal.length })
  }

  #tick(): void {
    this.#pending.tick()
    this.#ticks += 1
    if (this.#ticks % sweepTicks !== 0) return
    const nowMs = performance.now()
    for (const call of this.#calls.values())
      if (nowMs >= call.due.ms) call.apply({ type: 'overdue', isComplete: call.due.isComplete })
  }
}

export const openCallClient = (options: CallOptions): CallClient => new NatsCallClient(options)
