import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { ReplyReader, UpstreamFormat } from '../canonical/format.ts'
import type { Citation, Reply, ReplyEvent, ReplyPart, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import type { Profile } from '../dialect/provider.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { argumentsOf } from '../openai/read-reply.ts'
import { readOpenAIError } from '../openai/refusal.ts'
import { reasoningTextOf } from './delivered.ts'
import { readResponsesUsage } from './usage.ts'
import { writeResponsesConversation } from './write-conversation.ts'

type Events = readonly ReplyEvent[]

const readCitation = ({ type, url, title, start_index, end_index }: JsonObject): readonly Citation[] => {
  if (type !== 'url_citation') return []
  const isPlaced = typeof start_index === 'number' && typeof end_index === 'number'
  const range = isPlaced ? { start: start_index, end: end_index } : null
  return [{ url: asText(url), title: typeof title === 'string' ? title : null, citedText: null, range }]
}

/** Without a summary there is nothing to show of it. */
const readReasoning = (item: JsonObject): readonly ReplyPart[] => {
  const [text, encrypted] = [reasoningTextOf(item), asText(item['encrypted_content'])]
  if (text !== '') return [{ type: 'thinking', text, signature: encrypted || null }]
  return encrypted === '' ? [] : [{ type: 'redacted_thinking', data: encrypted }]
}

const readContent = (part: JsonObject): ReplyPart =>
  part['type'] === 'refusal'
    ? { type: 'text', text: asText(part['refusal']), citations: [], refusal: true }
    : {
        type: 'text',
        text: asText(part['text']),
        citations: asArray(part['annotations']).map(asObject).flatMap(readCitation),
      }

const readMessage = ({ content }: JsonObject): readonly ReplyPart[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content, citations: [] }]
    : asArray(content).map(asObject).map(readContent)

const readItem = (item: JsonObject): readonly ReplyPart[] => {
  switch (item['type']) {
    case 'reasoning':
      return readReasoning(item)
    case 'message':
      return readMessage(item)
    case 'function_call': {
      const { call_id: id, name, arguments: given } = item
      return [
        {
          type: 'tool_call',
          id: asText(id),
          name: asText(name),
          arguments: argumentsOf(asText(given)),
          signature: null,
        },
      ]
    }
    default:
      return []
  }
}

const isRefusal = (item: JsonObject): boolean =>
  asArray(item['content']).some((part) => asObject(part)['type'] === 'refusal')

const stopOf = ({ status, incomplete_details: details }: JsonObject, items: readonly JsonObject[]): StopReason => {
  if (status === 'incomplete') return asObject(details)['reason'] === 'content_filter' ? 'filtered' : 'length'
  if (items.some(isRefusal)) return 'filtered'
  return items.some(({ type }) => type === 'function_call') ? 'tool_calls' : 'end'
}

const signatureOf = ({ type, encrypted_content: encrypted }: JsonObject): Events =>
  type === 'reasoning' && asText(encrypted) !== '' ? [{ type: 'signature', signature: asText(encrypted) }] : []

const idOf = ({ id }: JsonObject): string => asText(id).replace(/^resp_/, '')

const readReply = ({ provider }: Target, json: JsonObject): Reply | AnswerFault => {
  const { status, output } = json
  if (status === 'failed' || status === 'cancelled' || json['error']) return { fault: 'error_in_answer' }
  if (!Array.isArray(output)) return { fault: 'no_output' }
  const items = output.filter(isObject)
  return {
    id: idOf(json),
    parts: items.flatMap(readItem),
    stop: stopOf(json, items),
    stopSequence: null,
    usage: readResponsesUsage(json, provider.profile, {}),
  }
}

class ResponsesReader implements ReplyReader {
  isDone = false
  readonly #profile: Profile
  readonly #items: JsonObject[] = []
  /** Of the item that is being written, as far as it was passed on. */
  #written = false

  constructor({ provider }: Target) {
    this.#profile = provider.profile
  }

  get isFinished(): boolean {
    return this.isDone
  }

  get contentIsOver(): boolean {
    return this.isDone
  }

  read({ data }: SseEvent): Events | AnswerFault {
    if (data === null) return []
    const event = parseJson(data)
    if (!isObject(event)) return { fault: 'not_json' }
    switch (event['type']) {
      case 'error':
        return { fault: 'error_in_stream' }
      case 'response.failed':
        return { fault: 'response_failed' }
      case 'response.created':
        return [{ type: 'start', id: idOf(asObject(event['response'])), usage: null }]
      case 'response.completed':
      case 'response.incomplete':
        return this.#readEnd(asObject(event['response']))
      default:
        return this.#readContent(event)
    }
  }

  #readContent({ type, delta, item, annotation }: JsonObject): Events {
    switch (type) {
      case 'response.output_item.added':
        return this.#readStart(asObject(item))
      case 'response.output_text.delta':
        return this.#pass({ type: 'text', text: asText(delta) }, delta)
      case 'response.refusal.delta':
        return this.#pass({ type: 'text', text: asText(delta), refusal: true }, delta)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#pass({ type: 'thinking', text: asText(delta) }, delta)
      case 'response.output_text.annotation.added':
        return readCitation(asObject(annotation)).map((citation) => ({ type: 'citation', citation }))
      case 'response.function_call_arguments.delta':
        return this.#pass({ type: 'arguments', text: asText(delta) }, delta)
      case 'response.output_item.done':
        return this.#readItem(asObject(item))
      default:
        return []
    }
  }

  #readStart({ type, call_id: id, name }: JsonObject): Events {
    this.#written = false
    return type === 'function_call' ? [{ type: 'tool_call', id: asText(id), name: asText(name), signature: null }] : []
  }

  #pass(event: ReplyEvent, delta: unknown): Events {
    if (asText(delta) === '') return []
    this.#written = true
    return [event]
  }

  /** What of a whole item came in no piece: what is encrypted, and arguments that are none. */
  #readItem(item: JsonObject): Events {
    this.#items.push(item)
    if (this.#written) return signatureOf(item)
    return readItem(item).flatMap((part): Events => {
      if (part.type === 'tool_call') return [{ type: 'arguments', text: part.arguments }]
      if (part.type === 'thinking') return [{ type: 'thinking', text: part.text }, ...signatureOf(item)]
      return part.type === 'text' && part.text === '' ? [] : [part]
    })
  }

  #readEnd(response: JsonObject): Events {
    this.isDone = true
    const usage = readResponsesUsage(response, this.#profile, {})
    return [
      { type: 'stop', reason: stopOf(response, this.#items), stopSequence: null },
      ...(usage === null ? [] : [{ type: 'usage', usage } as const]),
    ]
  }
}

/** OpenAI's models on the surfaces whose requests its chat endpoint does not take: see `needsResponses`. */
export const responsesUpstream: UpstreamFormat = {
  writeRequest: writeResponsesConversation,
  readReply,
  openReader: (target) => new ResponsesReader(target),
  offersSearch: () => false,
  readRefusal: readOpenAIError,
}
