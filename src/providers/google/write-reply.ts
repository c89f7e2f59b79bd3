import type { Usage } from '../../domain/usage/usage.ts'
import { asObject, type JsonObject } from '../../encoding/json.ts'
import { inputOf } from '../anthropic/read-blocks.ts'
import type { ReplyWriter, Served } from '../canonical/format.ts'
import { type Citation, eventsOfParts, type Reply, type ReplyEvent, type StopReason } from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { SealedReasoning } from '../openai-responses/sealed-reasoning.ts'
import { sealInSignature } from './signatures.ts'
import { usageMetadataOf } from './write-usage.ts'

type Parts = readonly JsonObject[]

const finishReasons: { readonly [S in StopReason]: string } = {
  end: 'STOP',
  stop_sequence: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  filtered: 'SAFETY',
}

interface OpenCall {
  readonly id: string
  readonly name: string
  arguments: string
}

/** Google counts in bytes of UTF-8. */
const bytesBefore = (text: string, at: number): number => Buffer.byteLength(text.slice(0, at))

const supportOf = ({ range }: Citation, index: number, text: string): Parts =>
  range === null
    ? []
    : [
        {
          segment: {
            startIndex: bytesBefore(text, range.start),
            endIndex: bytesBefore(text, range.end),
            text: text.slice(range.start, range.end),
          },
          groundingChunkIndices: [index],
        },
      ]

const groundingOf = (citations: readonly Citation[], text: string): JsonObject =>
  citations.length === 0
    ? {}
    : {
        groundingMetadata: {
          groundingChunks: citations.map(({ url, title }) => ({ web: { uri: url, title: title ?? url } })),
          groundingSupports: citations.flatMap((citation, index) => supportOf(citation, index, text)),
        },
      }

/**
 * Turns an answer into the parts of a content. A model's state for the next turn is in the signature of the part after
 * it, so that a client which drops thoughts sends it back all the same.
 */
class PartsWriter {
  readonly #served: Served
  readonly #showsThoughts: boolean
  readonly #citations: Citation[] = []
  #text = ''
  #openText: { readonly start: number; readonly refusal: true | undefined } | null = null
  #thought = ''
  #sealed: SealedReasoning[] = []
  #call: OpenCall | null = null
  stop: StopReason = 'end'

  constructor(served: Served, { generationConfig }: JsonObject) {
    this.#served = served
    this.#showsThoughts = asObject(asObject(generationConfig)['thinkingConfig'])['includeThoughts'] === true
  }

