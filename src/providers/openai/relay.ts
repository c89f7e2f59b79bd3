import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { EventRelay, joined } from '../dialect/event-relay.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { DeliveredText } from './delivered.ts'
import { chatUsageOnWire, countChatSearchCalls, readChatUsage } from './usage.ts'
import { withoutUsage } from './without-usage.ts'

const doneData = '[DONE]'
const doneEvent = Buffer.from(`data: ${doneData}\n\n`)

const withoutMember = ({ usage: _usage, ...chunk }: JsonObject): JsonObject => chunk

const asEvent = (json: JsonObject): Uint8Array => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export class ChatRelay extends EventRelay {
  readonly #target: Target
  readonly #asked: UpstreamCallRequest
  readonly #wantsUsage: boolean
  readonly #delivered = new DeliveredText()
  #reportedUsage: Usage | null = null
  #serviceTier: unknown
  #withheld: Uint8Array[] = []
  /** False where the last event was dropped or rewritten: then a line feed cut off from it is dropped too. */
  #rawKept = true
  #identity: JsonObject = {}

  constructor(target: Target, asked: UpstreamCallRequest) {
    super()
    this.#target = target
    this.#asked = asked
    this.#wantsUsage = asObject(asked.body['stream_options'])['include_usage'] === true
  }

  override get isFinished(): boolean {
    return (this.state === 'done' || this.contentIsOver) && this.isUsageOfAll
  }

  override get contentIsOver(): boolean {
    const asked = this.#asked.body['n']
    return this.#delivered.finishedChoices >= (typeof asked === 'number' ? asked : 1)
  }

  override get reportedUsage(): Usage | null {
    return this.#reportedUsage
  }

  override get delivered(): Delivered {
    return this.#delivered
  }

  override closing(counted: Usage | null): Uint8Array {
    const own = counted !== null && this.#wantsUsage ? [this.#usageChunk(counted)] : []
    return joined([...own, ...(this.#withheld.length === 0 ? [doneEvent] : this.#withheld)]) ?? doneEvent
  }

  protected override take(event: SseEvent): void {
    if (this.state === 'broken') return
    if (this.state === 'done') this.#withheld.push(event.raw)
    else if (event.tail) this.#takeTail(event)
    else if (event.data === null) this.#keepRaw(event)
    else if (event.data === doneData) this.#end(event)
    else this.#takeChunk(event, parseJson(event.data))
  }

  #takeChunk(event: SseEvent, chunk: unknown): void {
    if (!isObject(chunk)) this.break('not_json')
    else if (chunk['error'] || event.name === 'error') this.break('error_in_stream')
    else if (!this.answering && !this.#startsWith(chunk)) this.break('not_a_chat_stream')
    else this.#relay(event, chunk)
  }

  #relay(event: SseEvent, chunk: JsonObject): void {
    const choices = asArray(chunk['choices'])
    const usage = chunk['usage']
    this.#serviceTier = chunk['service_tier'] ?? this.#serviceTier
    if (choices.length > 0) this.#delivered.add(choices, 'delta')
    if (isObject(usage)) this.#noteUsage(usage)
    if (usage === undefined || this.#wantsUsage) this.#keepRaw(event)
    else if (isObject(usage) && choices.length === 0) this.#rawKept = false
    else this.#keepWithoutUsage(event, chunk)
  }

  #takeTail(event: SseEvent): void {
    if (this.#rawKept) this.keep(event.raw)
  }

  #keepRaw(event: SseEvent): void {
    this.#rawKept = true
    this.keep(event.raw)
  }

  /** Clients that did not ask for usage expect no such member, not even null. */
  #keepWithoutUsage({ raw }: SseEvent, chunk: JsonObject): void {
    const rest = withoutUsage(raw)
    this.#rawKept = rest !== null
    for (const bytes of rest ?? [asEvent(withoutMember(chunk))]) this.keep(bytes)
  }

  #startsWith(chunk: JsonObject): boolean {
    if (!Array.isArray(chunk['choices'])) return false
    const { id, created, model } = chunk
    this.#identity = { id, created, model }
    this.answer()
    return true
  }

  #noteUsage(raw: JsonObject): void {
    const { profile } = this.#target.provider
    const toolCalls = countChatSearchCalls(this.#target, this.#asked)
    const reported = readChatUsage(raw, profile, { toolCalls, serviceTier: this.#serviceTier })
    if (reported === null) return
    this.#reportedUsage = reported
    this.noteUsageReported()
  }

  #end(event: SseEvent): void {
    if (this.answering) this.finish()
    else this.break('empty_answer')
    this.#withheld.push(event.raw)
  }

  protected override isWhole(event: SseEvent): boolean {
    return event.data === doneData || super.isWhole(event)
  }

  /** Some upstreams close without a closing event: every answer finished is an end all the same. */
  protected override conclude(): void {
    if (this.contentIsOver) this.finish()
    else this.breakEarly()
  }

  #usageChunk(usage: Usage): Uint8Array {
    return asEvent({
      ...this.#identity,
      object: 'chat.completion.chunk',
      choices: [],
      usage: chatUsageOnWire(usage),
    })
  }
}
