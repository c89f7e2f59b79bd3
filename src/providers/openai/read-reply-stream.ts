import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { ReplyReader } from '../canonical/format.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import type { Profile } from '../dialect/provider.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { reasoningText } from './delivered.ts'
import { contentText, readCitations, replyId, stopReasonOf } from './read-reply.ts'
import { PartOrder, ReplyDisorder } from './read-reply-order.ts'
import { readChatUsage } from './usage.ts'

const doneData = '[DONE]'

const isFunctionCall = (call: JsonObject): boolean => isObject(call['function'])

export class ChatReplyReader implements ReplyReader {
  isDone = false
  isFinished = false
  readonly #profile: Profile
  #order: PartOrder | null = null
  #refused = false
  servedWith: ReplyReader['servedWith']

  constructor({ provider }: Target) {
    this.#profile = provider.profile
  }

  get contentIsOver(): boolean {
    return this.isFinished
  }

  read({ data, name }: SseEvent): readonly ReplyEvent[] | AnswerFault {
    if (data === null) return []
    try {
      return data === doneData ? this.#readDone() : this.#readChunk(parseJson(data), name)
    } catch (fault) {
      if (fault instanceof ReplyDisorder) return { fault: fault.fault }
      throw fault
    }
  }

  #readDone(): readonly ReplyEvent[] | AnswerFault {
    if (this.#order === null) return { fault: 'empty_answer' }
    this.isDone = true
    return this.#finish(this.#order, '')
  }

  #readChunk(chunk: unknown, name: string | null): readonly ReplyEvent[] | AnswerFault {
    if (!isObject(chunk)) return { fault: 'not_json' }
    if (chunk['error'] || name === 'error') return { fault: 'error_in_stream' }
    if (this.#order !== null) return this.#readPieces(this.#order, chunk)
    if (!Array.isArray(chunk['choices'])) return { fault: 'not_a_chat_stream' }
    const id = replyId(chunk)
    this.#order = new PartOrder(id)
    return [{ type: 'start', id, usage: null }, ...this.#readPieces(this.#order, chunk)]
  }

  #readPieces(order: PartOrder, chunk: JsonObject): readonly ReplyEvent[] {
    const choice = asArray(chunk['choices']).find((each) => (asObject(each)['index'] ?? 0) === 0)
    return [...this.#readChoice(order, asObject(choice)), ...this.#readUsage(chunk)]
  }

  #readChoice(order: PartOrder, choice: JsonObject): readonly ReplyEvent[] {
    if (this.isFinished) return []
    const finishReason = asText(choice['finish_reason'])
    const pieces = this.#readDelta(order, asObject(choice['delta']))
    return finishReason === '' ? pieces : [...pieces, ...this.#finish(order, finishReason)]
  }

  #readDelta(order: PartOrder, delta: JsonObject): readonly ReplyEvent[] {
    const refusal = asText(delta['refusal'])
    if (refusal !== '') this.#refused = true
    const thought = reasoningText(delta)
    const text = contentText(delta)
    return [
      ...(thought === '' ? [] : order.add({ type: 'thinking', text: thought }, thought.length)),
      ...(text === '' ? [] : order.add({ type: 'text', text }, text.length)),
      ...(refusal === '' ? [] : order.add({ type: 'text', text: refusal, refusal: true }, refusal.length)),
      ...readCitations(delta).flatMap((citation) => order.add({ type: 'citation', citation }, citation.url.length)),
      ...asArray(delta['tool_calls'])
        .map(asObject)
        .filter(isFunctionCall)
        .flatMap((call) => order.addCall(call)),
    ]
  }

  #finish(order: PartOrder, finishReason: string): readonly ReplyEvent[] {
    if (this.isFinished) return []
    this.isFinished = true
    const rest = order.end()
    const reason = stopReasonOf(finishReason, { calls: order.hasCalls, refusal: this.#refused })
    return [...rest, { type: 'stop', reason, stopSequence: null }]
  }

  #readUsage(chunk: JsonObject): readonly ReplyEvent[] {
    this.servedWith = readServedTier(chunk['service_tier']) ?? this.servedWith
    const usage = readChatUsage(chunk['usage'], this.#profile, { servedWith: this.servedWith })
    return usage === null ? [] : [{ type: 'usage', usage }]
  }
}
