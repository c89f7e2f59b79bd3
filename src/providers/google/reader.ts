import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject, parseExactJson, parseJson } from '../../encoding/json.ts'
import type { ReplyReader } from '../canonical/format.ts'
import type { ReplyEvent, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { mediaKindOf } from '../dialect/media.ts'
import type { SseEvent } from '../dialect/sse.ts'
import { GroundedText } from './grounding.ts'
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

/** The same whenever the answer is read again, and unique to the answer. */
const makeCallId = (answerId: string, { calledAtSeconds }: Target, place: number): string => {
  const answer = answerId.replaceAll(/[^\w-]/g, '').slice(0, 40)
  return `call_${answer === '' ? calledAtSeconds : answer}_${place}`
}

const readMedia = ({ mimeType, data }: JsonObject): readonly ReplyEvent[] => {
  const kind = mediaKindOf(asText(mimeType).toLowerCase())
  return kind === null ? [] : [{ type: 'media', kind, characters: asText(data).length }]
}

/** Each event of a stream is an answer of `generateContent`, and a whole answer is a stream of one. */
export class GenerateContentReader implements ReplyReader {
  /** The dialect has no closing event, and charged usage may come after the last text. */
  readonly isDone = false
  isFinished = false
  usage: Usage | null = null
  readonly #target: Target
  readonly #grounded: GroundedText
  #rawUsage: unknown = null
  #id = ''
  #started = false
  #calls = 0

  constructor(target: Target) {
    this.#target = target
    this.#grounded = new GroundedText(target.upstreamModel)
  }

  get contentIsOver(): boolean {
    return this.isFinished
  }

  get toolCalls(): Usage['toolCalls'] {
    return this.#grounded.toolCalls
  }

  read({ data }: SseEvent): readonly ReplyEvent[] | AnswerFault {
    if (data === null) return []
    const json = data.includes('"functionCall"') ? parseExactJson(data) : parseJson(data)
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
    if (this.isFinished && content.length > 0) return { fault: 'content_after_end' }
    const usage = isReported ? this.#usageEvents() : []
    return [...start, ...content, ...this.#end(json, asText(candidate['finishReason'])), ...usage]
  }

  /** Usage is repeated and cumulative: the last one counts. True where a charged figure was reported. */
  #note({ usageMetadata }: JsonObject, candidate: JsonObject): boolean {
    const { groundingMetadata } = candidate
    this.#grounded.note(candidate)
    const reported = readGenerateContentUsage(usageMetadata, this.#grounded)
    if (reported !== null) this.#rawUsage = usageMetadata
    if (reported !== null || isObject(groundingMetadata))
      this.usage = reported ?? readGenerateContentUsage(this.#rawUsage, this.#grounded)
    return reported !== null || isObject(groundingMetadata)
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
    if (isObject(part['inlineData'])) return readMedia(part['inlineData'])
    const text = asText(part['text'])
    if (text === '') return []
    const type = part['thought'] === true ? 'thinking' : 'text'
    if (type === 'text') this.#grounded.addText(text)
    else this.#grounded.endPart()
    return [{ type, text }]
  }

  #call({ id, name, args }: JsonObject, signature: unknown): readonly ReplyEvent[] {
    this.#grounded.endPart()
    const callId = asText(id) || makeCallId(this.#id, this.#target, this.#calls)
    this.#calls += 1
    return [
      { type: 'tool_call', id: callId, name: asText(name), signature: asText(signature) || null },
      { type: 'arguments', text: JSON.stringify(asObject(args)) },
    ]
  }

  #end(json: JsonObject, finishReason: string): readonly ReplyEvent[] {
    const isEnd = finishReason !== '' && finishReason !== 'FINISH_REASON_UNSPECIFIED'
    if (this.isFinished || !(isEnd || isBlocked(json))) return []
    this.isFinished = true
    const reason = isEnd ? stopReasonOf(finishReason, this.#calls > 0) : 'filtered'
    const citations = this.#grounded.citations().map((citation) => ({ type: 'citation', citation }) as const)
    return [...citations, { type: 'stop', reason, stopSequence: null }]
  }
}
