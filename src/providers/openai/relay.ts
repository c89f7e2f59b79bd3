import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import type { StreamRelay, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { EventRelay, joined } from '../dialect/event-relay.ts'
import type { Profile } from '../dialect/provider.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { DeliveredText } from './delivered.ts'
import { chatUsageOnWire, countChatSearchCalls, readChatUsage, wantsUsage } from './usage.ts'
import { withoutUsage } from './without-usage.ts'

const doneData = '[DONE]'
const doneEvent = Buffer.from(`data: ${doneData}\n\n`)

const asEvent = (json: JsonObject): Uint8Array => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

const writeWithoutUsage = ({ data }: SseEvent): Uint8Array => {
  const { usage: _usage, ...chunk } = asObject(parseExactJson(data ?? ''))
  return asEvent(chunk)
}

const usageEvent = (identity: JsonObject, usage: Usage): Uint8Array =>
  asEvent({ ...identity, object: 'chat.completion.chunk', choices: [], usage: chatUsageOnWire(usage) })

interface Asked {
  readonly profile: Profile
  readonly choices: number
  readonly searchCalls: Usage['toolCalls']
}

export class ChatRelay extends EventRelay implements StreamRelay {
  readonly delivered = new DeliveredText()
  reportedUsage: Usage | null = null
  readonly #asked: Asked
  readonly #wantsUsage: boolean
  servedWith: StreamRelay['servedWith']
  #identity: JsonObject = {}
  #withheld: Uint8Array[] = []
  /** False where the last event was dropped or rewritten: then a line feed cut off from it is dropped too. */
  #rawKept = true

  constructor(target: Target, request: UpstreamCallRequest) {
    super()
    const { n } = request.body
    this.#asked = {
      profile: target.provider.profile,
      choices: typeof n === 'number' ? n : 1,
      searchCalls: countChatSearchCalls(target, request),
    }
    this.#wantsUsage = wantsUsage(request.body)
  }

  get isFinished(): boolean {
    return (this.state === 'done' || this.contentIsOver) && this.isUsageOfAll
  }

  get contentIsOver(): boolean {
    return this.delivered.finishedChoices >= this.#asked.choices
  }

  closing(counted: Usage | null): Uint8Array {
    const own = counted !== null && this.#wantsUsage ? [usageEvent(this.#identity, counted)] : []
    return joined([...own, ...(this.#withheld.length === 0 ? [doneEvent] : this.#withheld)]) ?? doneEvent
  }

  protected override take(event: SseEvent): void {
    if (this.state === 'broken') return
    if (this.state === 'done') this.#withheld.push(event.raw)
    else if (event.tail) {
      if (this.#rawKept) this.keep(event.raw)
    } else if (event.data === null) this.#keepRaw(event)
    else if (event.data !== doneData)
      this.#takeChunk(event, this.answering ? parseJson(event.data) : parseExactJson(event.data))
    else {
      if (this.answering) this.state = 'done'
      else this.break('empty_answer')
      this.#withheld.push(event.raw)
    }
  }

  #takeChunk(event: SseEvent, chunk: unknown): void {
    if (!isObject(chunk)) this.break('not_json')
    else if (chunk['error'] || event.name === 'error') this.break('error_in_stream')
    else if (!this.answering && !Array.isArray(chunk['choices'])) this.break('not_a_chat_stream')
    else this.#relay(event, chunk)
  }

  #relay(event: SseEvent, chunk: JsonObject): void {
    if (!this.answering) this.#identity = { id: chunk['id'], created: chunk['created'], model: chunk['model'] }
    this.answering = true
    const choices = asArray(chunk['choices'])
    const { usage } = chunk
    this.servedWith = readServedTier(chunk['service_tier']) ?? this.servedWith
    if (choices.length > 0) this.delivered.add(choices, 'delta')
    if (isObject(usage)) this.#noteUsage(usage)
    if (usage === undefined || this.#wantsUsage) this.#keepRaw(event)
    else {
      // Clients that did not ask for usage expect no such member, not even null.
      const rest = isObject(usage) && choices.length === 0 ? [] : withoutUsage(event.raw)
      this.#rawKept = rest !== null && rest.length > 0
      for (const bytes of rest ?? [writeWithoutUsage(event)]) this.keep(bytes)
    }
  }

  #keepRaw(event: SseEvent): void {
    this.#rawKept = true
    this.keep(event.raw)
  }

  #noteUsage(raw: JsonObject): void {
    const { profile, searchCalls: toolCalls } = this.#asked
    const reported = readChatUsage(raw, profile, { toolCalls, servedWith: this.servedWith })
    if (reported === null) return
    this.reportedUsage = reported
    this.noteUsageReported()
  }

  protected override isWhole(event: SseEvent): boolean {
    return event.data === doneData || super.isWhole(event)
  }

  /** Some upstreams close without a closing event: every answer finished is an end all the same. */
  protected override conclude(): void {
    if (this.contentIsOver) this.state = 'done'
    else this.breakEarly()
  }
}
