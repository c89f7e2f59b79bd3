import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { ReplyWriter, Served } from '../canonical/format.ts'
import { type Citation, openaiStop, type ReplyEvent, type StopReason } from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import { usesFunctions } from './read-conversation-tools.ts'
import { writeSignature } from './signature.ts'
import { chatUsageOnWire, wantsUsage } from './usage.ts'
import { annotationOf, answerId, chatFinishReason } from './write-reply.ts'

const doneEvent = 'data: [DONE]\n\n'

interface PlacedCitation {
  readonly citation: Citation
  readonly span: { start: number; end: number }
}

const callAt = (index: number, call: JsonObject): JsonObject => ({ tool_calls: [{ index, ...call }] })

export class ChatReplyWriter implements ReplyWriter {
  /** Of every chunk: its members up to `choices`, written once. */
  readonly #head: string
  readonly #usesFunctions: boolean
  readonly #wantsUsage: boolean
  #begun = false
  #hasRefused = false
  #calls = 0
  #span: PlacedCitation['span'] | null = null
  #textLength = 0
  #citations: PlacedCitation[] = []

  constructor(served: Served, body: JsonObject) {
    const { createdSeconds, model } = served
    const identity = { id: answerId(served), object: 'chat.completion.chunk', created: createdSeconds, model }
    this.#head = `data: ${JSON.stringify(identity).slice(0, -1)},`
    this.#usesFunctions = usesFunctions(body)
    this.#wantsUsage = wantsUsage(body)
  }

  write(event: ReplyEvent): string {
    if (this.#begun) return this.#writeDelta(event)
    this.#begun = true
    return this.#delta({ role: 'assistant', content: '' }) + this.#writeDelta(event)
  }

  close(usage: Usage): string {
    const usageEvent = this.#wantsUsage ? this.#chunk([], { usage: chatUsageOnWire(usage) }) : ''
    return usageEvent + doneEvent
  }

  #writeDelta(event: ReplyEvent): string {
    switch (event.type) {
      case 'text':
        if (event.refusal === undefined) return this.#addText(event.text)
        this.#span = null
        this.#hasRefused = true
        return this.#delta({ refusal: event.text })
      case 'citation':
        // Readers of chunks keep the last list of annotations: all of them are sent together, at the end.
        if (this.#citations.length < providerLimits.replyCitationsMax)
          this.#citations.push({ citation: event.citation, span: this.#openSpan() })
        return ''
      case 'thinking':
        this.#span = null
        return this.#delta({ reasoning_content: event.text })
      case 'tool_call':
        return this.#beginCall(event)
      case 'arguments':
        return this.#continueCall(event.text)
      case 'stop':
        return this.#finish(event.reason)
      case 'signature':
      case 'redacted_thinking':
        this.#span = null
        return ''
      case 'start':
      case 'usage':
      case 'media':
      case 'built_in_calls':
        return ''
    }
  }

  #openSpan(): PlacedCitation['span'] {
    this.#span ??= { start: this.#textLength, end: this.#textLength }
    return this.#span
  }

  #addText(text: string): string {
    const span = this.#openSpan()
    this.#textLength += text.length
    span.end = this.#textLength
    return this.#delta({ content: text })
  }

  #beginCall({ id, name, signature }: Extract<ReplyEvent, { type: 'tool_call' }>): string {
    this.#span = null
    this.#calls += 1
    if (!this.#usesFunctions)
      return this.#delta(
        callAt(this.#calls - 1, {
          id,
          type: 'function',
          function: { name, arguments: '' },
          ...writeSignature(signature),
        }),
      )
    return this.#calls === 1 ? this.#delta({ function_call: { name, arguments: '' } }) : ''
  }

  #continueCall(text: string): string {
    if (!this.#usesFunctions) return this.#delta(callAt(this.#calls - 1, { function: { arguments: text } }))
    return this.#calls === 1 ? this.#delta({ function_call: { arguments: text } }) : ''
  }

  #finish(reason: StopReason): string {
    const annotations = this.#citations.map(({ citation, span }) => annotationOf(citation, span))
    const cited = annotations.length === 0 ? '' : this.#delta({ annotations })
    return cited + this.#delta({}, chatFinishReason(openaiStop(reason, this.#hasRefused), this.#usesFunctions))
  }

  #delta(delta: JsonObject, finishReason: string | null = null): string {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason }
    return this.#chunk([choice], this.#wantsUsage ? { usage: null } : {})
  }

  #chunk(choices: readonly JsonObject[], more: JsonObject): string {
    return `${this.#head}${JSON.stringify({ choices, ...more }).slice(1)}\n\n`
  }
}
