import { asObject, asText, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import { CallArguments } from '../canonical/call-arguments.ts'
import type { ReplyReader } from '../canonical/format.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import type { AnswerFault } from '../dialect/dialect.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { readCitation } from './citation.ts'
import { countSearchCalls, isSearchResult } from './delivered.ts'
import { bareId } from './read-reply.ts'
import { stopReason } from './stop-reason.ts'
import { StreamedBlocks } from './streamed-blocks.ts'
import { hasOutputTokens, mergeUsage, readMessagesUsage, readUsageSoFar } from './usage.ts'

type Events = readonly ReplyEvent[]

const textEvents = (type: 'text' | 'thinking', text: unknown): Events =>
  asText(text) === '' ? [] : [{ type, text: asText(text) }]

const signatureEvents = (signature: unknown): Events =>
  asText(signature) === '' ? [] : [{ type: 'signature', signature: asText(signature) }]

export class MessagesReader implements ReplyReader {
  isDone = false
  isFinished = false
  readonly #blocks = new StreamedBlocks()
  #usage: JsonObject = {}
  readonly #arguments = new CallArguments()
  #isSkipped = false
  #searches = 0

  get contentIsOver(): boolean {
    return this.isFinished || this.#blocks.areOver
  }

  read({ data, name }: SseEvent): Events | AnswerFault {
    if (data === null) return []
    const json = data.includes('"tool_use"') ? parseExactJson(data) : parseJson(data)
    if (!isObject(json)) return { fault: 'not_json' }
    if (json['type'] === 'error' || name === 'error' || json['error']) return { fault: 'error_in_stream' }
    return this.#readMessage(json)
  }

  #readMessage(json: JsonObject): Events {
    this.#blocks.note(json)
    switch (json['type']) {
      case 'message_start':
        return this.#readStart(asObject(json['message']))
      case 'content_block_start':
        return this.#readBlock(asObject(json['content_block']))
      case 'content_block_delta':
        return this.#isSkipped ? [] : this.#readDelta(asObject(json['delta']))
      case 'content_block_stop':
        return this.#arguments.end()
      case 'message_delta':
        return this.#readEnd(json)
      case 'message_stop':
        this.isDone = true
        return []
      default:
        return []
    }
  }

  #readStart({ id, usage }: JsonObject): Events {
    this.#usage = mergeUsage({}, usage)
    return [{ type: 'start', id: bareId(id), usage: readUsageSoFar(this.#usage) }]
  }

  #readBlock(block: JsonObject): Events {
    this.#isSkipped = false
    if (isSearchResult(block)) return this.#readSearch()
    switch (block['type']) {
      case 'text':
        return textEvents('text', block['text'])
      case 'thinking':
        return [...textEvents('thinking', block['thinking']), ...signatureEvents(block['signature'])]
      case 'redacted_thinking':
        return [{ type: 'redacted_thinking', data: asText(block['data']) }]
      case 'tool_use':
        return this.#readCall(block)
      default:
        this.#isSkipped = true
        return []
    }
  }

  #readSearch(): Events {
    this.#isSkipped = true
    this.#searches += 1
    return [{ type: 'built_in_calls', toolCalls: countSearchCalls(this.#searches) }]
  }

  #readCall({ id, name, input }: JsonObject): Events {
    const call: ReplyEvent = { type: 'tool_call', id: asText(id), name: asText(name), signature: null }
    this.#arguments.begin()
    return [call, ...this.#arguments.add(Object.keys(asObject(input)).length === 0 ? '' : JSON.stringify(input))]
  }

  #readDelta(delta: JsonObject): Events {
    switch (delta['type']) {
      case 'text_delta':
        return textEvents('text', delta['text'])
      case 'thinking_delta':
        return textEvents('thinking', delta['thinking'])
      case 'signature_delta':
        return signatureEvents(delta['signature'])
      case 'citations_delta': {
        const citation = readCitation(delta['citation'])
        return citation === null ? [] : [{ type: 'citation', citation }]
      }
      case 'input_json_delta':
        return this.#arguments.add(delta['partial_json'])
      default:
        return []
    }
  }

  /** An end without figures has no usage: that of the start is not final. */
  #readEnd(json: JsonObject): Events {
    const { delta, usage: reported } = json
    this.#usage = mergeUsage(this.#usage, reported)
    const usage = hasOutputTokens(json) ? readMessagesUsage(this.#usage) : null
    const { stop_reason: reportedReason, stop_sequence: stopSequence } = asObject(delta)
    const isEnd = typeof reportedReason === 'string' && !this.isFinished
    if (isEnd) this.isFinished = true
    const stop: Events = isEnd
      ? [{ type: 'stop', reason: stopReason(reportedReason), stopSequence: asText(stopSequence) || null }]
      : []
    return usage === null ? stop : [...stop, { type: 'usage', usage }]
  }
}
