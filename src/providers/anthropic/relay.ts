import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, objectOf, parseJson } from '../../json.ts'
import { limits } from '../../limits.ts'
import { contradicts } from '../delivered.ts'
import type { Delivered, StreamRelay } from '../dialect.ts'
import { type SseEvent, SseEventTooLarge, SseSplitter } from '../sse.ts'
import { DeliveredBlocks } from './delivered.ts'
import { sseEvent } from './sse-event.ts'
import { finalUsageOnWire, mergeUsage, readUsage, tellsOutput } from './usage.ts'

const blankLine = Buffer.from('\n\n')
const stopEvent = sseEvent({ type: 'message_stop' })

/** An event that stays back until the bill is acknowledged. */
interface Withheld {
  readonly raw: Uint8Array
  readonly json: JsonObject
}

/** An end whose usage is missing waits for ours. */
const isUntoldEnd = (json: JsonObject): boolean => json['type'] === 'message_delta' && !tellsOutput(json)

const withUsage = (json: JsonObject, counted: Usage): Uint8Array =>
  Buffer.from(sseEvent({ ...json, usage: { ...objectOf(json['usage']), ...finalUsageOnWire(counted) } }))

const carriageReturn = 13

/** Nobody waits for a line feed that was cut off the last event. */
const withWholeEnd = (bytes: Uint8Array): Uint8Array =>
  bytes.at(-1) === carriageReturn ? Buffer.concat([bytes, Buffer.from('\n')]) : bytes

const isError = (json: JsonObject, name: string | null): boolean =>
  json['type'] === 'error' || name === 'error' || Boolean(json['error'])

/** Relays a messages stream: see StreamRelay. Every event is parsed once; its bytes go on as they came. */
export class MessagesRelay implements StreamRelay {
  readonly #splitter = new SseSplitter()
  readonly #delivered = new DeliveredBlocks()
  #state: StreamRelay['state'] = 'open'
  #fault: string | null = null
  #started = false
  #answering = false
  /** All that the usage of the events says, merged. */
  #usage: JsonObject = {}
  /** The figures of the end are told, not only those of the start. */
  #outputTold = false
  #stopped = false
  /** What may go to the client. */
  #ready: Uint8Array[] = []
  /** Of the start while the candidate may still fail, and of what is withheld. */
  #heldBytes = 0
  #withheld: Withheld[] = []

  get state(): StreamRelay['state'] {
    return this.#state
  }

  get fault(): string | null {
    return this.#fault
  }

  get answering(): boolean {
    return this.#answering
  }

  /** An end without figures, or with ones that cannot be, is none: the output is counted then. */
  get isFinished(): boolean {
    if (!this.#outputTold || !(this.#stopped || this.#state === 'done')) return false
    const told = readUsage(this.#usage)
    return told === null || !contradicts(told, this.#delivered)
  }

  /** Before the end the figures of the start, with the searches that were seen to succeed. */
  get reportedUsage(): Usage | null {
    const told = readUsage(this.#usage)
    if (told === null || this.isFinished) return told
    const searches = Math.max(told.toolCalls['web_search'] ?? 0, this.#delivered.toolCalls['web_search'] ?? 0)
    return searches === 0 ? told : { ...told, toolCalls: { web_search: searches } }
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
    if (last !== null && last.data !== null && isObject(parseJson(last.data)))
      this.#take({ ...last, raw: Buffer.concat([last.raw, blankLine]) })
    if (this.#state === 'open') this.#conclude()
    return this.#release()
  }

  closing(counted: Usage | null): Uint8Array {
    const pieces = this.#withheld.map(({ raw, json }) =>
      counted !== null && isUntoldEnd(json) ? withUsage(json, counted) : raw,
    )
    const hasStop = this.#withheld.some(({ json }) => json['type'] === 'message_stop')
    return withWholeEnd(Buffer.concat(hasStop ? pieces : [...pieces, Buffer.from(stopEvent)]))
  }

  /** Nothing is released before the first event that is an answer: until then another candidate may serve. */
  #release(): Uint8Array | null {
    const [first, ...others] = this.#ready
    if (!this.#answering || first === undefined) return null
    this.#ready = []
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }

  #take(event: SseEvent): void {
    if (this.#state === 'broken') return
    if (event.tail) this.#keepTail(event)
    else if (event.data === null || this.#state === 'done') this.#keep(event, {})
    else this.#takeMessage(event, parseJson(event.data))
  }

  #takeMessage(event: SseEvent, json: unknown): void {
    if (!isObject(json)) this.#break('not_json')
    else if (isError(json, event.name)) this.#break('error_in_stream')
    else if (!this.#started && json['type'] !== 'message_start' && json['type'] !== 'ping')
      this.#break('not_a_messages_stream')
    else this.#relay(event, json)
  }

  #relay(event: SseEvent, json: JsonObject): void {
    this.#read(json)
    this.#keep(event, json)
    if (json['type'] !== 'message_stop') return
    if (this.#answering) this.#state = 'done'
    else this.#break('empty_answer')
  }

  #read(json: JsonObject): void {
    const { type } = json
    if (type === 'ping' || type === 'message_stop') return
    if (type === 'message_start') {
      this.#started = true
      this.#usage = mergeUsage({}, objectOf(json['message'])['usage'])
      return
    }
    // An overloaded provider says so right behind the start: whatever else comes is an answer.
    this.#answering = true
    if (type === 'content_block_start') this.#delivered.addBlock(objectOf(json['content_block']))
    else if (type === 'content_block_delta') this.#delivered.addDelta(objectOf(json['delta']))
    else if (type === 'message_delta') this.#readEnd(json)
  }

  #readEnd(json: JsonObject): void {
    this.#usage = mergeUsage(this.#usage, json['usage'])
    if (tellsOutput(json)) this.#outputTold = true
    if (typeof objectOf(json['delta'])['stop_reason'] === 'string') this.#stopped = true
  }

  #keep({ raw }: SseEvent, json: JsonObject): void {
    const staysBack = this.#withheld.length > 0 || json['type'] === 'message_stop' || isUntoldEnd(json)
    if (staysBack) this.#withheld.push({ raw, json })
    else this.#ready.push(raw)
    if (staysBack || !this.#answering) this.#heldBytes += raw.length
    if (this.#heldBytes > limits.sseEventBytesMax) this.#break('event_too_large')
  }

  /** The line feed goes with the event that it was cut off. */
  #keepTail({ raw }: SseEvent): void {
    const last = this.#withheld.pop()
    if (last === undefined) this.#ready.push(raw)
    else this.#withheld.push({ ...last, raw: Buffer.concat([last.raw, raw]) })
  }

  #break(fault: string): void {
    this.#state = 'broken'
    this.#fault = fault
  }

  /** Some upstreams close without a closing event: a reason to stop is an end all the same. */
  #conclude(): void {
    if (this.#stopped) this.#state = 'done'
    else this.#break(this.#answering ? 'ended_early' : 'empty_answer')
  }
}
