import { noUsage, type Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { ReplyWriter, Served } from '../canonical/format.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import { sseEvent } from '../dialect/sse-event.ts'
import { citationOnWire } from './citation.ts'
import { markSignature } from './signatures.ts'
import { endingOnWire } from './stop-reason.ts'
import { finalUsageOnWire, messagesUsageOnWire } from './usage.ts'
import { emptyMessage, toolUseBlock } from './write-reply.ts'

type Stop = Extract<ReplyEvent, { type: 'stop' }>
type Block = 'text' | 'thinking' | 'tool_use'

const emptyBlocks: { readonly [B in Exclude<Block, 'tool_use'>]: JsonObject } = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
}

export class MessagesWriter implements ReplyWriter {
  readonly #served: Served
  #started = false
  #index = 0
  #open: Block | null = null
  #stop: Stop | null = null

  constructor(served: Served) {
    this.#served = served
  }

  write(event: ReplyEvent): string {
    return event.type === 'start' ? this.#start(event.usage) : this.#start(null) + this.#writePart(event)
  }

  close(usage: Usage): string {
    const { reason, stopSequence } = this.#stop ?? { reason: 'end', stopSequence: null }
    const end = {
      type: 'message_delta',
      delta: endingOnWire(reason, stopSequence),
      usage: finalUsageOnWire(usage),
    }
    return this.#start(null) + this.#closeBlock() + sseEvent(end) + sseEvent({ type: 'message_stop' })
  }

  #start(usage: Usage | null): string {
    if (this.#started) return ''
    this.#started = true
    return sseEvent({
      type: 'message_start',
      message: { ...emptyMessage(this.#served), usage: messagesUsageOnWire(usage ?? noUsage) },
    })
  }

  #writePart(event: Exclude<ReplyEvent, { type: 'start' }>): string {
    switch (event.type) {
      case 'text':
        return event.text === '' ? '' : this.#add('text', { type: 'text_delta', text: event.text })
      case 'citation':
        return this.#add('text', { type: 'citations_delta', citation: citationOnWire(event.citation) })
      case 'thinking':
        return event.text === '' ? '' : this.#add('thinking', { type: 'thinking_delta', thinking: event.text })
      case 'signature':
        return (
          this.#add('thinking', { type: 'signature_delta', signature: this.#mark(event.signature) }) +
          this.#closeBlock()
        )
      case 'redacted_thinking':
        return this.#openBlock('text', { type: 'redacted_thinking', data: this.#mark(event.data) }) + this.#closeBlock()
      case 'tool_call':
        return this.#openBlock('tool_use', toolUseBlock(this.#served.provider, event, {}))
      case 'arguments':
        return this.#open === 'tool_use' ? this.#delta({ type: 'input_json_delta', partial_json: event.text }) : ''
      case 'stop':
        this.#stop = event
        return this.#closeBlock()
      case 'usage':
      case 'media':
      case 'built_in_calls':
        return ''
    }
  }

  #mark(sealed: string): string {
    return markSignature(this.#served.provider, sealed)
  }

  #add(kind: Exclude<Block, 'tool_use'>, delta: JsonObject): string {
    const opening = this.#open === kind ? '' : this.#openBlock(kind, emptyBlocks[kind])
    return opening + this.#delta(delta)
  }

  #openBlock(kind: Block, block: JsonObject): string {
    const closing = this.#closeBlock()
    this.#open = kind
    return closing + sseEvent({ type: 'content_block_start', index: this.#index, content_block: block })
  }

  #delta(delta: JsonObject): string {
    return sseEvent({ type: 'content_block_delta', index: this.#index, delta })
  }

  #closeBlock(): string {
    if (this.#open === null) return ''
    this.#open = null
    const index = this.#index
    this.#index += 1
    return sseEvent({ type: 'content_block_stop', index })
  }
}
