import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import { DeliveredReply } from '../canonical/delivered.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import type { StreamRelay, Target } from '../dialect/dialect.ts'
import { EventRelay } from '../dialect/event-relay.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { GenerateContentReader } from './reader.ts'
import { markSignatures, mayHaveSignatures } from './signatures.ts'
import { usageMetadataOf } from './write-usage.ts'

/** An event from the one on that has the reason of the end: it is held until the charge is acknowledged. */
interface Withheld {
  readonly raw: Uint8Array
  readonly json: JsonObject | null
}

const asEvent = (json: JsonObject): Uint8Array => Buffer.from(`data: ${JSON.stringify(json)}\r\n\r\n`)

const isContent = ({ type }: ReplyEvent): boolean => type !== 'start' && type !== 'usage' && type !== 'built_in_calls'

/** Numbers that a JavaScript number would round are in calls and signatures' events alone. */
const parseEvent = (data: string): unknown =>
  data.includes('"functionCall"') || mayHaveSignatures(data) ? parseExactJson(data) : parseJson(data)

/** Relays a stream of Google's own as it is, but for signatures, which get the name of who made them. */
export class GenerateContentRelay extends EventRelay implements StreamRelay {
  readonly delivered = new DeliveredReply()
  readonly #reader: GenerateContentReader
  readonly #owner: string
  #withheld: Withheld[] = []
  /** False where the last event was written anew: then a line feed cut off from it is dropped too. */
  #rawKept = true

  constructor(target: Target) {
    super()
    this.#reader = new GenerateContentReader(target)
    this.#owner = makerOf(target)
  }

  get reportedUsage(): Usage | null {
    return this.#reader.usage
  }

  get isFinished(): boolean {
    return this.#reader.isFinished && this.isUsageOfAll
  }

  get contentIsOver(): boolean {
    return this.#reader.contentIsOver
  }

  closing(counted: Usage | null): Uint8Array {
    const last = this.#withheld.findLastIndex(({ json }) => json !== null)
    const pieces = this.#withheld.map(({ raw, json }, index) =>
      counted !== null && json !== null && index === last
        ? asEvent({ ...json, usageMetadata: usageMetadataOf(counted) })
        : raw,
    )
    return Buffer.concat(pieces)
  }

  protected override take(event: SseEvent): void {
    if (this.state !== 'open') return
    if (event.tail) this.#keepTail(event.raw)
    else if (event.data === null) this.#keepOrWithhold(event.raw, null)
    else this.#takeAnswer(event, event.data, parseEvent(event.data))
  }

  #takeAnswer({ raw }: SseEvent, data: string, json: unknown): void {
    if (!isObject(json)) this.break('not_json')
    else if (json['error']) this.break('error_in_stream')
    else {
      const events = this.#reader.take(json)
      if ('fault' in events) this.break(events.fault)
      else this.#relay(raw, data, json, events)
    }
  }

  #relay(raw: Uint8Array, data: string, json: JsonObject, events: readonly ReplyEvent[]): void {
    for (const event of events) this.#note(event)
    const marked = mayHaveSignatures(data) ? markSignatures(this.#owner, json) : json
    this.#rawKept = marked === json
    this.#keepOrWithhold(marked === json ? raw : asEvent(marked), marked)
  }

  #note(event: ReplyEvent): void {
    if (isContent(event)) this.answering = true
    if (event.type === 'usage') this.noteUsageReported()
    this.delivered.addEvent(event)
  }

  #keepOrWithhold(raw: Uint8Array, json: JsonObject | null): void {
    if (this.#reader.isFinished) {
      this.#withheld.push({ raw, json })
      this.hold(raw.length)
    } else this.keep(raw)
  }

  #keepTail(raw: Uint8Array): void {
    if (!this.#rawKept) return
    const last = this.#withheld.pop()
    if (last === undefined) this.keep(raw)
    else this.#withheld.push({ ...last, raw: Buffer.concat([last.raw, raw]) })
  }

  /** The format has no closing event. */
  protected override conclude(): void {
    if (this.answering && this.#reader.isFinished) this.state = 'done'
    else this.breakEarly()
  }
}
