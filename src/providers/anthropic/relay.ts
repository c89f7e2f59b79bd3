import type { Usage } from '../../domain/usage/usage.ts'
import { asObject, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import type { StreamRelay } from '../dialect/dialect.ts'
import { EventRelay } from '../dialect/event-relay.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { sseEvent } from '../dialect/sse-event.ts'
import { DeliveredBlocks } from './delivered.ts'
import { StreamedBlocks } from './streamed-blocks.ts'
import { finalUsageOnWire, hasOutputTokens, mergeUsage, readMessagesUsage, readUsageSoFar } from './usage.ts'

const stopEvent = sseEvent({ type: 'message_stop' })

/** Most events of most streams have text without escapes. Read without parsing, which costs six times as much. */
const textPattern =
  /^\{"type":"content_block_delta","index":\d{1,4},"delta":\{"type":"text_delta","text":"([^"\\\p{Cc}]*)"\} *\} *$/u

/** An event that is held until the charge is acknowledged. */
interface Withheld {
  readonly raw: Uint8Array
  readonly data: string | null
  readonly json: JsonObject
}

const noMessage: JsonObject = {}

/** An end whose usage is missing waits for the counted one. */
const isEndWithoutUsage = (json: JsonObject): boolean => json['type'] === 'message_delta' && !hasOutputTokens(json)

const withUsage = ({ data }: Withheld, counted: Usage): Uint8Array => {
  const json = asObject(parseExactJson(data ?? ''))
  return Buffer.from(sseEvent({ ...json, usage: { ...asObject(json['usage']), ...finalUsageOnWire(counted) } }))
}

const carriageReturn = 13

/** Completes a last event whose CRLF was cut before the line feed: the client need not wait for it. */
const withWholeEnd = (bytes: Uint8Array): Uint8Array =>
  bytes.at(-1) === carriageReturn ? Buffer.concat([bytes, Buffer.from('\n')]) : bytes

const isError = (json: JsonObject, name: string | null): boolean =>
  json['type'] === 'error' || name === 'error' || Boolean(json['error'])

export class MessagesRelay extends EventRelay implements StreamRelay {
  readonly delivered = new DeliveredBlocks()
  readonly #blocks = new StreamedBlocks()
  #started = false
  #usage: JsonObject = {}
  #outputReported = false
  #stopped = false
  #withheld: Withheld[] = []

  /** An end without figures does not finish it. */
  get isFinished(): boolean {
    return (this.state === 'done' || this.#stopped) && this.isUsageOfAll
  }

  get contentIsOver(): boolean {
    return this.#stopped || this.#blocks.areOver
  }

  /** Before the end, the input reported by the start. */
  get reportedUsage(): Usage | null {
    return this.#outputReported ? readMessagesUsage(this.#usage) : readUsageSoFar(this.#usage)
  }

  closing(counted: Usage | null): Uint8Array {
    const pieces = this.#withheld.map((event) =>
      counted !== null && isEndWithoutUsage(event.json) ? withUsage(event, counted) : event.raw,
    )
    const hasStop = this.#withheld.some(({ json }) => json['type'] === 'message_stop')
    return withWholeEnd(Buffer.concat(hasStop ? pieces : [...pieces, Buffer.from(stopEvent)]))
  }

  protected override take(event: SseEvent): void {
    if (this.state === 'broken') return
    if (event.tail) this.#keepTail(event)
    else if (event.data === null || this.state === 'done') this.#keepOrWithhold(event, noMessage)
    else if (!this.#takeText(event, event.data)) this.#takeMessage(event, parseJson(event.data))
  }

  /** False for an event that may be anything else. */
  #takeText(event: SseEvent, data: string): boolean {
    const text = this.#started && event.name !== 'error' ? textPattern.exec(data)?.[1] : undefined
    if (text === undefined) return false
    this.answering = true
    this.delivered.addText(text)
    this.#keepOrWithhold(event, noMessage)
    return true
  }

  #takeMessage(event: SseEvent, json: unknown): void {
    if (!isObject(json)) this.break('not_json')
    else if (isError(json, event.name)) this.break('error_in_stream')
    else if (!this.#started && json['type'] !== 'message_start' && json['type'] !== 'ping')
      this.break('not_a_messages_stream')
    else this.#relay(event, json)
  }

  #relay(event: SseEvent, json: JsonObject): void {
    this.#read(json)
    this.#keepOrWithhold(event, json)
    if (json['type'] !== 'message_stop') return
    if (this.answering) this.state = 'done'
    else this.break('empty_answer')
  }

  #read(json: JsonObject): void {
    const { type } = json
    if (type === 'ping' || type === 'message_stop') return
    if (type === 'message_start') {
      this.#started = true
      this.#usage = mergeUsage({}, asObject(json['message'])['usage'])
      return
    }
    // An overloaded provider reports it right after the start: anything else is an answer.
    this.answering = true
    this.#blocks.note(json)
    if (type === 'content_block_start') this.delivered.addBlock(asObject(json['content_block']))
    else if (type === 'content_block_delta') this.delivered.addDelta(asObject(json['delta']))
    else if (type === 'message_delta') this.#readEnd(json)
  }

  #readEnd(json: JsonObject): void {
    this.#usage = mergeUsage(this.#usage, json['usage'])
    if (hasOutputTokens(json)) {
      this.#outputReported = true
      this.noteUsageReported()
    }
    if (typeof asObject(json['delta'])['stop_reason'] === 'string') this.#stopped = true
  }

  #keepOrWithhold({ raw, data }: SseEvent, json: JsonObject): void {
    if (this.#withheld.length === 0 && json['type'] !== 'message_stop' && !isEndWithoutUsage(json)) this.keep(raw)
    else {
      this.#withheld.push({ raw, data, json })
      this.hold(raw.length)
    }
  }

  /** The line feed follows the event that it was cut off from. */
  #keepTail({ raw }: SseEvent): void {
    const last = this.#withheld.pop()
    if (last === undefined) this.keep(raw)
    else this.#withheld.push({ ...last, raw: Buffer.concat([last.raw, raw]) })
  }

  /** Some upstreams close without a closing event: a stop reason counts as an end all the same. */
  protected override conclude(): void {
    if (this.#stopped) this.state = 'done'
    else this.breakEarly()
  }
}
