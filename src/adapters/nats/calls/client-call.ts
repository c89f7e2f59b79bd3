import {
  type AnswerPart,
  cancelAtOnce,
  type Dispatch,
  DispatchLost,
  type RoutedRequest,
} from '../../../roles/dispatch.ts'
import type { EndableCall } from '../../../roles/open-calls.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import { ReaderQueue } from '../../reader-queue.ts'
import { natsLimits } from '../limits.ts'
import { type CallEvent, type CallPhase, nextCallStep } from './call-state.ts'
import { decodeFault, decodeHead } from './contents.ts'
import { Inflow, Outflow } from './flow.ts'
import type { CallLink, LinkedCall } from './link.ts'
import { cancelReasons, decodeCredit, noBytes, type Packet } from './message.ts'

export interface Opened {
  readonly number: number
  readonly rest: Uint8Array
  readonly link: CallLink | null
}

export interface ClientCallParts {
  readonly nowMs: () => number
  readonly open: (call: ClientCall, request: RoutedRequest) => Opened | 'too_large' | 'refused'
  readonly forget: (number: number) => void
}

type Result = IteratorResult<AnswerPart, undefined>

const nothing: Result = { done: true, value: undefined }

const cancelPayload = (cancel: 'client' | 'shutdown', { reason }: AbortSignal): Uint8Array => {
  if (cancel === 'shutdown') return cancelReasons.shutdown
  return reason === cancelAtOnce ? cancelReasons.cancelAtOnce : cancelReasons.clientGone
}

/** A call at its edge, as returned by `dispatch`. Sent at the first `next`. One reader, one `next` at a time. */
export class ClientCall implements AsyncIterableIterator<AnswerPart, undefined>, LinkedCall, EndableCall {
  due: { readonly ms: number; readonly isComplete: boolean }
  readonly #parts: ClientCallParts
  readonly #dispatched: Parameters<Dispatch>
  readonly #applySignals = (): void => {
    const [{ capturedBytesMax }, clientGone, openCalls] = this.#dispatched
    if (clientGone.aborted) this.apply({ type: 'client_gone', isCaptured: capturedBytesMax !== undefined })
    else if (openCalls?.isShutDown === true) this.shutDown()
  }
  readonly #answer = new ReaderQueue<AnswerPart>((part) => {
    if (part.type === 'bytes' && this.#phase !== 'over') this.#inflow?.consume(part.bytes)
  })
  readonly #ended = Promise.withResolvers<void>()
  #phase: CallPhase = 'new'
  #opened: Opened | null = null
  #outflow: Outflow | null = null
  #inflow: Inflow | null = null

  constructor(parts: ClientCallParts, dispatched: Parameters<Dispatch>) {
    this.#parts = parts
    this.#dispatched = dispatched
    const leftMs = dispatched[0].deadlineMs - parts.nowMs()
    const ms = performance.now() + leftMs + sharedLimits.closingAckMs + natsLimits.callsEndLateMs
    this.due = { ms, isComplete: false }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#phase === 'new' && this.#opened === null) this.#open()
    const value = this.#answer.shift()
    if (value !== undefined) return Promise.resolve({ done: false, value })
    if (!this.#answer.isAwaited) return this.#answer.wait()
    return Promise.reject(new Error('an answer is read by one reader, one part at a time'))
  }

  /**
   * Resolves when the proxy has ended the call: until it is billed the request keeps what it holds. Rejects with
   * `DispatchLost`, if no read did before, where the proxy is gone.
   */
  async return(): Promise<Result> {
    this.apply({ type: 'reader_ended' })
    await this.#ended.promise
    this.#answer.takeAll()
    const fault = this.#answer.takeFault()
    if (fault instanceof DispatchLost) throw fault
    return nothing
  }

  accept(link: CallLink, creditBytes: number): void {
    const { number, rest } = this.#opened!
    this.#opened = { number, rest: noBytes, link }
    this.#inflow = new Inflow(link, number)
    link.calls.set(number, this)
    this.apply({ type: 'accepted', isWhole: rest.length === 0 })
    this.#applySignals()
    if (this.#phase !== 'sending') return
    this.#outflow = new Outflow(link, number, 'piece', creditBytes)
    void Promise.resolve(this.#outflow.send(rest)).then(() => this.apply({ type: 'rest_sent' }))
  }

  receive({ kind, payload }: Packet): void {
    try {
      if (kind === 'end') this.apply({ type: 'ended', fault: null })
      else if (kind === 'fault')
        this.apply({ type: 'ended', fault: this.#phase === 'left' ? null : decodeFault(payload) })
      else if (kind === 'credit') this.#outflow?.grant(decodeCredit(payload))
      else if (kind === 'head') {
        if (!this.#dispatched[0].stream)
          this.due = { ms: performance.now() + sharedLimits.answerReadMs + natsLimits.callsEndLateMs, isComplete: true }
        if (this.#phase !== 'left') this.#answer.push(decodeHead(payload))
      } else if (kind === 'bytes' && this.#phase !== 'left')
        // Copied where it waits: a view would keep the whole received buffer alive.
        this.#answer.push({ type: 'bytes', bytes: this.#answer.isAwaited ? payload : Buffer.from(payload) })
    } catch (cause) {
      this.apply({ type: 'unreadable', cause })
    }
  }

  connectionLost(): void {
    this.apply({ type: 'connection_lost' })
  }

  /** On shutdown of the edge. A proxy that has the whole call decides how the answer ends, and records it. */
  shutDown(): void {
    this.apply({ type: 'shut_down' })
  }

  apply(event: CallEvent): void {
    if (this.#phase === 'over') return
    const [, clientGone, openCalls] = this.#dispatched
    const { phase, cancel, fault } = nextCallStep(this.#phase, event)
    const { number = 0, link = null } = this.#opened ?? {}
    // Not before a proxy has accepted: a late acceptance is answered with `cancel` too.
    if (cancel !== null) link?.write({ call: number, kind: 'cancel', payload: cancelPayload(cancel, clientGone) })
    this.#phase = phase
    if (phase === 'left') this.#answer.takeAll()
    if (event.type === 'postponed') this.#applySignals()
    if (phase !== 'over') return
    clientGone.removeEventListener('abort', this.#applySignals)
    openCalls?.leave(this)
    this.#outflow?.stop()
    link?.calls.delete(number)
    this.#parts.forget(number)
    this.#answer.end(fault)
    this.#ended.resolve()
  }

  #open(): void {
    this.#applySignals()
    if (this.#phase !== 'new') return
    const [call, clientGone, openCalls] = this.#dispatched
    const opened = this.#parts.open(this, call)
    if (typeof opened === 'string') {
      this.apply({ type: opened })
      return
    }
    this.#opened = opened
    this.apply({ type: 'opened' })
    clientGone.addEventListener('abort', this.#applySignals)
    openCalls?.enter(this)
  }
}
