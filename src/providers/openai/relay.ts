import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson } from '../../json.ts'
import { limits } from '../../limits.ts'
import type { Asked, Delivered, StreamRelay, Target } from '../dialect.ts'
import { type SseEvent, SseEventTooLarge, SseSplitter } from '../sse.ts'
import { DeliveredText } from './delivered.ts'
import { readUsage, searchCalls, usageOnWire } from './usage.ts'

const doneData = '[DONE]'
const doneEvent = Buffer.from(`data: ${doneData}\n\n`)
const blankLine = Buffer.from('\n\n')

const asEvent = (json: JsonObject): Uint8Array => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

/** Views that touch are one view: no copy. */
const joined = (pieces: readonly Uint8Array[]): Uint8Array | null => {
  const [first, ...others] = pieces
  if (first === undefined) return null
  let length = first.length
  for (const piece of others) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== first.byteOffset + length) return Buffer.concat(pieces)
    length += piece.length
  }
  return new Uint8Array(first.buffer, first.byteOffset, length)
}

/** Relays a chat stream: see StreamRelay. Every event is parsed once; its bytes go on as they came. */
export class ChatRelay implements StreamRelay {
  readonly #target: Target
  readonly #asked: Asked
  readonly #wantsUsage: boolean
  readonly #splitter = new SseSplitter()
  readonly #delivered = new DeliveredText()
  #state: StreamRelay['state'] = 'open'
  #fault: string | null = null
  #answering = false
  #reportedUsage: Usage | null = null
  /** What may go to the client. */
  #ready: Uint8Array[] = []
  /** Comments before the first event that is an answer. */
  #heldBytes = 0
  #withheld: Uint8Array[] = []
  /** False where the last event was dropped or written anew: then a line feed cut off from it goes too. */
  #rawKept = true
  /** What every chunk of the stream repeats. */
  #identity: JsonObject = {}

  constructor(target: Target, asked: Asked) {
    this.#target = target
    this.#asked = asked
    this.#wantsUsage = objectOf(asked.body['stream_options'])['include_usage'] === true
  }

  get state(): StreamRelay['state'] {
    return this.#state
  }

  get fault(): string | null {
    return this.#fault
  }

  get answering(): boolean {
    return this.#answering
  }

  get isFinished(): boolean {
    const asked = this.#asked.body['n']
    return this.#state === 'done' || this.#delivered.finishedChoices >= (typeof asked === 'number' ? asked : 1)
  }

  get reportedUsage(): Usage | null {
    return this.#reportedUsage
  }

  get delivered(): Delivered {
    return this.#delivered
  }

  push(bytes: Uint8Array): Uint8Array | null {
    if (this.#state !== 'open') return null
    try {
      for (const event of this.#splitter.push(bytes)) this.#take(event)
    } catch (fault) {
      if (!(fault instanceof SseEventTooLarge)) throw fault
      this.#break('event_too_large')
    }
    return this.#release()
  }

  end(): Uint8Array | null {
    if (this.#state !== 'open') return null
    const last = this.#splitter.end()
    if (last !== null && this.#isWhole(last)) this.#take({ ...last, raw: Buffer.concat([last.raw, blankLine]) })
    if (this.#state === 'open') this.#conclude()
    return this.#release()
  }

  closing(counted: Usage | null): Uint8Array {
    const own = counted !== null && this.#wantsUsage ? [this.#usageChunk(counted)] : []
    return joined([...own, ...(this.#withheld.length === 0 ? [doneEvent] : this.#withheld)]) ?? doneEvent
  }

  /** Nothing is released before the first event that is an answer: until then another candidate may serve. */
  #release(): Uint8Array | null {
    if (!this.#answering) return null
    const bytes = joined(this.#ready)
    this.#ready = []
    return bytes
  }

  #take(event: SseEvent): void {
    if (this.#state === 'broken') return
    if (this.#state === 'done') this.#withheld.push(event.raw)
    else if (event.tail) this.#takeTail(event)
    else if (event.data === null) this.#keepRaw(event)
    else if (event.data === doneData) this.#finish(event)
    else this.#takeChunk(event, parseJson(event.data))
  }

  #takeChunk(event: SseEvent, chunk: unknown): void {
    if (!isObject(chunk)) this.#break('not_json')
    else if (chunk['error'] || event.name === 'error') this.#break('error_in_stream')
    else if (!this.#answering && !this.#startsWith(chunk)) this.#break('not_a_chat_stream')
    else this.#relay(event, chunk)
  }

  #relay(event: SseEvent, chunk: JsonObject): void {
    const choices = listOf(chunk['choices'])
    const usage = chunk['usage']
    if (choices.length > 0) this.#delivered.add(choices, 'delta')
    if (isObject(usage)) this.#noteUsage(usage)
    if (!isObject(usage) || this.#wantsUsage) this.#keepRaw(event)
    else this.#keepWithoutUsage(chunk, choices.length > 0)
  }

  #takeTail(event: SseEvent): void {
    if (this.#rawKept) this.#keep(event.raw)
  }

  #keepRaw(event: SseEvent): void {
    this.#rawKept = true
    this.#keep(event.raw)
  }

  #keepWithoutUsage({ usage: _usage, ...chunk }: JsonObject, hasChoices: boolean): void {
    this.#rawKept = false
    if (hasChoices) this.#keep(asEvent(chunk))
  }

  #startsWith(chunk: JsonObject): boolean {
    if (!Array.isArray(chunk['choices'])) return false
    const { id, created, model } = chunk
    this.#identity = { id, created, model }
    this.#answering = true
    return true
  }

  /** Cumulative where it is repeated: the last one counts. */
  #noteUsage(raw: JsonObject): void {
    const { profile } = this.#target.provider
    this.#reportedUsage = readUsage(raw, profile, searchCalls(this.#target, this.#asked)) ?? this.#reportedUsage
  }

  #keep(bytes: Uint8Array): void {
    this.#ready.push(bytes)
    if (!this.#answering) this.#heldBytes += bytes.length
    if (this.#heldBytes > limits.sseEventBytesMax) this.#break('event_too_large')
  }

  #finish(event: SseEvent): void {
    if (this.#answering) this.#state = 'done'
    else this.#break('empty_answer')
    this.#withheld.push(event.raw)
  }

  #break(fault: string): void {
    this.#state = 'broken'
    this.#fault = fault
  }

  #isWhole(event: SseEvent): boolean {
    return event.data === doneData || (event.data !== null && isObject(parseJson(event.data)))
  }

  /** Some upstreams close without a closing event: every answer finished is an end all the same. */
  #conclude(): void {
    if (this.isFinished) this.#state = 'done'
    else this.#break(this.#answering ? 'ended_early' : 'empty_answer')
  }

  #usageChunk(usage: Usage): Uint8Array {
    return asEvent({
      ...this.#identity,
      object: 'chat.completion.chunk',
      choices: [],
      usage: usageOnWire(usage),
    })
  }
}
