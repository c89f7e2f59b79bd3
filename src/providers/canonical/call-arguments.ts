import { asText } from '../../encoding/json.ts'
import type { ReplyEvent } from './reply.ts'

type Events = readonly ReplyEvent[]

/** Of the tool call that a stream is at. A call without arguments has no pieces; other formats need an empty object. */
export class CallArguments {
  #areMissing = false

  begin(): void {
    this.#areMissing = true
  }

  add(piece: unknown): Events {
    const text = asText(piece)
    if (text === '') return []
    this.#areMissing = false
    return [{ type: 'arguments', text }]
  }

  end(): Events {
    if (!this.#areMissing) return []
    this.#areMissing = false
    return [{ type: 'arguments', text: '{}' }]
  }
}
