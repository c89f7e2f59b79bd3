import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { ReplyReader } from '../canonical/format.ts'
import type { Citation, ReplyEvent, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { GroundingNotes } from './grounding.ts'
import { readGenerateContentUsage } from './usage.ts'

const filteredReasons: readonly string[] = [
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]

const stopReasonOf = (finishReason: string, hasCalls: boolean): StopReason => {
  if (filteredReasons.includes(finishReason)) return 'filtered'
  if (finishReason === 'MAX_TOKENS') return 'length'
  return finishReason === 'STOP' && hasCalls ? 'tool_calls' : 'end'
}

const isNamelessCall = (part: unknown): boolean => {
  const { functionCall } = asObject(part)
  return isObject(functionCall) && asText(functionCall['name']) === ''
}

const isBlocked = (json: JsonObject): boolean => asText(asObject(json['promptFeedback'])['blockReason']) !== ''

const isAnswer = (json: JsonObject): boolean =>
  Array.isArray(json['candidates']) || isObject(json['promptFeedback']) || isObject(json['usageMetadata'])

/** Each event of a stream is an answer of `generateContent`, and a whole answer is a stream of one. */
export class GenerateContentReader implements ReplyReader {
  /** The dialect has no closing event, and charged usage may come after the last text. */
  readonly isDone = false
  readonly #target: Target
  readonly #grounding: GroundingNotes
  #rawUsage: unknown = null
  #id = ''
  #started = false
  #finished = false
  #calls = 0
  /** The answer's text, thinking left out, within bounds. */
  #text = ''
  /** Where in the text its last part began; null while the last part is of another kind. */
  #partStart: number | null = null

  constructor(target: Target) {
    this.#target = target
    this.#grounding = new GroundingNotes(target.upstreamModel)
  }

  get isFinished(): boolean {
    return this.#finished
  }

  get contentIsOver(): boolean {
    return this.#finished
  }

  get usage(): Usage | null {
    return readGenerateContentUsage(this.#rawUsage, this.#grounding)
  }

  get toolCalls(): Usage['toolCalls'] {
    return this.#grounding.toolCalls
  }

  read({ data }: SseEvent): readonly ReplyEvent[] | AnswerFault {
    if (data === null) return []
    const json = parseJson(data)
    if (!isObject(json)) return { fault: 'not_json' }
    return json['error'] ? { fault: 'error_in_stream' } : this.take(json)
  }

  take(json: JsonObject): readonly ReplyEvent[] | AnswerFault {
    if (!this.#started && !isAnswer(json)) return { fault: 'not_an_answer' }
    const candidate = asObject(asArray(json['candidates'])[0])
    const parts = asArray(asObject(candidate['content'])['parts'])
    if (parts.some(isNamelessCall)) return { fault: 'nameless_tool_call' }
    const isReported = this.#note(json, candidate)
    const start = this.#start(json)
    const content = parts.flatMap((part) => this.#part(asObject(part)))
    if (this.#finished && content.length > 0) return { fault: 'content_after_end' }
    const usage = isReported ? this.#usageEvents() : []
    return [...start, ...content, ...this.#end(json, asText(candidate['finishReason'])), ...usage]
  }

  /** Usage is repeated and cumulative: the last one counts. True where a charged figure was reported. */
  #note({ usageMetadata }: JsonObject, { groundingMetadata }: JsonObject): boolean {
    const isUsage = readGenerateContentUsage(usageMetadata, this.#grounding) !== null
    if (isUsage) this.#rawUsage = usageMetadata
    this.#grounding.note(groundingMetadata)
    return isUsage || isObject(groundingMetadata)
  }

  #usageEvents(): readonly ReplyEvent[] {
    const { usage, toolCalls } = this
    const searched: readonly ReplyEvent[] =
      Object.keys(toolCalls).length === 0 ? [] : [{ type: 'built_in_calls', toolCalls }]
    return usage === null ? searched : [...searched, { type: 'usage', usage }]
  }

  #start(json: JsonObject): readonly ReplyEvent[] {
    if (this.#started) return []
    this.#started = true
    this.#id = asText(json['responseId'])
    return [{ type: 'start', id: this.#id, usage: this.usage }]
  }

  #part(part: JsonObject): readonly ReplyEvent[] {
    if (isObject(part['functionCall'])) return this.#call(part['functionCall'], part['thoughtSignature'])
    const text = asText(part['text'])
    if (text === '') return []
    return part['thought'] === true ? this.#addThinking(text) : this.#addText(text)
  }

  #addText(text: string): readonly ReplyEvent[] {
    this.#partStart ??= this.#text.length
    this.#text += text.slice(0, providerLimits.deliveredCharactersMax - this.#text.length)
    return [{ type: 'text', text }]
  }

  #addThinking(text: string): readonly ReplyEvent[] {
    this.#partStart = null
    return [{ type: 'thinking', text }]
  }

  #call({ id, name, args }: JsonObject, signature: unknown): readonly ReplyEvent[] {
    this.#partStart = null
    const callId = asText(id) === '' ? this.#ownCallId() : asText(id)
    this.#calls += 1
    return [
      {
        type: 'tool_call',
        id: callId,
        name: asText(name),
        signature: asText(signature) === '' ? null : asText(signature),
      },
      { type: 'arguments', text: JSON.stringify(asObject(args)) },
    ]
  }

  /** The same whenever the answer is read again, and unique to the answer. */
  #ownCallId(): string {
    const answer = this.#id.replaceAll(/[^\w-]/g, '').slice(0, 40)
    return `call_${answer === '' ? this.#target.askedSeconds : answer}_${this.#calls}`
  }

  #end(json: JsonObject, finishReason: string): readonly ReplyEvent[] {
    const isEnd = finishReason !== '' && finishReason !== 'FINISH_REASON_UNSPECIFIED'
    if (this.#finished || !(isEnd || isBlocked(json))) return []
    this.#finished = true
    const reason = isEnd ? stopReasonOf(finishReason, this.#calls > 0) : 'filtered'
    return [...this.#citations(), { type: 'stop', reason, stopSequence: null }]
  }

  /** Only the last text part can still be cited. */
  #citations(): readonly ReplyEvent[] {
    const start = this.#partStart
    if (start === null) return []
    return this.#grounding
      .citations(this.#text)
      .map((citation) => ({ type: 'citation', citation: { ...citation, range: rangeWithin(citation.range, start) } }))
  }
}

const rangeWithin = (range: Citation['range'], partStart: number): Citation['range'] =>
  range === null || range.start < partStart ? null : { start: range.start - partStart, end: range.end - partStart }
