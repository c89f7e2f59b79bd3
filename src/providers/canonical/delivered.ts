import type { Usage } from '../../domain/usage/usage.ts'
import { CollectedText } from '../delivered.ts'
import type { Reply, ReplyEvent, ReplyPart } from './reply.ts'

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
    if (event.type === 'text' || event.type === 'arguments') this.addAnswerText(event.text)
    else if (event.type === 'thinking') this.addReasoningText(event.text)
    else if (event.type === 'tool_call') this.addAnswerText(event.name)
    else if (event.type === 'built_in_calls') this.#toolCalls = event.toolCalls
  }

  #addPart(part: ReplyPart): void {
    if (part.type === 'text') this.addAnswerText(part.text)
    else if (part.type === 'thinking') this.addReasoningText(part.text)
    else if (part.type === 'tool_call') this.addAnswerText(part.name + part.arguments)
  }
}
