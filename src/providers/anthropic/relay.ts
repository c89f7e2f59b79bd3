import type { Usage } from '../../domain/usage/usage.ts'
import { asObject, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import type { StreamRelay } from '../dialect/dialect.ts'
import { EventRelay } from '../dialect/event-relay.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { sseEvent } from '../dialect/sse-event.ts'
import { DeliveredBlocks } from './delivered.ts'
import { withEventMarks } from './signatures.ts'
import { StreamedBlocks } from './streamed-blocks.ts'
import { finalUsageOnWire, hasOutputTokens, mergeUsage, readMessagesUsage, readUsageSoFar } from './usage.ts'

const stopEvent = sseEvent({ type: 'message_stop' })

/** Most events of most streams have text without escapes. Read without parsing, which costs six times as much. */
const textPattern =
  /^\{"type":"content_block_delta","index":\d{1,4},"delta":\{"type":"text_delta","text":"([^"\\\p{Cc}]*)"\} *\} *$/u

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

/** Errors that a caller can react to; those about the account concern the operator. Read 2026-11. */
const callersErrors: readonly unknown[] = [
  ...['invalid_request_error', 'request_too_large', 'rate_limit_error'],
  ...['api_error', 'timeout_error', 'overloaded_error'],
]

const readErrorEvent = ({ error }: JsonObject): JsonObject | null => {
  const { type } = asObject(error)
  return callersErrors.includes(type) ? { error: { type } } : null
}

const isError = (json: JsonObject, name: string | null): boolean =>
  json['type'] === 'error' || name === 'error' || Boolean(json['error'])

export class MessagesRelay extends EventRelay implements StreamRelay {
  readonly delivered = new DeliveredBlocks()
  failedResponse: JsonObject | null = null
  readonly #blocks = new StreamedBlocks()
  readonly #provider: string
  #usage: JsonObject | null = null
  #outputReported = false
  #stopped = false
  #withheld: Withheld[] = []

  constructor(provider: string) {
    super()
    this.#provider = provider
  }

  /** An end without figures does not finish it. */
  get isFinished(): boolean {
    return (this.state === 'done' || this.#stopped) && this.isUsageOfAll
  }

  get contentIsOver(): boolean {
    return this.#stopped || this.#blocks.areOver
  }

  /** Before the end, the input reported by the start. */
  get reportedUsage(): Usage | null {
    const usage = this.#usage ?? {}
    return this.#outputReported ? readMessagesUsage(usage) : readUsageSoFar(usage)
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
    if (event.tail || event.data === null || this.state === 'done') this.#keepOrWithhold(event, noMessage)
    else if (!this.#takeText(event, event.data)) this.#takeMessage(event, parseJson(event.data))
  }

  /** False for an event that may be anything else. */
  #takeText(event: SseEvent, data: string): boolean {
    const text = this.#usage !== null && event.name !== 'error' ? textPattern.exec(data)?.[1] : undefined
    if (text === undefined) return false
    this.answering = true
    this.delivered.addText(text)
    this.#keepOrWithhold(event, noMessage)
    return true
  }

  #takeMessage(event: SseEvent, json: unknown): void {
    if (!isObject(json)) this.break('not_json')
    else if (isError(json, event.name)) {
      if (this.answering) this.failedResponse = readErrorEvent(json)
      this.break('error_in_stream')
    } else if (this.#usage === null && json['type'] !== 'message_start' && json['type'] !== 'ping')
      this.break('not_a_messages_stream')
    else this.#relay(event, json)
  }

  #relay(event: SseEvent, json: JsonObject): void {
    this.#read(json)
    this.#keepOrWithhold({ ...event, raw: withEventMarks(this.#provider, json, event.raw) }, json)
    if (json['type'] !== 'message_stop') return
    if (this.answering) this.state = 'done'
    else this.break('empty_answer')
  }

  #read(json: JsonObject): void {
    const { type } = json
    if (type === 'ping' || type === 'message_stop') return
    if (type === 'message_start') {
      this.#usage = mergeUsage({}, asObject(json['message'])['usage'])
      return
    }
    // An overloaded provider reports it right after the start: anything else is an answer.
    this.answering = true
    this.#blocks.note(json)
    if (type === 'content_block_start') this.delivered.addBlock(asObject(json['content_block']))
    else if (type === 'content_block_delta') this.delivered.addDelta(asObject(json['delta']))
    else if (type === 'message_delta') {
      this.#usage = mergeUsage(this.#usage ?? {}, json['usage'])
      if (hasOutputTokens(json)) {
        this.#outputReported = true
        this.noteUsageReported()
      }
      this.#stopped ||= typeof asObject(json['delta'])['stop_reason'] === 'string'
    }
  }

  /** A tail is the line feed of an event that it was cut off from. */
  #keepOrWithhold({ raw, data, tail }: SseEvent, json: JsonObject): void {
    const cut = tail ? this.#withheld.pop() : undefined
    if (cut !== undefined) this.#withheld.push({ ...cut, raw: Buffer.concat([cut.raw, raw]) })
    else if (tail || (this.#withheld.length === 0 && json['type'] !== 'message_stop' && !isEndWithoutUsage(json)))
      this.keep(raw)
    else {
      this.#withheld.push({ raw, data, json })
      this.hold(raw.length)
    }
  }

  /** Some upstreams close without a closing event: a stop reason counts as an end all the same. */
  protected override conclude(): void {
    if (this.#stopped) this.state = 'done'
    else this.breakEarly()
  }
}
