import type { Usage } from '../../domain/usage/usage.ts'
import { CollectedText } from '../dialect/delivered.ts'
import { audioTokensOf, type MediaPart, outputImageTokens } from '../dialect/media.ts'
import type { Reply, ReplyEvent, ReplyPart } from './reply.ts'

export class DeliveredReply extends CollectedText {
  #toolCalls: Usage['toolCalls'] = {}
  #images = 0
  #audioCharacters = 0

  override get toolCalls(): Usage['toolCalls'] {
    return this.#toolCalls
  }

  get imageTokens(): number {
    return this.#images * outputImageTokens
  }

  get audioTokens(): number {
    return audioTokensOf(this.#audioCharacters)
  }

  addReply({ parts, media = [], toolCalls = {} }: Reply): void {
    for (const part of parts) this.#addPart(part)
    for (const each of media) this.#addMedia(each)
    this.#toolCalls = toolCalls
  }

  addEvent(event: ReplyEvent): void {
    if (event.type === 'text' || event.type === 'arguments') this.addAnswerText(event.text)
    else if (event.type === 'thinking') this.addReasoningText(event.text)
    else if (event.type === 'signature') this.addSignature(event.signature)
    else if (event.type === 'redacted_thinking') this.addUnseen(event.data)
    else if (event.type === 'tool_call') this.addAnswerText(event.name)
    else if (event.type === 'media') this.#addMedia(event)
    else if (event.type === 'built_in_calls') this.#toolCalls = event.toolCalls
  }

  #addMedia({ kind, characters }: MediaPart): void {
    if (kind === 'image') this.#images += 1
    else if (kind === 'audio') this.#audioCharacters += characters
  }

  #addThinking(text: string, signature: string | null): void {
    this.addReasoningText(text)
    this.addSignature(signature ?? '')
  }

  #addPart(part: ReplyPart): void {
    if (part.type === 'text') this.addAnswerText(part.text)
    else if (part.type === 'thinking') this.#addThinking(part.text, part.signature)
    else if (part.type === 'redacted_thinking') this.addUnseen(part.data)
    else this.addAnswerText(part.name + part.arguments)
  }
}
