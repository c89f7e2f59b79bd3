import type { Usage } from '../../domain/usage/usage.ts'
import { CollectedText } from '../delivered.ts'
import type { Reply, ReplyEvent, ReplyPart } from './reply.ts'

/** Collects what a translated answer says, from a whole one or from the events of a stream. */
export class DeliveredReply extends CollectedText {
  #toolCalls: Usage['toolCalls'] = {}

  override get toolCalls(): Usage['toolCalls'] {
    return this.#toolCalls
  }

  addReply({ parts, toolCalls = {} }: Reply): void {
    for (const part of parts) this.#addPart(part)
    this.#toolCalls = toolCalls
  }

  addEvent(event: ReplyEvent): void {
    if (event.type === 'text' || event.type === 'arguments') this.say(event.text)
    else if (event.type === 'thinking') this.think(event.text)
    else if (event.type === 'tool_call') this.say(event.name)
    else if (event.type === 'built_in_calls') this.#toolCalls = event.toolCalls
  }

  #addPart(part: ReplyPart): void {
    if (part.type === 'text') this.say(part.text)
    else if (part.type === 'thinking') this.think(part.text)
    else if (part.type === 'tool_call') this.say(part.name + part.arguments)
  }
}
