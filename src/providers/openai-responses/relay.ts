import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson, textOf } from '../../json.ts'
import { limits } from '../../limits.ts'
import type { Asked, Delivered, StreamRelay, Target } from '../dialect.ts'
import { type SseEvent, SseEventTooLarge, SseSplitter } from '../sse.ts'
import { storedIdOf, withUsage } from './answer.ts'
import { DeliveredOutput } from './delivered.ts'
import { countToolCalls, type ToolCalls, ToolTally } from './tool-calls.ts'
import { readUsage } from './usage.ts'

const doneData = '[DONE]'
const blankLine = Buffer.from('\n\n')
const lineFeed = Buffer.from('\n')
const carriageReturn = 13

/** They promise an answer, and are none yet. */
const promises = ['response.created', 'response.queued', 'response.in_progress', 'keepalive']
const ends = ['response.completed', 'response.incomplete']

const asEvent = (event: JsonObject): Uint8Array =>
  Buffer.from(`event: ${textOf(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)

/** The line feed of a CRLF may have been cut off the last event. */
const withLineEnd = (raw: Uint8Array): Uint8Array =>
  raw.at(-1) === carriageReturn && raw.includes(lineFeed[0] ?? 0) ? Buffer.concat([raw, lineFeed]) : raw

interface Terminal {
  readonly raw: Uint8Array
  readonly event: JsonObject
}

/** Relays a responses stream: see StreamRelay. Every event is parsed once; its bytes go on as they came. */
export class ResponsesRelay implements StreamRelay {
  readonly #target: Target
  readonly #asked: Asked
  readonly #splitter = new SseSplitter()
  readonly #tally: ToolTally
  /** As the last event tells them. */
  #finalCalls: ToolCalls | null = null
  readonly #delivered: DeliveredOutput
  #state: StreamRelay['state'] = 'open'
  #fault: string | null = null
  #answering = false
  #reportedUsage: Usage | null = null
  #storedId: string | null = null
  /** What may go to the client. */
  #ready: Uint8Array[] = []
  /** All that came before the first event that is an answer. */
  #heldBytes = 0
  #terminal: Terminal | null = null

  constructor(target: Target, asked: Asked) {
    this.#target = target
    this.#asked = asked
    this.#tally = new ToolTally(asked.body)
    this.#delivered = new DeliveredOutput(() => this.#finalCalls ?? this.#tally.calls)
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

  /** A failed response is at its end too, and may tell what it cost. */
  get isFinished(): boolean {
    return this.#state === 'done' || this.#reportedUsage !== null
  }

  get reportedUsage(): Usage | null {
    return this.#reportedUsage
  }

  get delivered(): Delivered {
    return this.#delivered
  }

  get storedId(): string | null {
    return this.#storedId
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
    if (last?.data != null && isObject(parseJson(last.data)))
      this.#take({ ...last, raw: Buffer.concat([last.raw, blankLine]) })
    if (this.#state === 'open') this.#break(this.#answering ? 'ended_early' : 'empty_answer')
    return this.#release()
  }

  closing(counted: Usage | null): Uint8Array {
    if (this.#terminal === null) throw new Error('a stream is closed after its last event has come')
    const { raw, event } = this.#terminal
    if (counted === null) return withLineEnd(raw)
    return asEvent({ ...event, response: withUsage(objectOf(event['response']), counted) })
  }

  /** Nothing is released before the first event that is an answer: until then another candidate may serve. */
  #release(): Uint8Array | null {
    if (!this.#answering || this.#ready.length === 0) return null
    const [only] = this.#ready
    const bytes = this.#ready.length === 1 && only !== undefined ? only : Buffer.concat(this.#ready)
    this.#ready = []
    return bytes
  }

  /** What stands behind the end, such as a `[DONE]`, goes no further. */
  #take(event: SseEvent): void {
    if (this.#state !== 'open') return
    if (event.data === null) this.#keep(event.raw)
    else if (event.data === doneData) this.#break(this.#answering ? 'ended_early' : 'empty_answer')
    else this.#takeEvent(event, parseJson(event.data))
  }

  #takeEvent(event: SseEvent, json: unknown): void {
    if (!isObject(json)) this.#break('not_json')
    else if (json['type'] === 'error' || json['error'] || event.name === 'error') this.#break('error_in_stream')
    else if (json['type'] === 'response.failed') this.#fail(json)
    else if (!this.#answering && !this.#startsWith(textOf(json['type']))) this.#break('not_a_responses_stream')
    else this.#relay(event, json)
  }

  #startsWith(type: string): boolean {
    const isPromise = promises.includes(type)
    this.#answering = !isPromise && type.startsWith('response.')
    return isPromise || this.#answering
  }

  #relay(event: SseEvent, json: JsonObject): void {
    const response = objectOf(json['response'])
    this.#storedId ??= storedIdOf(this.#asked, response)
    if (ends.includes(textOf(json['type']))) this.#finish(event, json, response)
    else {
      this.#note(json)
      this.#keep(event.raw)
    }
  }

  #note(json: JsonObject): void {
    const { type, output_index: index, item } = json
    if (!isObject(item)) this.#delivered.addDelta(json)
    else if (type === 'response.output_item.added' || type === 'response.output_item.done')
      this.#delivered.setItem(index, item)
    if (type === 'response.output_item.done') this.#tally.add(item)
  }

  #finish(event: SseEvent, json: JsonObject, response: JsonObject): void {
    this.#noteUsage(response)
    this.#terminal = { raw: event.raw, event: json }
    this.#state = 'done'
  }

  /** What failed before it began costs nothing; what failed later may tell its cost. */
  #fail(json: JsonObject): void {
    if (this.#answering) this.#noteUsage(objectOf(json['response']))
    this.#break('response_failed')
  }

  /** The last event repeats the items; some upstreams leave that out. */
  #noteUsage({ usage, output }: JsonObject): void {
    const repeated = listOf(output)
    if (repeated.length > 0) this.#finalCalls = countToolCalls(this.#asked.body, repeated)
    const calls = this.#finalCalls ?? this.#tally.calls
    this.#reportedUsage = readUsage(usage, this.#target.provider.profile, calls)
    if (this.#reportedUsage === null)
      for (const [index, item] of repeated.entries()) if (isObject(item)) this.#delivered.setItem(index, item)
  }

  #keep(bytes: Uint8Array): void {
    this.#ready.push(bytes)
    if (!this.#answering) this.#heldBytes += bytes.length
    if (this.#heldBytes > limits.sseEventBytesMax) this.#break('event_too_large')
  }

  #break(fault: string): void {
    this.#state = 'broken'
    this.#fault = fault
  }
}
