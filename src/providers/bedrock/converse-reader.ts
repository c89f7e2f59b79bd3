import { asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import { CallArguments } from '../canonical/call-arguments.ts'
import type { ReplyReader } from '../canonical/format.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import type { AnswerFault } from '../dialect/dialect.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { converseStopReason } from './read-reply.ts'
import { readConverseUsage } from './usage.ts'

type Events = readonly ReplyEvent[]

const reasoningEvents = ({ text, signature, redactedContent }: JsonObject): Events => {
  if (asText(text) !== '') return [{ type: 'thinking', text: asText(text) }]
  if (asText(signature) !== '') return [{ type: 'signature', signature: asText(signature) }]
  return asText(redactedContent) === '' ? [] : [{ type: 'redacted_thinking', data: asText(redactedContent) }]
}

export class ConverseReader implements ReplyReader {
  isDone = false
  isFinished = false
  readonly #arguments = new CallArguments()

  get contentIsOver(): boolean {
    return this.isFinished
  }

  read({ data, name }: SseEvent): Events | AnswerFault {
    if (data === null) return []
    const json = parseJson(data)
    if (!isObject(json)) return { fault: 'not_json' }
    switch (name) {
      case 'error':
        return { fault: 'error_in_stream' }
      case 'messageStart':
        return [{ type: 'start', id: '', usage: null }]
      case 'contentBlockStart':
        return this.#readStart(asObject(json['start']))
      case 'contentBlockDelta':
        return this.#readDelta(asObject(json['delta']))
      case 'contentBlockStop':
        return this.#arguments.end()
      case 'messageStop':
        return this.#readStop(json)
      case 'metadata':
        return this.#readMetadata(json)
      default:
        return []
    }
  }

  #readStart({ toolUse }: JsonObject): Events {
    if (!isObject(toolUse)) return []
    this.#arguments.begin()
    return [{ type: 'tool_call', id: asText(toolUse['toolUseId']), name: asText(toolUse['name']), signature: null }]
  }

  #readDelta({ text, toolUse, reasoningContent }: JsonObject): Events {
    if (isObject(reasoningContent)) return reasoningEvents(reasoningContent)
    if (isObject(toolUse)) return this.#arguments.add(toolUse['input'])
    return asText(text) === '' ? [] : [{ type: 'text', text: asText(text) }]
  }

  #readStop({ stopReason }: JsonObject): Events {
    if (this.isFinished) return []
    this.isFinished = true
    return [{ type: 'stop', reason: converseStopReason(stopReason), stopSequence: null }]
  }

  #readMetadata({ usage: reported, serviceTier }: JsonObject): Events {
    this.isDone = this.isFinished
    const usage = readConverseUsage(reported, serviceTier)
    return usage === null ? [] : [{ type: 'usage', usage }]
  }
}
