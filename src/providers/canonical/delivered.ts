import { limits } from '../../limits.ts'
import type { Delivered } from '../dialect.ts'
import type { ReplyEvent, ReplyPart } from './reply.ts'

/** Collects what a translated answer says, from the parts of a whole one or from the events of a stream. Memory is bounded. */
export class DeliveredReply implements Delivered {
  #answer = ''
  #reasoning = ''
  #characters = 0
  charactersBeyond = 0

  get texts(): readonly string[] {
    return [this.#answer]
  }

  get reasoningTexts(): readonly string[] {
    return [this.#reasoning]
  }

  addPart(part: ReplyPart): void {
    if (part.type === 'text') this.#answer += this.#bounded(part.text)
    else if (part.type === 'thinking') this.#reasoning += this.#bounded(part.text)
    else if (part.type === 'tool_call') this.#answer += this.#bounded(part.name + part.arguments)
  }

  addEvent(event: ReplyEvent): void {
    if (event.type === 'text' || event.type === 'arguments') this.#answer += this.#bounded(event.text)
    else if (event.type === 'thinking') this.#reasoning += this.#bounded(event.text)
    else if (event.type === 'tool_call') this.#answer += this.#bounded(event.name)
  }

  #bounded(text: string): string {
    const kept = text.slice(0, limits.deliveredCharactersMax - this.#characters)
    this.#characters += kept.length
    this.charactersBeyond += text.length - kept.length
    return kept
  }
}
