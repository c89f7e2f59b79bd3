import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../src/providers/http.ts'
import type { AttemptMode } from './plan.ts'
import type { Ports } from './ports.ts'
import { currentProcess, noAnswer, type SimProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'
import { waitForAnswer } from './wait-for-answer.ts'

export interface SimService {
  readonly number: number
  readonly provider: string
  readonly process: SimProcess | undefined
  /** It was asked for fewer tokens than it serves. */
  readonly isOverAsked: boolean
  /** Its usage was sent, if not the right one. */
  isReported: boolean
  /** The whole answer with its right usage was sent. */
  isComplete: boolean
}

export interface UpstreamParts {
  readonly time: VirtualTime
  readonly random: () => number
  readonly ports: Ports
  readonly modesOf: (number: number) => readonly AttemptMode[]
  /** In the log by now. */
  readonly routedCount: () => number
  readonly violate: (text: string) => void
}

interface AskedBody {
  readonly model: string
  readonly stream?: boolean
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: readonly { readonly content: string }[]
}

export const inputTokens = 10
const chunks = 2
/** Of events that come with the one before, as a network joins them. */
const joinedShare = 0.5

const usageOf = (number: number, mode: AttemptMode): object | undefined => {
  if (mode === 'omits_usage') return undefined
  const total_tokens = inputTokens + number + (mode === 'contradicts_usage' ? 77 : 0)
  return { prompt_tokens: inputTokens, completion_tokens: number, total_tokens }
}

const wholeAnswer = (model: string, number: number, mode: AttemptMode): string =>
  JSON.stringify({
    id: `chatcmpl-${number}`,
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: `Answer ${number}` }, finish_reason: 'stop' }],
    usage: usageOf(number, mode),
  })

const streamedAnswer = ({ model, stream_options }: AskedBody, number: number, mode: AttemptMode): readonly string[] => {
  const base = { id: `chatcmpl-${number}`, object: 'chat.completion.chunk', created: 1, model }
  const deltas = Array.from({ length: chunks }, (_, index) => ({
    ...base,
    choices: [{ index: 0, delta: { role: 'assistant', content: `part ${index} ` }, finish_reason: null }],
  }))
  const last = { ...base, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  const usage = stream_options?.include_usage ? [{ ...base, choices: [], usage: usageOf(number, mode) }] : []
  return [...[...deltas, last, ...usage].map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n']
}

const joinSome = (events: readonly string[], random: () => number): readonly string[] => {
  const pieces: string[] = []
  for (const event of events)
    if (pieces.length > 0 && random() < joinedShare) pieces.push(`${pieces.pop()}${event}`)
    else pieces.push(event)
  return pieces
}

/** Providers that count what they have served. */
export class SimUpstream {
  readonly services: SimService[] = []
  readonly #parts: UpstreamParts
  readonly #tried = new Map<number, number>()

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  client(): HttpClient {
    return { request: (request) => this.#request(request) }
  }

  async #request(request: HttpRequest): Promise<HttpResponse> {
    const { ports, random } = this.#parts
    const process = currentProcess()
    if (!ports.reach(process, 'upstream.request', 'before')) return noAnswer()
    const asked = JSON.parse(String(request.body)) as AskedBody
    const number = Number(/#(\d+)/.exec(asked.messages.at(-1)?.content ?? '')?.[1])
    const tried = this.#tried.get(number) ?? 0
    this.#tried.set(number, tried + 1)
    const { routedCount, violate } = this.#parts
    if (this.#tried.size > routedCount()) violate(`request ${number} is sent to a provider before the log has it`)
    const mode = this.#parts.modesOf(number)[tried] ?? 'answers'
    const delayMs = mode === 'answers_late' ? 1_000 + random() * 5_000 : 5 + random() * 50
    const { max_tokens = number, max_completion_tokens = number } = asked
    const isOverAsked = Math.min(max_tokens, max_completion_tokens) < number
    const provider = new URL(request.url).hostname
    const service = { number, provider, process, isOverAsked, isReported: false, isComplete: false }
    this.services.push(service)
    await waitForAnswer(this.#parts.time, request, mode === 'is_silent' ? request.firstByteTimeoutMs : delayMs)
    if (mode === 'is_silent') throw new HttpFault('timeout')
    if (mode === 'breaks_network') throw new HttpFault('network')
    if (!ports.reach(process, 'upstream.request', 'after')) return noAnswer()
    if (mode === 'fails' || mode === 'is_busy')
      return this.#respond(mode === 'fails' ? 500 : 429, request, ['{}'], null)
    const pieces = asked.stream ? streamedAnswer(asked, number, mode) : [wholeAnswer(asked.model, number, mode)]
    return this.#respond(200, request, mode === 'breaks_off' ? pieces.slice(0, 2) : pieces, service, mode)
  }

  #respond(
    status: number,
    request: HttpRequest,
    pieces: readonly string[],
    service: SimService | null,
    mode: AttemptMode = 'answers',
  ): HttpResponse {
    const isStream = pieces.length > 1
    const type = isStream ? 'text/event-stream' : 'application/json'
    return {
      status,
      headers: { 'content-type': type },
      body: this.#body(request, pieces, service, mode),
      takeArrived: () => [],
      discard: () => undefined,
    }
  }

  async *#body(
    request: HttpRequest,
    pieces: readonly string[],
    service: SimService | null,
    mode: AttemptMode,
  ): AsyncGenerator<Uint8Array> {
    const { ports, random } = this.#parts
    const isWhole = mode === 'answers' || mode === 'answers_late'
    for (const piece of joinSome(pieces, random)) {
      if (!ports.reach(currentProcess(), 'upstream.body', 'before')) return noAnswer()
      await waitForAnswer(this.#parts.time, request, random() * 40)
      if (service !== null && piece.includes('"usage":{')) {
        service.isReported = true
        service.isComplete = isWhole
      }
      if (!ports.reach(currentProcess(), 'upstream.body', 'after')) return noAnswer()
      const bytes = Buffer.from(piece)
      if (mode === 'breaks_off' && pieces.length === 1) yield bytes.subarray(0, bytes.length / 2)
      else yield bytes
    }
    if (mode === 'breaks_off') throw new HttpFault('network')
  }
}
