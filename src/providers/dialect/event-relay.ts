import { isObject, parseJson } from '../../encoding/json.ts'
import type { Delivered, StreamRelay } from './dialect.ts'
import { type SseEvent, SseEventTooLarge, SseSplitter } from './sse.ts'

const blankLine = Buffer.from('\n\n')

/** Adjacent views are merged without a copy. Null where there are none. */
export const joined = (pieces: readonly Uint8Array[]): Uint8Array | null => {
  const first = pieces[0]
  if (first === undefined || pieces.length === 1) return first ?? null
  let length = 0
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== first.byteOffset + length) return Buffer.concat(pieces)
    length += piece.length
  }
  return new Uint8Array(first.buffer, first.byteOffset, length)
}

/** See StreamRelay. A format's subclass interprets its events and decides what is forwarded. */
export abstract class EventRelay
  implements Pick<StreamRelay, 'state' | 'fault' | 'answering' | 'delivered' | 'push' | 'end'>
{
  state: StreamRelay['state'] = 'open'
  fault: string | null = null
  answering = false
  abstract readonly delivered: Delivered
  protected readonly splitter: SseSplitter = new SseSplitter()
  /** The characters delivered when usage was last reported; null before. */
  #charactersAtUsage: number | null = null
  #ready: Uint8Array[] = []
  /** Of what came before the first event that is an answer, and of what is withheld. */
  #heldBytes = 0

  push(bytes: Uint8Array): Uint8Array | null {
    if (this.state !== 'open') return null
    try {
      for (const event of this.splitter.push(bytes)) this.take(event)
    } catch (fault) {
      if (!(fault instanceof SseEventTooLarge)) throw fault
      this.break('event_too_large')
    }
    return this.#release()
  }

  end(): Uint8Array | null {
    if (this.state !== 'open') return null
    const last = this.splitter.end()
    if (last !== null && this.isWhole(last)) this.take({ ...last, raw: Buffer.concat([last.raw, blankLine]) })
    if (this.state === 'open') this.conclude()
    return this.#release()
  }

  /** Also called for events after the one that ended or broke the stream, when they came together. */
  protected abstract take(event: SseEvent): void

  protected conclude(): void {
    this.breakEarly()
  }

  protected isWhole({ data }: SseEvent): boolean {
    return data !== null && isObject(parseJson(data))
  }

  /** `upstreamBytes`: as many of them as the upstream decides. */
  protected keep(bytes: Uint8Array, upstreamBytes: number = bytes.length): void {
    this.#ready.push(bytes)
    if (!this.answering) this.hold(upstreamBytes)
  }

  /** The usage just reported covers all content so far. */
  protected noteUsageReported(): void {
    this.#charactersAtUsage = this.delivered.characters
  }

  /** True while no content followed the last usage. */
  protected get isUsageOfAll(): boolean {
    return this.#charactersAtUsage === this.delivered.characters
  }

  protected hold(bytes: number): void {
    this.#heldBytes += bytes
    if (this.#heldBytes > this.splitter.eventBytesMax) this.break('event_too_large')
  }

  protected break(fault: string): void {
    this.state = 'broken'
    this.fault = fault
  }

  protected breakEarly(): void {
    this.break(this.answering ? 'ended_early' : 'empty_answer')
  }

  /** Nothing is released before the first event that is an answer: until then another candidate may serve. */
  #release(): Uint8Array | null {
    if (!this.answering) return null
    const bytes = joined(this.#ready)
    this.#ready = []
    return bytes
  }
}