  get grounding(): JsonObject {
    return groundingOf(this.#citations, this.#text)
  }

  write(event: ReplyEvent): Parts {
    switch (event.type) {
      case 'text':
        return event.text === '' ? [] : [...this.#endCall(), this.#writeText(event)]
      case 'citation':
        this.#cite(event.citation)
        return []
      case 'thinking':
        return event.text === '' ? [] : [...this.#endCall(), ...this.#writeThought(event.text)]
      case 'signature':
        return this.#seal({ type: 'thinking', text: this.#thought, signature: event.signature })
      case 'redacted_thinking':
        return this.#seal({ type: 'redacted_thinking', data: event.data })
      case 'tool_call':
        return this.#beginCall(event)
      case 'arguments':
        if (this.#call !== null) this.#call.arguments += event.text
        return []
      case 'stop':
        this.stop = event.reason
        return this.end()
      case 'start':
      case 'usage':
      case 'media':
      case 'built_in_calls':
        return []
    }
  }

  /** State that no part followed is in one without a text, as Google's own models write it. */
  end(): Parts {
    const ended = this.#endCall()
    return this.#sealed.length === 0 ? ended : [...ended, { text: '', ...this.#signature() }]
  }

  #writeText({ text, refusal }: Extract<ReplyEvent, { type: 'text' }>): JsonObject {
    if (this.#openText === null || this.#openText.refusal !== refusal)
      this.#openText = { start: this.#text.length, refusal }
    this.#text += text
    return { text, ...this.#signature() }
  }

  #writeThought(text: string): Parts {
    this.#openText = null
    this.#thought += text
    return this.#showsThoughts ? [{ text, thought: true }] : []
  }

  #cite(citation: Citation): void {
    if (this.#citations.length >= providerLimits.replyCitationsMax) return
    const { range } = citation
    const start = this.#openText?.start ?? this.#text.length
    const whole = { start, end: this.#text.length }
    const within = range === null ? whole : { start: start + range.start, end: start + range.end }
    this.#citations.push({ ...citation, range: within.end > within.start ? within : null })
  }

  #seal(sealed: SealedReasoning): Parts {
    const ended = this.#endCall()
    this.#thought = ''
    this.#sealed.push(sealed)
    return ended
  }

  #signature(): JsonObject {
    if (this.#sealed.length === 0) return {}
    const thoughtSignature = sealInSignature(this.#served.provider, this.#sealed)
    this.#sealed = []
    return { thoughtSignature }
  }

  #beginCall({ id, name, signature }: Extract<ReplyEvent, { type: 'tool_call' }>): Parts {
    const ended = this.#endCall()
    this.#openText = null
    this.#call = { id, name, arguments: '' }
    if (signature !== null) this.#sealed.push({ type: 'call_signature', callId: id, signature })
    return ended
  }

  #endCall(): Parts {
    if (this.#call === null) return []
    const { id, name, arguments: given } = this.#call
    this.#call = null
    return [{ functionCall: { id, name, args: inputOf(given) }, ...this.#signature() }]
  }
}

const headOf = ({ model, requestId }: Served): JsonObject => ({
  modelVersion: model,
  responseId: requestId.replaceAll('-', ''),
})

const answerOf = (parts: Parts, ending: JsonObject, head: JsonObject, beside: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { ...(parts.length === 0 ? {} : { parts }), role: 'model' }, ...ending, index: 0 }],
  ...beside,
  ...head,
})

const mergeTexts = (parts: Parts): Parts => {
  const merged: JsonObject[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    const goesOn =
      typeof last?.['text'] === 'string' &&
      typeof part['text'] === 'string' &&
      last['thought'] === part['thought'] &&
      part['thoughtSignature'] === undefined
    if (goesOn) merged.splice(-1, 1, { ...last, text: `${last['text']}${part['text']}` })
    else merged.push(part)
  }
  return merged
}

export const writeGeminiReply = (
  { parts, stop, usage }: Reply & { readonly usage: Usage },
  served: Served,
  body: JsonObject,
): JsonObject => {
  const writer = new PartsWriter(served, body)
  const events: readonly ReplyEvent[] = [...eventsOfParts(parts), { type: 'stop', reason: stop, stopSequence: null }]
  const written = mergeTexts(events.flatMap((event) => writer.write(event)))
  const ending = { finishReason: finishReasons[stop], ...writer.grounding }
  return answerOf(written, ending, headOf(served), { usageMetadata: usageMetadataOf(usage) })
}

const eventOf = (json: JsonObject): string => `data: ${JSON.stringify(json)}\n\n`

/** Each event is an answer with what is new; the last one has the usage and why it ended. */
export class GeminiReplyWriter implements ReplyWriter {
  readonly #head: JsonObject
  readonly #parts: PartsWriter

  constructor(served: Served, body: JsonObject) {
    this.#head = headOf(served)
    this.#parts = new PartsWriter(served, body)
  }

  write(event: ReplyEvent): string {
    const parts = this.#parts.write(event)
    return parts.length === 0 ? '' : eventOf(answerOf(parts, {}, this.#head))
  }

  close(usage: Usage): string {
    const ending = { finishReason: finishReasons[this.#parts.stop], ...this.#parts.grounding }
    const rest = this.#parts.end()
    const parts = rest.length === 0 ? [{ text: '' }] : rest
    return eventOf(answerOf(parts, ending, this.#head, { usageMetadata: usageMetadataOf(usage) }))
  }
}
