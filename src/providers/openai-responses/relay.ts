import type { Usage } from '../../domain/usage/usage.ts'
import { asObject, asText, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import type { StreamRelay, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { EventRelay } from '../dialect/event-relay.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { Provider } from '../dialect/provider.ts'
import { errorWord, refusalText } from '../dialect/refusal-text.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { sseEvent } from '../dialect/sse-event.ts'
import { DeliveredOutput } from './delivered.ts'
import { withMarks } from './sealed-reasoning.ts'
import { storedIdOf } from './stored.ts'
import { StreamedItems } from './streamed-items.ts'
import { StreamedTools } from './streamed-tools.ts'
import { readResponsesUsage, withUsage } from './usage.ts'

/** Members that are of the failure; the client got the others at the start of the stream. */
const essentials = ['id', 'error', 'incomplete_details', 'usage'] as const

const scrubError = ({ code, message }: JsonObject, provider: Provider): JsonObject => ({
  code: errorWord(code, provider) ?? 'server_error',
  message: refusalText(asText(message), provider),
})

/** The failed response as far as an `error` event has it, in either spelling. */
const readErrorEvent = (event: JsonObject, provider: Provider): JsonObject => ({
  error: scrubError(isObject(event['error']) ? event['error'] : event, provider),
})

/** A failed response, scrubbed; only its essentials where it is too large to be sent to an edge. */
const readFailedResponse = (response: JsonObject, provider: Provider): JsonObject => {
  const { error, ...rest } = response
  const failed: JsonObject = isObject(error) ? { ...rest, error: scrubError(error, provider) } : rest
  if (JSON.stringify(failed).length <= providerLimits.failedResponseCharactersMax) return failed
  return Object.fromEntries(essentials.filter((name) => name in failed).map((name) => [name, failed[name]]))
}

const doneData = '[DONE]'
const lineFeed = Buffer.from('\n')
const carriageReturn = 13

const promises = ['response.created', 'response.queued', 'response.in_progress', 'keepalive']
const ends = ['response.completed', 'response.incomplete']

const isStart = (type: string): boolean => promises.includes(type) || type.startsWith('response.')

/** The line feed of a CRLF may have been cut off the last event. */
const withLineEnd = (raw: Uint8Array): Uint8Array =>
  raw.at(-1) === carriageReturn && raw.includes(lineFeed[0] ?? 0) ? Buffer.concat([raw, lineFeed]) : raw

export class ResponsesRelay extends EventRelay implements StreamRelay {
  readonly delivered: DeliveredOutput
  reportedUsage: Usage | null = null
  servedWith: StreamRelay['servedWith']
  storedId: string | null = null
  failedResponse: JsonObject | null = null
  readonly #called: { readonly target: Target; readonly storing: JsonObject }
  readonly #tools: StreamedTools
  readonly #items = new StreamedItems()
  #terminal: SseEvent | null = null

  constructor(target: Target, request: UpstreamCallRequest) {
    super()
    this.#called = { target, storing: { store: request.body['store'] } }
    this.#tools = new StreamedTools(request.body)
    this.delivered = new DeliveredOutput(() => this.#tools.calls)
  }

  /** A failed response is at its end too, and may report its usage. */
  get isFinished(): boolean {
    return this.state === 'done' || this.reportedUsage !== null
  }

  get contentIsOver(): boolean {
    return this.#items.areOver
  }

  get isFailing(): boolean {
    return this.state === 'open' && this.failedResponse !== null
  }

  closing(counted: Usage | null): Uint8Array {
    if (this.#terminal === null) throw new Error('a stream is closed after its last event has come')
    const { raw, data } = this.#terminal
    if (counted === null) return withLineEnd(raw)
    const event = asObject(parseExactJson(data ?? ''))
    const closing = sseEvent({ ...event, response: withUsage(asObject(event['response']), counted) })
    return withMarks(this.#called.target, Buffer.from(closing))
  }

  /** Events after the end, such as a `[DONE]`, are not forwarded. Comments do not delay the end of a failing stream. */
  protected override take(event: SseEvent): void {
    const { data, raw, tail } = event
    if (this.state !== 'open') return
    if (data !== null && data !== doneData) this.#takeEvent(event, parseJson(data))
    else if (data === doneData || (this.isFailing && !tail)) this.breakEarly()
    else this.keep(raw)
  }

  #takeEvent(event: SseEvent, json: unknown): void {
    if (!isObject(json)) this.break('not_json')
    else if (json['type'] === 'response.failed') this.#fail(event)
    else if (this.isFailing) this.breakEarly()
    else if (json['type'] === 'error' || json['error'] || event.name === 'error') {
      if (this.answering) this.failedResponse = readErrorEvent(json, this.#called.target.provider)
      else this.break('error_in_stream')
    } else if (!this.answering && !isStart(asText(json['type']))) this.break('not_a_responses_stream')
    else this.#relay(event, json, asText(json['type']))
  }

  #relay(event: SseEvent, json: JsonObject, type: string): void {
    this.answering ||= !promises.includes(type)
    const response = asObject(json['response'])
    this.storedId ??= storedIdOf(this.#called.storing, response)
    this.servedWith = readServedTier(response['service_tier']) ?? this.servedWith
    if (ends.includes(type)) {
      this.#noteUsage(response)
      this.#terminal = { ...event, raw: withMarks(this.#called.target, event.raw) }
      this.state = 'done'
    } else {
      this.delivered.note(json)
      this.#tools.note(json)
      this.#items.note(json)
      this.keep(withMarks(this.#called.target, event.raw))
    }
  }

  /** A failure before the start costs nothing; a later one may report its usage. */
  #fail({ data }: SseEvent): void {
    const response = asObject(asObject(parseExactJson(data ?? ''))['response'])
    if (this.answering) {
      this.#noteUsage(response)
      this.failedResponse = { ...this.failedResponse, ...readFailedResponse(response, this.#called.target.provider) }
    }
    this.break('response_failed')
  }

  protected override breakEarly(): void {
    if (this.isFailing) this.break('error_in_stream')
    else super.breakEarly()
  }

  #noteUsage(response: JsonObject): void {
    this.#tools.conclude(response)
    this.reportedUsage = readResponsesUsage(response, this.#called.target.provider.profile, this.#tools.calls)
    // The last event may be the only one that has the output.
    if ((this.reportedUsage?.outputTotal ?? 0) === 0) this.delivered.setItems(response['output'])
  }
}
